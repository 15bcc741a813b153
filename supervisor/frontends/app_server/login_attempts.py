"""The logins that are under way: at most one with ChatGPT, and one for each MCP server.

Owns its beginning and its end: by the person, by a client, by a second one, by the clock, or with the connection that
asked for it. How one logs in is `auth`'s business, what is told of it the caller's.
"""

import math
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import trio

from pycodex.protocol.errors import UserFacing

if TYPE_CHECKING:
    from pycodex.supervisor.auth.chatgpt_login import LoginTerms
    from pycodex.supervisor.auth.device_login import DeviceCode
    from pycodex.supervisor.mcp.login import McpLoginTerms

LIMIT_S = 10 * 60.0
"""For a browser; on another device a code is good for as long as `device_login` says."""
TIMED_OUT = "Login timed out"
NOT_COMPLETED = "Login was not completed"
REPLACED = "Login cancelled"
NO_CALLBACK = "timed out waiting for OAuth callback"
_CHATGPT = "ChatGPT"
_BROWSER_FAILED = "Login server error: "

Completed = Callable[[str, str | None], Awaitable[None]]
"""Told the id of a login that is over, and why it has failed, if it has."""
_Begin = Callable[[Callable[[Any], None]], Awaitable[None]]
"""Logs in; told whom to tell once the person can be sent somewhere."""


class _Attempt:
    def __init__(
        self, begin: _Begin, completed: Completed, *, limit_s: float, prefix: str = "", too_late: str = TIMED_OUT
    ) -> None:
        import uuid

        self.login_id = str(uuid.uuid4())
        self.scope = trio.CancelScope()
        self.over = trio.Event()
        self.reason = NOT_COMPLETED
        """Why, if it was ended."""
        self._begin = begin
        self._completed = completed
        self._prefix = prefix
        self._limit_s = limit_s
        self._too_late = too_late
        self._has_begun = False

    async def run(self, *, task_status: trio.TaskStatus[Any]) -> None:
        """Raises UserFacing if it cannot even begin."""

        def begun(where: Any) -> None:
            self._has_begun = True
            task_status.started(where)

        try:
            failure = await self._outcome(begun)
        except trio.Cancelled:
            if self._has_begun:
                with trio.CancelScope(shield=True):
                    await self._completed(self.login_id, self._prefix + NOT_COMPLETED)
            raise
        finally:
            self.over.set()
        if not self._has_begun:
            raise UserFacing(failure or NOT_COMPLETED)
        await self._completed(self.login_id, failure)

    async def _outcome(self, begun: Callable[[Any], None]) -> str | None:
        try:
            with self.scope, trio.move_on_after(self._limit_s) as limit:
                await self._begin(begun)
        except UserFacing as error:
            if not self._has_begun:
                raise
            return f"{self._prefix}{error}"
        if self.scope.cancelled_caught:
            return f"{self._prefix}{self.reason}"
        return self._too_late if limit.cancelled_caught else None


class LoginAttempts:
    def __init__(self) -> None:
        self._last: dict[str, _Attempt] = {}
        """By what one logs in to."""
        self._starting: defaultdict[str, trio.Lock] = defaultdict(trio.Lock)

    async def start_browser(self, nursery: trio.Nursery, terms: "LoginTerms", completed: Completed) -> tuple[str, str]:
        """Its id, and where to send the person. Raises UserFacing."""
        from pycodex.supervisor.auth.browser_login import browser_login

        async def begin(begun: Callable[[str], None]) -> None:
            await browser_login(terms, lambda url, _: begun(url))

        return await self._start(nursery, _CHATGPT, _Attempt(begin, completed, prefix=_BROWSER_FAILED, limit_s=LIMIT_S))

    async def start_device(
        self, nursery: trio.Nursery, terms: "LoginTerms", completed: Completed
    ) -> "tuple[str, DeviceCode]":
        """Its id, and what to tell the person. Raises UserFacing."""
        from pycodex.supervisor.auth.device_login import device_login, new_device_code

        async def begin(begun: "Callable[[DeviceCode], None]") -> None:
            code = await new_device_code(terms)
            begun(code)
            await device_login(terms, code)

        return await self._start(nursery, _CHATGPT, _Attempt(begin, completed, limit_s=math.inf))

    async def start_mcp(
        self, nursery: trio.Nursery, terms: "McpLoginTerms", completed: Completed, *, limit_s: float
    ) -> str:
        """Where to send the person. Another login to the same server ends. Raises UserFacing."""
        from pycodex.supervisor.mcp.login import log_in

        async def begin(begun: Callable[[str], None]) -> None:
            await log_in(terms, begun)

        attempt = _Attempt(begin, completed, limit_s=limit_s, too_late=NO_CALLBACK)
        url: str
        _, url = await self._start(nursery, f"mcp {terms.name}", attempt)
        return url

    async def _start(self, nursery: trio.Nursery, place: str, attempt: _Attempt) -> tuple[str, Any]:
        async with self._starting[place]:
            await self._end(place, REPLACED)
            self._last[place] = attempt
            return attempt.login_id, await nursery.start(attempt.run)

    def cancel(self, login_id: str) -> bool:
        """Whether it was under way. What follows from it is told later."""
        last = self._last.get(_CHATGPT)
        if last is None or last.login_id != login_id or last.over.is_set() or last.scope.cancel_called:
            return False
        last.scope.cancel()
        return True

    async def end(self, reason: str = NOT_COMPLETED) -> None:
        """The one with ChatGPT, if it is under way; afterwards its port is free."""
        await self._end(_CHATGPT, reason)

    async def _end(self, place: str, reason: str) -> None:
        last = self._last.get(place)
        if last is not None and not last.over.is_set():
            last.reason = last.reason if last.scope.cancel_called else reason
            last.scope.cancel()
            await last.over.wait()
