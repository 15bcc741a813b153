"""`account/login/*` as a client sees them, with an issuer on loopback."""

import json
import uuid
from functools import partial
from typing import Any

import pytest
import trio

from pycodex.supervisor.model.scripted import Reply, Request, refuse, say
from support.app_server import Client, Refused, Scratch, exactly
from support.app_server_runs import running_app_server
from support.engine import Place
from support.issuer import CODE, EMAIL, Issuer, asked_of, callback, jwt, sign_in, visit

FAILED = "Login server error: "
REFRESH = "account/chatgptAuthTokens/refresh"


def configured(place: Place, line: str) -> None:
    path = place.home / "config.toml"
    path.write_text(f"{line}\n{path.read_text()}")


async def is_free(port: int) -> bool:
    try:
        stream = await trio.open_tcp_stream("127.0.0.1", port)
    except OSError:
        return True
    await stream.aclose()
    return False


# By key


async def test_logging_in_by_key_and_out_again(client: Client, scratch: Scratch, place: Place) -> None:
    other = await scratch.connect().hello()
    assert await client.call("account/read") == {"account": None, "requiresOpenaiAuth": True}
    assert await client.call("account/login/start", type="apiKey", apiKey="sk-1") == {"type": "apiKey"}
    assert await client.until("account/login/completed") == {"loginId": None, "success": True, "error": None}
    assert await client.until("account/updated") == {"authMode": "apikey", "planType": None}
    assert await other.until("account/updated") == {"authMode": "apikey", "planType": None}
    assert json.loads((place.home / "auth.json").read_text())["OPENAI_API_KEY"] == "sk-1"
    assert await client.call("account/read") == {"account": {"type": "apiKey"}, "requiresOpenaiAuth": True}
    status = {"authMethod": "apikey", "authToken": "sk-1", "requiresOpenaiAuth": True}
    assert await client.call("getAuthStatus", includeToken=True) == status
    assert await client.call("getAuthStatus") == {**status, "authToken": None}
    assert await client.call("account/logout") == {}
    assert await client.until("account/updated") == {"authMode": None, "planType": None}
    assert not (place.home / "auth.json").exists()


@pytest.mark.parametrize(
    ("method", "params", "message"),
    [
        ("account/login/start", {"type": "apiKey", "apiKey": " "}, "failed to save api key: the key is empty"),
        ("account/login/cancel", {"loginId": "x"}, "invalid login id: x"),
        (
            "account/login/start",
            {"type": "chatgptAuthTokens", "accessToken": "a-secret", "chatgptAccountId": "b"},
            "failed to set external auth: invalid ID token format",
        ),
        (
            "account/login/start",
            {"type": "magic"},
            "Invalid request: unknown variant `magic`, expected one of `apiKey`, `chatgpt`, `chatgptAuthTokens`",
        ),
    ],
)
async def test_what_cannot_be_done_is_said(client: Client, method: str, params: dict[str, str], message: str) -> None:
    with pytest.raises(Refused) as raised:
        await client.call(method, **params)
    assert raised.value.message.startswith(message)
    assert "secret" not in raised.value.message


@pytest.mark.parametrize(
    ("forced", "params", "message"),
    [
        ("chatgpt", {"type": "apiKey", "apiKey": "sk"}, "API key login is disabled. Use ChatGPT login instead."),
        ("api", {"type": "chatgpt"}, "ChatGPT login is disabled. Use API key login instead."),
        ("api", {"type": "chatgptDeviceCode"}, "ChatGPT login is disabled. Use API key login instead."),
        (
            "api",
            {"type": "chatgptAuthTokens", "accessToken": "a", "chatgptAccountId": "b"},
            "External ChatGPT auth is disabled. Use API key login instead.",
        ),
    ],
)
async def test_a_forced_method_is_kept(
    client: Client, place: Place, forced: str, params: dict[str, str], message: str
) -> None:
    configured(place, f'forced_login_method = "{forced}"')
    with pytest.raises(Refused, match=exactly(message)):
        await client.call("account/login/start", **params)


# With a browser


