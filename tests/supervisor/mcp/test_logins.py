"""When the logins to MCP servers are renewed, and how often."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import trio

from pycodex.supervisor.auth.grants import LoginRefused
from pycodex.supervisor.config.mcp_servers import HttpServer
from pycodex.supervisor.mcp.authorization import Grant
from pycodex.supervisor.mcp.logins import McpLogins, ServerLogin, with_grant
from pycodex.supervisor.mcp.oauth import Unsafe
from pycodex.supervisor.mcp.token_store import StoredTokens, TokenStore
from pycodex.supervisor.model.headers import identity_of
from pycodex.supervisor.model.web import sender
from pycodex.supervisor.net.http import open_http
from support.mcp_login import McpLogin, open_mcp_login


class Opened:
    def __init__(self, home: Path, login: McpLogin, logins: McpLogins) -> None:
        self.login = login
        self.logins = logins
        self.server = HttpServer(url=login.url, credentials_store="file")
        self.store = TokenStore(str(home), "file")
        self.tokens = StoredTokens(
            server_name="web",
            server_url=login.url,
            client_id="c",
            access_token=login.access,
            refresh_token=login.refresh,
            expires_at_ms=1000,
            token_endpoint=f"{login.origin}/token",
        )
        self.store.save(self.tokens)


@asynccontextmanager
async def opened(home: Path, nursery: trio.Nursery) -> AsyncIterator[Opened]:
    async with open_mcp_login() as login, open_http({}) as http:
        send = sender(http, identity_of({}, originator="tests", client="tests; 1"))
        yield Opened(home, login, McpLogins(str(home), env={}, send=send, spawn=nursery.start_soon))


async def test_many_that_ask_at_once_are_given_the_same(tmp_path: Path, nursery: trio.Nursery) -> None:
    async with opened(tmp_path, nursery) as at:
        found: list[str] = []

        async def ask() -> None:
            found.append((await at.logins.renewed(at.server, at.tokens)).access_token)

        async with trio.open_nursery() as asking:
            for _ in range(5):
                asking.start_soon(ask)
        assert set(found) == {"mcp-at-1-secret"}
        assert at.login.renewals == 1


async def test_what_another_process_has_renewed_is_taken(tmp_path: Path, nursery: trio.Nursery) -> None:
    async with opened(tmp_path, nursery) as at:
        login = ServerLogin(at.logins, "web", at.server)
        await login.load()
        newer = with_grant(at.tokens, Grant(access_token="from elsewhere", expires_in_s=3600))
        at.store.save(newer)
        assert await login.token() == "from elsewhere"
        assert await login.token_after("an older one") == "from elsewhere"
        assert at.login.granted() == []


async def test_a_refusal_is_remembered_until_the_next_login(tmp_path: Path, nursery: trio.Nursery) -> None:
    async with opened(tmp_path, nursery) as at:
        good, at.login.refresh = at.login.refresh, "another"
        for _ in range(3):
            with pytest.raises(LoginRefused, match="OAuth token refresh failed: 400 Bad Request"):
                await at.logins.renewed(at.server, at.tokens)
        assert len(at.login.granted()) == 1
        at.login.refresh = good
        await at.logins.save(at.server, at.tokens)
        assert (await at.logins.renewed(at.server, at.tokens)).access_token == "mcp-at-1-secret"


async def test_a_login_that_was_removed_is_not_made_again(tmp_path: Path, nursery: trio.Nursery) -> None:
    async with opened(tmp_path, nursery) as at:
        (tmp_path / ".credentials.json").unlink()
        with pytest.raises(LoginRefused, match="the login was removed"):
            await at.logins.renewed(at.server, at.tokens)
        assert at.login.granted() == []


async def test_tokens_that_never_last_long_are_not_renewed_with_every_message(
    tmp_path: Path, nursery: trio.Nursery
) -> None:
    async with opened(tmp_path, nursery) as at:
        at.login.expires_in = 5
        login = ServerLogin(at.logins, "web", at.server)
        await login.load()
        assert {await login.token() for _ in range(4)} == {"mcp-at-1-secret"}
        assert await login.token_after("mcp-at-1-secret") == "mcp-at-2-secret"


async def test_a_login_is_not_sent_where_others_can_read_it(tmp_path: Path, nursery: trio.Nursery) -> None:
    async with opened(tmp_path, nursery) as at:
        far = HttpServer(url="http://mcp.example/mcp", credentials_store="file")
        login = ServerLogin(at.logins, "web", far)
        await login.load()
        assert await login.token() is None
        at.store.save(replace(at.tokens, server_url=far.url))
        with pytest.raises(Unsafe, match="neither https nor on this machine"):
            await login.load()
        assert await login.token() is None


def test_what_a_grant_leaves_out_stays() -> None:
    old = StoredTokens(
        server_name="n", server_url="u", client_id="c", access_token="a", refresh_token="r", scopes=("s",)
    )
    new = with_grant(old, Grant(access_token="b", expires_in_s=60))
    assert (new.access_token, new.refresh_token, new.scopes) == ("b", "r", ("s",))
    assert new.expires_at_ms is not None
    assert abs(new.expires_at_ms / 1000 - time.time() - 60) < 30
