"""Logging in to an MCP server, and being known there afterwards, as a client of the app-server sees it."""

import json
import socket
import stat
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pycodex.supervisor.model.scripted import Hold, Reply, say
from support.app_server import Client, Refused, Scratch, exactly, open_app_server
from support.engine import Place, open_place
from support.issuer import asked_of, callback, visit
from support.mcp import add_servers
from support.mcp_login import CODE, McpLogin, answered, authorize, open_mcp_login, stored
from support.waiting import eventually_async

NOT_LOGGED_IN = "The web MCP server is not logged in. Run `codex mcp login web`."


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with open_place(tmp_path) as made:
        yield made


@asynccontextmanager
async def opened(
    place: Place, *, settings: str = "", more: str = ""
) -> AsyncIterator[tuple[McpLogin, Client, Scratch]]:
    """A client of an app-server that knows the MCP server as `web`, and keeps logins in the file."""
    async with open_mcp_login() as login, open_app_server(place, lambda _: Reply(parts=say("done"))) as scratch:
        path = place.home / "config.toml"
        first = f'mcp_oauth_credentials_store = "file"\n{settings}\n'
        path.write_text(first + path.read_text(encoding="utf-8"), encoding="utf-8")
        add_servers(place, login.table(more=more))
        yield login, await scratch.connect().hello(), scratch


async def asked(client: Client, **params: Any) -> str:
    answer = await client.call("mcpServer/oauth/login", name="web", **params)
    url: str = answer["authorizationUrl"]
    return url


async def ended(client: Client) -> dict[str, Any]:
    return await client.until("mcpServer/oauthLogin/completed")


async def auth_status(client: Client) -> str:
    (told,) = (await client.call("mcpServerStatus/list"))["data"]
    status: str = told["authStatus"]
    return status


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def port_of(url: str) -> int:
    return int(asked_of(url)["redirect_uri"].rpartition(":")[2].partition("/")[0])


def credentials(place: Place) -> Path:
    return place.home / ".credentials.json"


async def logged_in(login: McpLogin, client: Client) -> None:
    await authorize(login, await asked(client))
    assert await ended(client) == {"name": "web", "success": True}


async def test_from_the_question_to_tokens_that_are_used(place: Place) -> None:
    async with opened(place) as (login, client, _):
        login.metadata = {"scopes_supported": ["read", " write ", "read", ""]}
        assert await auth_status(client) == "notLoggedIn"
        url = await asked(client)
        port = port_of(url)
        fields = asked_of(url)
        assert url.startswith(f"{login.origin}/authorize?")
        assert fields["redirect_uri"] == f"http://127.0.0.1:{port}/callback"
        assert (fields["scope"], fields["client_id"]) == ("read write", "client-1")
        assert (fields["response_type"], fields["code_challenge_method"]) == ("code", "S256")
        (wish,) = login.asked("/register")
        assert wish.body == {
            "client_name": "Codex",
            "redirect_uris": [fields["redirect_uri"]],
            "grant_types": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_method": "none",
            "response_types": ["code"],
        }
        page = await authorize(login, url)
        assert (page.status, "You are logged in" in page.text) == (200, True)
        assert await ended(client) == {"name": "web", "success": True}
        await eventually_async(lambda: not listens(port))
        assert await auth_status(client) == "oAuth"
        thread_id = await client.start()
        answer = await client.call("mcpServer/tool/call", threadId=thread_id, server="web", tool="echo")
        assert answer["content"][0]["text"] == "called"