async def test_a_browser_login_is_answered_first_and_told_to_everybody(
    issued: Scratch, issuer: Issuer, place: Place, login_port: int
) -> None:
    client, other = await issued.connect().hello(), await issued.connect().hello()
    answer = await client.call("account/login/start", type="chatgpt")
    login_id, url = answer["loginId"], answer["authUrl"]
    assert answer == {"type": "chatgpt", "loginId": str(uuid.UUID(login_id)), "authUrl": url}
    assert asked_of(url)["redirect_uri"] == f"http://localhost:{login_port}/auth/callback"
    assert asked_of(url)["originator"] == "tester"
    assert (await sign_in(issuer, url)).status == 200
    for each in (client, other):
        assert await each.until("account/login/completed") == {"loginId": login_id, "success": True, "error": None}
        assert await each.until("account/updated") == {"authMode": "chatgpt", "planType": "plus"}
    assert json.loads((place.home / "auth.json").read_text())["tokens"]["access_token"] == "at-0-secret"
    assert await client.call("account/login/cancel", loginId=login_id) == {"status": "notFound"}
    assert (await client.call("account/read"))["account"]["email"] == EMAIL


async def test_a_login_that_is_refused_is_told(issued: Scratch, place: Place, login_port: int) -> None:
    del login_port
    client = await issued.connect().hello()
    answer = await client.call("account/login/start", type="chatgpt")
    assert (await visit(callback(answer["authUrl"], code=CODE, state="wrong"))).text == "State mismatch"
    await visit(callback(answer["authUrl"], error="access_denied"))
    error = f"{FAILED}Sign-in failed: access_denied"
    completed = {"loginId": answer["loginId"], "success": False, "error": error}
    assert await client.until("account/login/completed") == completed
    assert not (place.home / "auth.json").exists()


async def test_a_login_that_is_cancelled_leaves_nobody_behind(issued: Scratch, login_port: int) -> None:
    client = await issued.connect().hello()
    answer = await client.call("account/login/start", type="chatgpt")
    assert await client.call("account/login/cancel", loginId=str(uuid.uuid4())) == {"status": "notFound"}
    assert await client.call("account/login/cancel", loginId=answer["loginId"]) == {"status": "canceled"}
    completed = {"loginId": answer["loginId"], "success": False, "error": f"{FAILED}Login was not completed"}
    assert await client.until("account/login/completed") == completed
    assert await is_free(login_port)
    assert await client.call("account/login/cancel", loginId=answer["loginId"]) == {"status": "notFound"}


async def test_a_second_login_ends_the_first(issued: Scratch, issuer: Issuer, login_port: int) -> None:
    del login_port
    client, other = await issued.connect().hello(), await issued.connect().hello()
    first = await client.call("account/login/start", type="chatgpt")
    second = await other.call("account/login/start", type="chatgpt")
    completed = {"loginId": first["loginId"], "success": False, "error": f"{FAILED}Login cancelled"}
    assert await client.until("account/login/completed") == completed
    await sign_in(issuer, second["authUrl"])
    assert (await client.until("account/login/completed"))["loginId"] == second["loginId"]


async def test_a_login_ends_after_ten_minutes(issued: Scratch, login_port: int, mock_clock: Any) -> None:
    client = await issued.connect().hello()
    answer = await client.call("account/login/start", type="chatgpt")
    mock_clock.jump(10 * 60 + 1)
    completed = {"loginId": answer["loginId"], "success": False, "error": "Login timed out"}
    assert await client.until("account/login/completed") == completed
    assert await is_free(login_port)


@pytest.mark.parametrize("ending", ["key", "logout", "connection"])
async def test_a_login_ends_with_what_it_was_for(issued: Scratch, login_port: int, ending: str) -> None:
    client, other = await issued.connect().hello(), await issued.connect().hello()
    answer = await client.call("account/login/start", type="chatgpt")
    match ending:
        case "key":
            await other.call("account/login/start", type="apiKey", apiKey="sk-1")
        case "logout":
            await other.call("account/logout")
        case _:
            await client.stream.aclose()
    completed = {"loginId": answer["loginId"], "success": False, "error": f"{FAILED}Login was not completed"}
    assert await other.until("account/login/completed", loginId=answer["loginId"]) == completed
    assert await is_free(login_port)


