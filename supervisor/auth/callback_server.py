"""The server that a browser comes back to after a login: one port of this machine, for a few minutes.

Owns binding the port, which may still be another login's, and answering visits; what a visit means is for the caller.
A visitor is anybody on this machine, or any web page in its browser.
"""

import errno
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

import trio

from pycodex.protocol.http_head import END, MAX_HEAD_BYTES, Head, parse
from pycodex.supervisor.auth.grants import LoginFailed

HOST = "127.0.0.1"
PORT = 1455
"""The only one that the issuer sends a browser back to."""
_ATTEMPTS = 10
_BETWEEN_ATTEMPTS_S = 0.2
_CANCEL_S = 2.0
_HEAD_S = 10.0
_MOST_SILENT = 16
_OUR_NAMES = (HOST, "localhost")
_TEXTS = {200: "OK", 302: "Found", 400: "Bad Request", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """`then` is done once it was sent, or could not be."""

    status: int = 200
    text: str = ""
    is_html: bool = False
    location: str | None = None
    then: Callable[[], None] | None = None

    def encoded(self) -> bytes:
        body = self.text.encode()
        kind = "text/html" if self.is_html else "text/plain"
        lines = [
            f"HTTP/1.1 {self.status} {_TEXTS[self.status]}",
            f"content-type: {kind}; charset=utf-8",
            f"content-length: {len(body)}",
            "cache-control: no-store",
            "referrer-policy: no-referrer",
            "connection: close",
            *([f"location: {self.location}"] if self.location is not None else []),
        ]
        return "\r\n".join((*lines, "", "")).encode("latin-1") + body


Visit = Callable[[Head], Awaitable[Page]]


async def bind(port: int = PORT) -> trio.SocketListener:
    """Another login that holds the port is asked to give it up. Raises LoginFailed."""
    for attempt in range(_ATTEMPTS):
        try:
            (listener,) = await trio.open_tcp_listeners(port, host=HOST)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise LoginFailed(f"cannot listen on {HOST}:{port}: {error.strerror}") from error
        else:
            return listener
        if attempt == 0:
            await _cancel_other(port)
        await trio.sleep(_BETWEEN_ATTEMPTS_S)
    raise LoginFailed(f"Port {HOST}:{port} is already in use")


async def _cancel_other(port: int) -> None:
    """Whoever is there may be no login at all; then it makes nothing of this."""
    request = f"GET /cancel HTTP/1.1\r\nHost: {HOST}:{port}\r\nConnection: close\r\n\r\n"
    with trio.move_on_after(_CANCEL_S):
        try:
            async with await trio.open_tcp_stream(HOST, port) as stream:
                await stream.send_all(request.encode())
                await stream.receive_some(64)
        except (OSError, trio.BrokenResourceError):
            return


async def serve_visits(listener: trio.SocketListener, visit: Visit) -> None:
    """Until it is cancelled."""
    await trio.serve_listeners(partial(_welcome, visit, {}), [listener])


_Silent = dict[trio.CancelScope, None]
"""Those who have not said yet what they want, the longest waiting first."""


async def _welcome(visit: Visit, silent: _Silent, stream: trio.SocketStream) -> None:
    page = Page(status=400, text="Bad Request")
    try:
        head = await _head(stream, silent)
        if head is not None:
            page = await _page(visit, head)
        await stream.send_all(page.encoded())
        await stream.send_eof()
    except trio.BrokenResourceError:
        # Nobody is there to be told.
        pass
    finally:
        await trio.aclose_forcefully(stream)
        if page.then is not None:
            page.then()


async def _page(visit: Visit, head: Head) -> Page:
    if head.method != "GET":
        return Page(status=405, text="Method Not Allowed")
    # A web page can have a name of its own lead here; then its browser says that name, and nothing else of the page.
    if head.headers.get("host", "").partition(":")[0].lower() not in _OUR_NAMES:
        return Page(status=403, text="Forbidden")
    return await visit(head)


async def _head(stream: trio.SocketStream, silent: _Silent) -> Head | None:
    """Where many come who say nothing, the first of them make room: a browser speaks at once."""
    data = b""
    if len(silent) >= _MOST_SILENT:
        first = next(iter(silent))
        del silent[first]
        first.cancel()
    with trio.move_on_after(_HEAD_S) as scope:
        silent[scope] = None
        try:
            while END not in data and len(data) < MAX_HEAD_BYTES:
                more = await stream.receive_some()
                if not more:
                    break
                data += bytes(more)
        finally:
            silent.pop(scope, None)
    return parse(data) if END in data else None