async def test_what_is_kept_is_what_codex_keeps(place: Place) -> None:
    others = {"else|0123456789abcdef": {"server_name": "else", "odd": [1]}}
    credentials(place).write_text('{"else|0123456789abcdef":{"server_name":"else","odd":[1]}}', encoding="utf-8")
    async with opened(place) as (login, client, _):
        before_ms = time.time() * 1000
        await logged_in(login, client)
        kept = stored(credentials(place))
        assert stat.S_IMODE(credentials(place).stat().st_mode) == 0o600
        (key,) = kept.keys() - others.keys()
        entry = kept.pop(key)
        assert kept == others
        assert entry.pop("expires_at") >= before_ms + 3_600_000
        assert entry == {
            "server_name": "web",
            "server_url": login.url,
            "client_id": "client-1",
            "access_token": login.access,
            "refresh_token": login.refresh,
            "scopes": [],
            "token_endpoint": f"{login.origin}/token",
        }


@pytest.mark.parametrize(
    ("params", "more", "scope", "resource"),
    [
        ({"scopes": ["x", "y"]}, 'scopes = ["c"]\noauth_resource = " https://res/ "', "x y", "https://res/"),
        ({}, 'scopes = ["c"]', "c", None),
        ({"scopes": []}, 'scopes = ["c"]', None, None),
    ],
)
async def test_which_scopes_and_which_resource(
    place: Place, params: dict[str, Any], more: str, scope: str | None, resource: str | None
) -> None:
    async with opened(place, more=more) as (login, client, _):
        url = await asked(client, **params)
        assert (asked_of(url).get("scope"), asked_of(url).get("resource")) == (scope, resource)
        await authorize(login, url)
        assert (await ended(client))["success"] is True
        assert login.granted()[0].get("resource") == resource


async def test_the_port_and_the_address_of_the_configuration(place: Place) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = f'mcp_oauth_callback_port = {port}\nmcp_oauth_callback_url = "https://relay.example/back/here"'
    async with opened(place, settings=settings) as (login, client, _):
        url = await asked(client)
        assert asked_of(url)["redirect_uri"] == "https://relay.example/back/here"
        login.challenge = asked_of(url)["code_challenge"]
        came = f"http://127.0.0.1:{port}/back/here?code={CODE}&state={asked_of(url)['state']}"
        assert (await visit(came)).status == 200
        assert (await ended(client))["success"] is True


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"error": "access_denied", "error_description": "no"}, "OAuth provider returned `access_denied`: no"),
        ({"error": "access_denied"}, "OAuth provider returned `access_denied`"),
        ({}, "OAuth provider returned an error"),
        (
            {"code": "wrong-secret"},
            "failed to handle OAuth callback: OAuth token exchange failed: 400 Bad Request: bad code ***",
        ),
        (
            {"code": CODE, "iss": "https://elsewhere"},
            "failed to handle OAuth callback: it came from another authorization server",
        ),
    ],
)
async def test_a_login_that_does_not_come_about(place: Place, fields: dict[str, str], error: str) -> None:
    async with opened(place) as (login, client, _):
        url = await asked(client)
        login.challenge = asked_of(url)["code_challenge"]
        await visit(callback(url, **fields))
        assert await ended(client) == {"name": "web", "success": False, "error": error}
        await eventually_async(lambda: not listens(port_of(url)))
        assert not credentials(place).exists()


async def test_a_visit_without_our_state_changes_nothing(place: Place) -> None:
    async with opened(place) as (login, client, _):
        url = await asked(client)
        forged = callback(url, code=CODE).replace("state=", "state=x")
        assert (await visit(forged)).status == 400
        assert login.granted() == []
        await authorize(login, url)
        assert (await ended(client))["success"] is True


async def test_nobody_waits_longer_than_the_client_says(place: Place) -> None:
    async with opened(place) as (_, client, _scratch):
        url = await asked(client, timeoutSecs=-5)
        assert (await ended(client))["error"] == "timed out waiting for OAuth callback"
        await eventually_async(lambda: not listens(port_of(url)))


async def test_a_server_that_hangs_is_not_waited_for_either(place: Place) -> None:
    async with opened(place) as (login, client, _):
        login.instead["/register"] = lambda _: Reply(parts=[Hold()])
        with pytest.raises(Refused, match="failed to login to MCP server 'web': timed out"):
            await asked(client, timeoutSecs=1)
        del login.instead["/register"]
        await logged_in(login, client)