async def test_a_port_that_nobody_gives_up_is_named(issued: Scratch, login_port: int) -> None:
    client = await issued.connect().hello()

    async def ignore(stream: trio.SocketStream) -> None:
        await stream.receive_some()

    async with trio.open_nursery() as nursery:
        await nursery.start(partial(trio.serve_tcp, ignore, login_port, host="127.0.0.1"))
        message = f"failed to start login server: Port 127.0.0.1:{login_port} is already in use"
        with pytest.raises(Refused, match=exactly(message)):
            await client.call("account/login/start", type="chatgpt")
        nursery.cancel_scope.cancel()


async def test_a_whole_login_with_a_real_process(place: Place, issuer: Issuer, login_port: int) -> None:
    place.point_at(issuer.model_url, requires_openai_auth=True)
    async with running_app_server(place, env=issuer.env) as server:
        client = await server.client.hello()
        answer = await client.call("account/login/start", type="chatgpt")
        await sign_in(issuer, answer["authUrl"])
        assert (await client.until("account/login/completed"))["success"]
        thread_id = await client.start()
        told = await client.turn(thread_id, "go")
        assert told[-1]["params"]["turn"]["status"] == "completed"
        # The next login is still under way when the client leaves.
        await client.call("account/login/start", type="chatgpt")
    assert await is_free(login_port)
    written = [*place.sessions(), *(place.home / "log").glob("*")]
    assert "secret" not in "".join(path.read_text() for path in written)


# On another device


async def test_a_device_login(issued: Scratch, issuer: Issuer, place: Place) -> None:
    client = await issued.connect().hello(experimental=False)
    answer = await client.call("account/login/start", type="chatgptDeviceCode")
    assert answer == {
        "type": "chatgptDeviceCode",
        "loginId": answer["loginId"],
        "verificationUrl": f"{issuer.url}/codex/device",
        "userCode": "ABCD-1234",
    }
    completed = {"loginId": answer["loginId"], "success": True, "error": None}
    assert await client.until("account/login/completed") == completed
    assert await client.until("account/updated") == {"authMode": "chatgpt", "planType": "plus"}
    assert (place.home / "auth.json").exists()


async def test_a_device_login_may_be_cancelled_or_not_be_there(issued: Scratch, issuer: Issuer) -> None:
    client = await issued.connect().hello()
    issuer.polls_before_grant = 1000
    answer = await client.call("account/login/start", type="chatgptDeviceCode")
    assert await client.call("account/login/cancel", loginId=answer["loginId"]) == {"status": "canceled"}
    completed = {"loginId": answer["loginId"], "success": False, "error": "Login was not completed"}
    assert await client.until("account/login/completed") == completed
    usercode = "/api/accounts/deviceauth/usercode"
    issuer.instead[usercode] = lambda _: refuse(404, "no")
    with pytest.raises(Refused, match=r"^device code login is not enabled") as raised:
        await client.call("account/login/start", type="chatgptDeviceCode")
    assert raised.value.code == -32600
    issuer.instead[usercode] = lambda _: refuse(500, "no")
    with pytest.raises(Refused, match=r"^failed to request device code: ") as raised:
        await client.call("account/login/start", type="chatgptDeviceCode")
    assert raised.value.code == -32603


# Tokens that the client keeps

LENT = {"type": "chatgptAuthTokens", "accessToken": jwt("ws-1"), "chatgptAccountId": "ws-1"}


async def test_tokens_of_a_client_stay_in_memory(issued: Scratch, place: Place) -> None:
    client = await issued.connect().hello()
    assert await client.call("account/login/start", **LENT) == {"type": "chatgptAuthTokens"}
    assert await client.until("account/login/completed") == {"loginId": None, "success": True, "error": None}
    assert await client.until("account/updated") == {"authMode": "chatgptAuthTokens", "planType": "plus"}
    status = {"authMethod": "chatgptAuthTokens", "authToken": LENT["accessToken"], "requiresOpenaiAuth": True}
    assert await client.call("getAuthStatus", includeToken=True, refreshToken=True) == status
    await client.call("account/login/start", **LENT, chatgptPlanType="pro")
    assert await client.until("account/updated") == {"authMode": "chatgptAuthTokens", "planType": "pro"}
    for wish in ({"type": "chatgpt"}, {"type": "apiKey", "apiKey": "sk"}):
        with pytest.raises(Refused, match=r"^External auth is active"):
            await client.call("account/login/start", **wish)
    assert not (place.home / "auth.json").exists()
    assert await client.call("account/logout") == {}
    assert await client.until("account/updated") == {"authMode": None, "planType": None}
    assert await client.call("account/read") == {"account": None, "requiresOpenaiAuth": True}


