"""A browser that comes back from whoever gives out a login.

Owns what its visits mean, that only the one with our state counts, and what the browser is shown. What a code is good
for is the caller's business. No secret is put into an address or a page.
"""

import hmac
import html
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qsl

import trio

from pycodex.protocol.errors import UserFacing
from pycodex.protocol.http_head import Head
from pycodex.supervisor.auth.callback_server import Page, serve_visits
from pycodex.supervisor.auth.grants import LoginFailed, new_state

MOST_SHOWN = 500
_SUCCESS = "/success"
_PAGE_S = 5.0
"""How long the browser may take to fetch the last page; the login counts either way."""
_MOST_FIELDS = 100

_HTML = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>pycodex</title></head>
<body><h1>{title}</h1><p>{text}</p></body></html>
"""

Take = Callable[[dict[str, str]], Awaitable[None]]
"""Told what the browser has brought: logs in with it. Raises UserFacing."""


class BrowserReturn:
    """`leads_on_to` is where this server is for the browser, so that the code does not stay in its address bar; without
    it the last page is shown at once. `wait` for it once."""

    def __init__(self, *, path: str, take: Take, leads_on_to: str | None = None) -> None:
        self.state = new_state()
        self._path = path
        self._take = take
        self._leads_on_to = leads_on_to
        self._decided = trio.Event()
        self._shown = trio.Event()
        """The browser has got the page that tells how it ended."""
        self._failure: UserFacing | None = None
        self._taking = trio.Lock()

    async def wait(self, listener: trio.SocketListener) -> None:
        """Until it has come about. Raises LoginFailed or other UserFacing errors."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve_visits, listener, self._visit)
            await self._decided.wait()
            with trio.move_on_after(_PAGE_S):
                await self._shown.wait()
            nursery.cancel_scope.cancel()
        if self._failure is not None:
            raise self._failure

    async def _visit(self, head: Head) -> Page:
        if head.path == self._path:
            try:
                fields = dict(parse_qsl(head.query, max_num_fields=_MOST_FIELDS))
            except ValueError:
                return Page(status=400, text="Bad Request")
            return await self._callback(fields)
        if head.path == _SUCCESS and self._decided.is_set() and self._failure is None:
            return self._last_page()
        if head.path == "/cancel":
            return self._cancel(head)
        return Page(status=404, text="Not Found")

    def _cancel(self, head: Head) -> Page:
        """Another login wants the port. No web page may ask for that: browsers say who asks."""
        if "origin" in head.headers or "sec-fetch-site" in head.headers:
            return Page(status=403, text="Forbidden")
        self._fail(LoginFailed("Login cancelled"))
        return Page(text="Login cancelled", then=self._shown.set)

    async def _callback(self, fields: dict[str, str]) -> Page:
        if not hmac.compare_digest(fields.get("state", "").encode(), self.state.encode()):
            return Page(status=400, text="State mismatch")
        async with self._taking:
            if not self._decided.is_set():
                try:
                    await self._take(fields)
                except UserFacing as error:
                    self._fail(error)
                else:
                    self._decided.set()
        if self._failure is not None:
            text = f"{str(self._failure)[:MOST_SHOWN]} Go back to where you started, and try again."
            return Page(text=_page("The login did not come about", text), is_html=True, then=self._shown.set)
        if self._leads_on_to is not None:
            return Page(status=302, location=f"{self._leads_on_to}{_SUCCESS}")
        return self._last_page()

    def _last_page(self) -> Page:
        text = "You are logged in. You can close this page."
        return Page(text=_page("Logged in", text), is_html=True, then=self._shown.set)

    def _fail(self, error: UserFacing) -> None:
        if not self._decided.is_set():
            self._failure = error
            self._decided.set()


def _page(title: str, text: str) -> str:
    return _HTML.format(title=html.escape(title), text=html.escape(text))