async def test_a_second_login_to_the_same_server_ends_the_first(place: Place) -> None:
    async with opened(place) as (login, client, _):
        first = await asked(client)
        second_id = await client.ask("mcpServer/oauth/login", name="web")
        assert await ended(client) == {"name": "web", "success": False, "error": "Login cancelled"}
        second = (await client.answer_to(second_id))["authorizationUrl"]
        assert not listens(port_of(first))
        await authorize(login, second)
        assert (await ended(client))["success"] is True


async def test_a_login_ends_with_the_connection_that_asked_for_it(place: Place) -> None:
    async with opened(place) as (_, client, scratch):
        other = await scratch.connect().hello()
        url = await asked(client)
        assert listens(port_of(url))
        await client.stream.aclose()
        assert await ended(other) == {"name": "web", "success": False, "error": "Login was not completed"}
        await eventually_async(lambda: not listens(port_of(url)))


async def test_a_login_ends_with_the_server(place: Place) -> None:
    async with opened(place) as (_, client, _scratch):
        port = port_of(await asked(client))
        assert listens(port)
    assert not listens(port)


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        ({"token_endpoint": "http://elsewhere.example/token"}, "leads to an address that is neither https nor"),
        ({"authorization_endpoint": "file:///etc/passwd"}, "leads to an address that is neither https nor"),
        ({"registration_endpoint": "javascript:alert(1)"}, "leads to an address that is neither https nor"),
        ({"registration_endpoint": None}, "Dynamic client registration not supported"),
        ({"code_challenge_methods_supported": ["plain"]}, "does not support PKCE with S256"),
        ({"token_endpoint": None}, "No authorization support detected"),
        ({"padding": "x" * (300 << 10)}, "No authorization support detected"),
    ],
)
async def test_authorization_servers_that_are_not_taken(place: Place, metadata: dict[str, Any], problem: str) -> None:
    async with opened(place) as (login, client, _):
        login.metadata = metadata
        with pytest.raises(Refused, match=problem) as raised:
            await asked(client)
        assert raised.value.code == -32603
        assert raised.value.message.startswith("failed to login to MCP server 'web': ")
        assert login.granted() == []


async def test_who_gives_out_logins_may_be_somebody_else(place: Place) -> None:
    async with (
        opened(place, more='http_headers = { X-Key = "k-secret" }') as (login, client, _),
        open_mcp_login() as far,
    ):
        login.metadata = {"token_endpoint": None}
        named = {"authorization_servers": [f"{far.origin}/mcp"]}
        login.instead["/.well-known/oauth-protected-resource/mcp"] = lambda _: answered(named)
        await authorize(far, await asked(client))
        assert (await ended(client))["success"] is True
        login.access = far.access
        assert await auth_status(client) == "oAuth"
        assert all("x-key" not in request.headers for request in far.server.requests)
        assert {request.headers.get("x-key") for request in login.server.requests} == {"k-secret"}


async def test_answers_without_end_are_cut(place: Place) -> None:
    async with opened(place) as (login, client, _):
        login.instead["/token"] = lambda _: answered({"padding": "x" * (2 << 20), "access_token": login.access})
        await authorize(login, await asked(client))
        problem = "OAuth token exchange failed: the answer holds no bearer token"
        assert (await ended(client))["error"] == f"failed to handle OAuth callback: {problem}"


async def test_redirects_are_not_followed(place: Place) -> None:
    async with opened(place) as (login, client, _), open_mcp_login() as thief:
        moved = Reply(status=307, headers={"location": f"{thief.origin}/token"}, body=b"", framing="sized")
        login.instead["/token"] = lambda _: moved
        await authorize(login, await asked(client))
        assert (await ended(client))["success"] is False
        assert thief.server.requests == []