async def test_tokens_of_a_client_are_for_those_who_asked_for_the_experimental_part(issued: Scratch) -> None:
    client = await issued.connect().hello(experimental=False)
    with pytest.raises(Refused, match=r"account/login/start\.chatgptAuthTokens requires experimentalApi capability"):
        await client.call("account/login/start", **LENT)


async def test_tokens_of_another_workspace_are_not_taken(issued: Scratch, place: Place) -> None:
    client = await issued.connect().hello()
    configured(place, 'forced_chatgpt_workspace_id = "ws-2"')
    message = 'External auth must use workspace ws-2, but received "ws-1".'
    with pytest.raises(Refused, match=exactly(message)):
        await client.call("account/login/start", **LENT)


def only_for(token: str) -> Any:
    def reply(request: Request) -> Reply:
        is_good = request.headers["authorization"] == f"Bearer {token}"
        return Reply(parts=say("done")) if is_good else refuse(401, "expired")

    return reply


async def test_who_lent_the_tokens_is_asked_for_newer_ones(issued: Scratch, issuer: Issuer, place: Place) -> None:
    client, other = await issued.connect().hello(), await issued.connect().hello()
    await client.call("account/login/start", **LENT)
    newer = jwt("ws-1", mark="newer-secret")
    issuer.instead["/v1/responses"] = only_for(newer)
    client.answers[REFRESH] = lambda _: {"result": {"accessToken": newer, "chatgptAccountId": "ws-1"}}
    thread_id = await client.start()
    told = await client.turn(thread_id, "go")
    assert told[-1]["params"]["turn"]["status"] == "completed"
    (asked,) = [message for message in client.heard if message.get("method") == REFRESH]
    assert asked["params"] == {"reason": "unauthorized", "previousAccountId": "ws-1"}
    assert (await client.call("getAuthStatus", includeToken=True))["authToken"] == newer
    await other.call("account/read")
    assert REFRESH not in [message.get("method") for message in other.heard]
    assert not (place.home / "auth.json").exists()
    assert "secret" not in "".join(path.read_text() for path in place.sessions())


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({"error": {"code": 5, "message": "signed out"}}, "auth refresh request failed: code=5 message=signed out"),
        ({"result": {}}, "auth refresh request failed: the answer holds no accessToken and chatgptAccountId"),
        (
            {"result": {"accessToken": "x-secret", "chatgptAccountId": "ws-1"}},
            "auth refresh request failed: invalid ID token format",
        ),
    ],
)
async def test_a_client_that_has_no_newer_ones(issued: Scratch, issuer: Issuer, answer: Any, error: str) -> None:
    client = await issued.connect().hello()
    await client.call("account/login/start", **LENT)
    issuer.instead["/v1/responses"] = only_for("another")
    client.answers[REFRESH] = lambda _: answer
    told = await client.turn(await client.start(), "go")
    turn = told[-1]["params"]["turn"]
    assert (turn["status"], turn["error"]["message"]) == ("failed", error)


async def test_a_client_that_does_not_answer_is_waited_for_ten_seconds(
    issued: Scratch, issuer: Issuer, mock_clock: Any
) -> None:
    client = await issued.connect().hello()
    await client.call("account/login/start", **LENT)
    issuer.instead["/v1/responses"] = only_for("another")
    thread_id = await client.start()
    await client.call("turn/start", threadId=thread_id, input=[{"type": "text", "text": "go", "text_elements": []}])
    await client.until(REFRESH)
    mock_clock.jump(10.5)
    turn = (await client.until("turn/completed"))["turn"]
    assert turn["error"]["message"] == "auth refresh request timed out after 10s"
