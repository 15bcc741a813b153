"""The logins to MCP servers of one CODEX_HOME, as this process sees them: read, and renewed when they end.

Owns when tokens are renewed, and that it happens once even if many ask, here and in other processes. Where they are
kept is `token_store`'s business, what is asked for them `authorization`'s. Knows no connection.
"""

import logging
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

import trio

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.auth.grants import LoginRefused, RefreshFailed
from pycodex.supervisor.auth.home_lock import kept_out
from pycodex.supervisor.auth.unbroken import Spawn, unbroken
from pycodex.supervisor.auth.web import Send
from pycodex.supervisor.config.mcp_servers import HttpServer
from pycodex.supervisor.mcp.authorization import Asker, Grant, refreshed
from pycodex.supervisor.mcp.oauth import Unsafe, check_place, discovered, is_safe
from pycodex.supervisor.mcp.token_store import StoredTokens, TokenStore, store_key

_LOCK_S = 15.0
PAUSE_S = 10.0
"""Tokens that end soon are not renewed more often: some never last long, and some cannot be had for a while."""
_FILE_LOCK = ".credentials.lock"

logger = logging.getLogger("pycodex.mcp")


class McpLogins:
    """One a process and home. `spawn` starts what must not be broken off."""

    def __init__(self, codex_home: str, *, env: Mapping[str, str], send: Send, spawn: Spawn) -> None:
        self.env = env
        self._codex_home = codex_home
        self._send = send
        self._spawn = spawn
        self._renewing: defaultdict[str, trio.Lock] = defaultdict(trio.Lock)
        self._writing = trio.Lock()
        self._refused: dict[str, tuple[str, str]] = {}
        """Refresh tokens that are of no use, and why, by server."""

    def asker(self, server: HttpServer) -> Asker:
        """For whoever gives out the login to this server."""
        return Asker(send=self._send, server_url=server.url, headers=server.http_headers)

    async def stored(self, name: str, server: HttpServer) -> StoredTokens | None:
        """As it is now. Raises UserFacing."""
        store = TokenStore(self._codex_home, server.credentials_store)
        return await trio.to_thread.run_sync(store.load, name, server.url, abandon_on_cancel=True)

    async def save(self, server: HttpServer, tokens: StoredTokens) -> None:
        """Raises UserFacing."""
        store = TokenStore(self._codex_home, server.credentials_store)
        async with self._writing, kept_out(self._codex_home, _FILE_LOCK, patience_s=_LOCK_S):
            await trio.to_thread.run_sync(store.save, tokens)
        self._refused.pop(store_key(tokens.server_name, tokens.server_url), None)

    async def renewed(self, server: HttpServer, used: StoredTokens) -> StoredTokens:
        """Newer tokens than those. Raises LoginRefused or RefreshFailed."""
        key = store_key(used.server_name, used.server_url)
        # One a server: nobody waits for the tokens of another one.
        lock = f".credentials.{key.rpartition('|')[2]}.lock"

        async def renew() -> StoredTokens:
            async with self._renewing[key], kept_out(self._codex_home, lock, patience_s=_LOCK_S):
                return await self._renewed_alone(key, server, used)

        return await unbroken(self._spawn, renew)

    async def _renewed_alone(self, key: str, server: HttpServer, used: StoredTokens) -> StoredTokens:
        tokens = await self.stored(used.server_name, server)
        if tokens is None:
            raise LoginRefused("the login was removed")
        if tokens.access_token != used.access_token:
            return tokens
        if tokens.refresh_token is None:
            raise LoginRefused("the login has no refresh token")
        refused = self._refused.get(key)
        if refused is not None and refused[0] == tokens.refresh_token:
            raise LoginRefused(refused[1])
        try:
            grant = await self._granted(server, tokens, tokens.refresh_token)
        except LoginRefused as error:
            # A program that knows nothing of our lock may have been faster.
            other = await self.stored(used.server_name, server)
            if other is not None and other.access_token != tokens.access_token:
                return other
            self._refused[key] = tokens.refresh_token, str(error)
            raise
        newer = with_grant(tokens, grant)
        await self.save(server, newer)
        return newer

    async def _granted(self, server: HttpServer, tokens: StoredTokens, refresh_token: str) -> Grant:
        endpoint = tokens.token_endpoint
        if endpoint is None:
            found = await discovered(server, self.env)
            if found is None:
                raise RefreshFailed("OAuth token refresh failed: the server does not tell who gives out its tokens")
            endpoint = found.token_endpoint
        return await refreshed(
            self.asker(server),
            check_place(endpoint, server.url),
            client_id=tokens.client_id,
            refresh_token=refresh_token,
            resource=server.oauth_resource,
        )


def with_grant(tokens: StoredTokens, grant: Grant) -> StoredTokens:
    """What is new, and of the rest what was there."""
    lasts_s = grant.expires_in_s
    return replace(
        tokens,
        access_token=grant.access_token,
        refresh_token=grant.refresh_token or tokens.refresh_token,
        expires_at_ms=None if lasts_s is None else int((time.time() + lasts_s) * 1000),
        scopes=grant.scopes or tokens.scopes,
    )


class ServerLogin:
    """The login to one server while there is a connection to it: what goes with each message."""

    def __init__(self, logins: McpLogins, name: str, server: HttpServer) -> None:
        self._logins = logins
        self._name = name
        self._server = server
        self._tokens: StoredTokens | None = None
        self._rests_until = float("-inf")

    async def load(self) -> None:
        """Raises UserFacing."""
        tokens = await self._logins.stored(self._name, self._server)
        if tokens is not None and not is_safe(self._server.url, self._server.url):
            raise Unsafe("the login is not sent to an address that is neither https nor on this machine")
        self._tokens = tokens

    @property
    def last_token(self) -> str | None:
        """As it is, for the last words to a server."""
        return None if self._tokens is None else self._tokens.access_token

    async def token(self) -> str | None:
        """None if nobody has logged in. One that ends is renewed before; if that fails it may still do."""
        if self._tokens is not None and self._tokens.is_expiring and trio.current_time() >= self._rests_until:
            await self._renew(self._tokens)
        return self.last_token

    async def token_after(self, refused: str) -> str | None:
        """Another one, now that the server did not take that. None if there is none to be had."""
        if self._tokens is not None and self._tokens.access_token == refused:
            await self._renew(self._tokens)
        newer = self.last_token
        return newer if newer != refused else None

    async def _renew(self, used: StoredTokens) -> None:
        try:
            self._tokens = await self._logins.renewed(self._server, used)
        except UserFacing as error:
            logger.warning("MCP server %s: %s", self._name, error)
        self._rests_until = trio.current_time() + PAUSE_S