async def test_tokens_are_renewed_before_they_end_and_kept(place: Place) -> None:
    async with opened(place) as (login, client, _):
        login.expires_in = 1
        await logged_in(login, client)
        login.expires_in = 3600
        assert await auth_status(client) == "oAuth"
        assert login.renewals == 1
        assert set(login.bearers()) == {"Bearer mcp-at-1-secret"}
        (entry,) = stored(credentials(place)).values()
        assert (entry["access_token"], entry["refresh_token"]) == ("mcp-at-1-secret", "mcp-rt-1-secret")
        assert login.granted()[-1] == {
            "grant_type": "refresh_token",
            "refresh_token": "mcp-rt-0-secret",
            "client_id": "client-1",
        }


async def test_tokens_that_the_server_does_not_take_are_renewed_once(place: Place) -> None:
    async with opened(place) as (login, client, _):
        await logged_in(login, client)
        thread_id = await client.start()
        called = {"threadId": thread_id, "server": "web", "tool": "echo"}
        await client.call("mcpServer/tool/call", **called)
        login.access = "revoked for everybody"
        assert (await client.call("mcpServer/tool/call", **called))["content"][0]["text"] == "called"
        assert login.renewals == 1
        login.access, login.refresh = "gone", "gone too"
        for _ in range(2):
            with pytest.raises(Refused, match=exactly(NOT_LOGGED_IN)):
                await client.call("mcpServer/tool/call", **called)
        assert len(login.granted()) == 3


async def test_tokens_without_a_known_giver_are_renewed_by_whom_the_server_names(place: Place) -> None:
    """As Codex leaves them behind."""
    async with opened(place) as (login, client, _):
        login.expires_in = 0
        await logged_in(login, client)
        entries = stored(credentials(place))
        for entry in entries.values():
            del entry["token_endpoint"]
        credentials(place).write_text(json.dumps(entries), encoding="utf-8")
        login.expires_in = None
        assert await auth_status(client) == "oAuth"
        assert login.renewals == 1


async def test_a_refresh_token_goes_only_to_who_gave_it(place: Place) -> None:
    async with opened(place) as (login, client, _), open_mcp_login() as thief:
        login.expires_in = 0
        await logged_in(login, client)
        login.metadata = {"token_endpoint": f"{thief.origin}/token"}
        await client.call("mcpServerStatus/list")
        assert thief.server.requests == []
        assert login.renewals == 1


async def test_tokens_go_only_to_the_address_that_they_were_made_for(place: Place) -> None:
    async with opened(place) as (login, client, _), open_mcp_login() as thief:
        await logged_in(login, client)
        path = place.home / "config.toml"
        path.write_text(path.read_text(encoding="utf-8").replace(login.url, thief.url), encoding="utf-8")
        assert await auth_status(client) == "notLoggedIn"
        assert set(thief.bearers()) == {None}


async def test_a_thread_is_told_that_a_login_is_needed(place: Place) -> None:
    async with opened(place) as (_, client, _scratch):
        thread_id = await client.start()
        update = await client.until("mcpServer/startupStatus/updated", status="failed")
        assert (update["threadId"], update["error"]) == (thread_id, NOT_LOGGED_IN)


async def test_credentials_that_cannot_be_read_are_not_overwritten(place: Place) -> None:
    credentials(place).write_text("[oops-secret", encoding="utf-8")
    async with opened(place) as (login, client, _):
        await authorize(login, await asked(client))
        problem = "does not hold a JSON object; mend or remove it, and log in again"
        assert (await ended(client))["error"] == f"failed to handle OAuth callback: {credentials(place)} {problem}"
        assert credentials(place).read_text(encoding="utf-8") == "[oops-secret"
        assert await auth_status(client) == "notLoggedIn"


async def test_no_secret_is_told(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", logger="pycodex")
    async with opened(place) as (login, client, _):
        login.expires_in = 0
        await logged_in(login, client)
        login.refresh = "another"
        await client.call("mcpServerStatus/list")
        assert "OAuth token refresh failed: 400 Bad Request: ***" in caplog.text
        assert "-secret" not in "".join(map(str, client.heard)) + caplog.text
