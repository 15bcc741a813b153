"""`account/*` as a client sees them."""

import json

import pytest

from support.app_server import Client, Refused, Scratch, open_app_server
from support.engine import Place


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


async def test_a_provider_of_its_own_needs_no_account(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        await client.call("account/login/start", type="apiKey", apiKey="sk-1")
        assert await client.call("account/read") == {"account": None, "requiresOpenaiAuth": False}
        status = {"authMethod": None, "authToken": None, "requiresOpenaiAuth": False}
        assert await client.call("getAuthStatus", includeToken=True) == status


@pytest.mark.parametrize(
    ("method", "params", "message"),
    [
        ("account/login/start", {"type": "chatgpt"}, "ChatGPT login is not supported"),
        (
            "account/login/start",
            {"type": "chatgptAuthTokens", "accessToken": "a", "chatgptAccountId": "b"},
            "ChatGPT login is not supported",
        ),
        ("account/login/start", {"type": "apiKey", "apiKey": " "}, "failed to save api key: "),
        ("account/login/cancel", {"loginId": "x"}, "invalid login id: x"),
        ("account/rateLimits/read", {}, "codex account authentication required to read rate limits"),
    ],
)
async def test_what_cannot_be_done_is_said(client: Client, method: str, params: dict[str, str], message: str) -> None:
    with pytest.raises(Refused) as raised:
        await client.call(method, **params)
    assert raised.value.message.startswith(message)


async def test_a_key_has_no_rate_limits(client: Client) -> None:
    await client.call("account/login/start", type="apiKey", apiKey="sk-1")
    with pytest.raises(Refused, match="chatgpt authentication required to read rate limits"):
        await client.call("account/rateLimits/read")


async def test_there_is_never_a_login_to_cancel(client: Client) -> None:
    answer = await client.call("account/login/cancel", loginId="00000000-0000-7000-8000-000000000000")
    assert answer == {"status": "notFound"}


async def test_a_forced_method_is_kept(client: Client, place: Place) -> None:
    path = place.home / "config.toml"
    path.write_text('forced_login_method = "chatgpt"\n' + path.read_text())
    with pytest.raises(Refused, match="API key login is disabled"):
        await client.call("account/login/start", type="apiKey", apiKey="sk-1")


async def test_a_broken_auth_file_is_told(client: Client, place: Place) -> None:
    (place.home / "auth.json").write_text("{")
    with pytest.raises(Refused, match="not valid JSON"):
        await client.call("account/read")
