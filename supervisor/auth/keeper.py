"""The login of one CODEX_HOME as this process sees it: read anew each time, and renewed when it has become old.

Owns the life of tokens: when they are renewed, that it happens once even if many ask, here and in other processes, and
that tokens of a client never reach the disk. What the issuer says is `oauth`'s business, where a login is kept
`stores`'. Which provider gets a token is decided in `credentials`.
"""

import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

import trio

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.auth.auth_file import FILE_NAME, Json, StoredLogin, login_in, read_login
from pycodex.supervisor.auth.home_lock import kept_out

if TYPE_CHECKING:
    from pycodex.supervisor.auth.oauth import Tokens
    from pycodex.supervisor.auth.stores import Store
    from pycodex.supervisor.auth.unbroken import Spawn
    from pycodex.supervisor.auth.web import Send

_OLD_S = 8 * 24 * 3600.0
_PAUSE_S = 60.0
"""After old tokens could not be renewed they are used for so long before it is tried again."""
_LOCK_NAME = "auth.lock"
_LOCK_S = 15.0
"""A process that hangs is not waited for longer than this."""
_FILE_KIND = "file"

logger = logging.getLogger("pycodex.auth")


AskClient = Callable[[str | None], Awaitable[StoredLogin]]
"""Asks for newer tokens, given the account of those that were refused. Raises RefreshFailed."""


class LoginKeeper:
    """One a process and home. `spawn` starts what must not be broken off."""

    def __init__(self, codex_home: str, *, env: Mapping[str, str], send: "Send", spawn: "Spawn") -> None:
        self.codex_home = codex_home
        self.external: StoredLogin | None = None
        """What a client has given; comes before all that is stored."""
        self.ask_client: AskClient | None = None
        self._env = env
        self._send = send
        self._spawn = spawn
        self._memory: dict[str, Json] = {}
        self._renewing = trio.Lock()
        self._seen: StoredLogin | None = None
        self._refused: tuple[str | None, str] | None = None
        """A refresh token that is of no use, and why."""
        self._rests_until = float("-inf")

    async def stored(self, kind: str) -> StoredLogin | None:
        """As it is now. `kind` says where it is kept. Raises UserFacing."""
        if self.external is not None:
            return self.external
        if kind == _FILE_KIND:
            self._seen = read_login(os.path.join(self.codex_home, FILE_NAME))
        else:
            store = self._store(kind)
            document = await trio.to_thread.run_sync(store.load, abandon_on_cancel=True)
            self._seen = None if document is None else login_in(document, store.place)
        return self._seen

    async def current(self, kind: str) -> StoredLogin | None:
        """The same, with new tokens if they are old. Where there are none to be had, the old ones may still do."""
        login = await self.stored(kind)
        if login is None or not _is_old(login) or trio.current_time() < self._rests_until:
            return login
        try:
            return await self.renewed(kind, login)
        except UserFacing as error:
            logger.warning("old tokens could not be renewed: %s", error)
            self._rests_until = trio.current_time() + _PAUSE_S
            return login

    async def refresh(self, kind: str) -> None:
        """New tokens, unless another process has got some since we looked last. Raises LoginRefused, RefreshFailed."""
        before = self._seen
        login = await self.stored(kind)
        if login is None or login.is_external or login.refresh_token is None:
            return
        if before is None or before.access_token == login.access_token:
            await self.renewed(kind, login)

    async def changed(self, kind: str, used: StoredLogin) -> StoredLogin | None:
        """The login with the tokens that somebody else has got meanwhile; None if nobody has. Raises LoginRefused."""
        if used.is_external:
            return None
        login = _same_account(await self.stored(kind), used)
        return login if login.access_token != used.access_token else None

    async def renewed(self, kind: str, used: StoredLogin) -> StoredLogin:
        """With newer tokens than those. Raises LoginRefused or RefreshFailed."""
        if used.is_external:
            return await self._from_client(used)
        from pycodex.supervisor.auth.unbroken import unbroken

        async def renew() -> StoredLogin:
            async with self._renewing, kept_out(self.codex_home, _LOCK_NAME, patience_s=_LOCK_S):
                return await self._renewed_alone(kind, used)

        return await unbroken(self._spawn, renew)

    async def save(self, kind: str, document: Json) -> None:
        """Keep a new login; whatever was known of the old one counts no more. Raises UserFacing."""
        await trio.to_thread.run_sync(self._store(kind).save, document)
        self._refused, self._rests_until = None, float("-inf")

    async def remove(self, kind: str) -> bool:
        """Whether there was one. Raises UserFacing."""
        was_external = self.external is not None
        self.external = None
        return await trio.to_thread.run_sync(self._store(kind).remove) or was_external

    def _store(self, kind: str) -> "Store":
        from pycodex.supervisor.auth.stores import store_of

        return store_of(kind, self.codex_home, self._memory)

    async def _from_client(self, used: StoredLogin) -> StoredLogin:
        async with self._renewing:
            newer = None
            if self.external == used and self.ask_client is not None:
                newer = await self.ask_client(used.account_id)
            # Meanwhile the client may have given others by itself, or have logged out.
            if newer is None or self.external != used:
                return _same_account(self.external, used)
            self.external = newer
            return newer

    async def _renewed_alone(self, kind: str, used: StoredLogin) -> StoredLogin:
        from pycodex.supervisor.auth.grants import LoginRefused
        from pycodex.supervisor.auth.oauth import REFUSED, refreshed_tokens

        login = _same_account(await self.stored(kind), used)
        if login.access_token != used.access_token:
            return login
        if login.refresh_token is None:
            raise LoginRefused(REFUSED)
        if self._refused is not None and self._refused[0] == login.refresh_token:
            raise LoginRefused(self._refused[1])
        try:
            tokens = await refreshed_tokens(self._send, self._env, login.refresh_token)
        except LoginRefused as error:
            # A program that knows nothing of our lock may have been faster.
            other = await self.stored(kind)
            if other is not None and other.access_token != login.access_token:
                return _same_account(other, used)
            self._refused = login.refresh_token, str(error)
            raise
        return await self._keep(kind, tokens, used)

    async def _keep(self, kind: str, tokens: "Tokens", used: StoredLogin) -> StoredLogin:
        """Change what is new, and nothing else of what is stored."""
        from pycodex.supervisor.auth.stores import check_document

        store = self._store(kind)
        named = {name: getattr(tokens, name) for name in ("id_token", "access_token", "refresh_token")}
        new = {name: value for name, value in named.items() if value is not None}

        def edited(stored: Json | None) -> Json:
            document = check_document(stored)
            _same_account(login_in(document, store.place), used)
            return {**document, "tokens": {**document["tokens"], **new}, "last_refresh": time_now()}

        document = await trio.to_thread.run_sync(store.change, edited)
        self._seen = login_in(document, store.place)
        assert self._seen is not None
        return self._seen


def _same_account(login: StoredLogin | None, used: StoredLogin) -> StoredLogin:
    """Nobody goes on as somebody else. Raises LoginRefused."""
    if login is None or login.access_token is None or login.account_id != used.account_id:
        from pycodex.supervisor.auth.grants import LoginRefused
        from pycodex.supervisor.auth.oauth import OTHER_ACCOUNT

        raise LoginRefused(OTHER_ACCOUNT)
    return login


def _is_old(login: StoredLogin) -> bool:
    """A time that cannot be read is long ago."""
    if login.refresh_token is None or login.is_external:
        return False
    import time
    from datetime import UTC, datetime

    try:
        refreshed = datetime.fromisoformat(login.last_refresh or "")
    except ValueError:
        return True
    refreshed = refreshed if refreshed.tzinfo is not None else refreshed.replace(tzinfo=UTC)
    return time.time() - refreshed.timestamp() > _OLD_S


def time_now() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).isoformat().replace("+00:00", "Z")
