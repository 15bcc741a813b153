"""The small server that browsers come back to."""

import select
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import pytest
import trio

from pycodex.protocol.http_head import MAX_HEAD_BYTES, Head
from pycodex.supervisor.auth.callback_server import HOST, Page, bind, serve_visits
from pycodex.supervisor.auth.grants import LoginFailed
from support.issuer import visit


@asynccontextmanager
async def open_server(seen: list[Head]) -> AsyncIterator[int]:
    async def show(head: Head) -> Page:
        seen.append(head)
        return Page(text="shown")

    listener = await bind(0)
    async with listener, trio.open_nursery() as nursery:
        nursery.start_soon(serve_visits, listener, show)
        yield listener.socket.getsockname()[1]
        nursery.cancel_scope.cancel()


async def said(port: int, request: bytes) -> bytes:
    """All that comes back."""
    async with await trio.open_tcp_stream(HOST, port) as stream:
        await stream.send_all(request)
        try:
            return b"".join([bytes(piece) async for piece in stream])
        except trio.BrokenResourceError:
            return b""


async def test_a_visit_is_answered_and_the_connection_closed() -> None:
    seen: list[Head] = []
    async with open_server(seen) as port:
        page = await visit(f"http://localhost:{port}/there?a=b")
    assert (page.status, page.text, page.headers["connection"]) == (200, "shown", "close")
    assert [(head.path, head.query) for head in seen] == [("/there", "a=b")]


@pytest.mark.parametrize(
    ("request_text", "answer"),
    [
        (b"POST /auth/callback HTTP/1.1\r\n\r\n", b"HTTP/1.1 405 Method Not Allowed"),
        (b"nonsense\r\n\r\n", b"HTTP/1.1 400 Bad Request"),
        (b"GET /cancel HTTP/1.1\r\nHost: rebound.example:1455\r\n\r\n", b"HTTP/1.1 403 Forbidden"),
        (b"GET /cancel HTTP/1.1\r\nHost: localhost.rebound.example\r\n\r\n", b"HTTP/1.1 403 Forbidden"),
        (b"GET /cancel HTTP/1.1\r\n\r\n", b"HTTP/1.1 403 Forbidden"),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * MAX_HEAD_BYTES, b""),
    ],
)
async def test_what_is_no_visit_shows_nothing(request_text: bytes, answer: bytes) -> None:
    seen: list[Head] = []
    async with open_server(seen) as port:
        assert (await said(port, request_text)).startswith(answer)
        assert (await visit(f"http://localhost:{port}/")).status == 200
    assert len(seen) == 1


async def test_visitors_who_say_nothing_keep_nobody_out() -> None:
    async with open_server([]) as port, AsyncExitStack() as stack:
        silent = [await stack.enter_async_context(await trio.open_tcp_stream(HOST, port)) for _ in range(40)]
        assert (await visit(f"http://localhost:{port}/")).status == 200
        # Those who came last are still listened to: nobody had to wait until their time was up.
        assert select.select([each.socket.fileno() for each in silent[-15:]], [], [], 0)[0] == []


async def test_a_port_that_is_not_given_up_is_an_error() -> None:
    asked = []

    async def ignore(stream: trio.SocketStream) -> None:
        asked.append(bytes(await stream.receive_some()).split(b"\r\n")[0])

    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, ignore, 0, host=HOST))
        port = listener.socket.getsockname()[1]
        error = ""
        try:
            await bind(port)
        except LoginFailed as failure:
            error = str(failure)
        nursery.cancel_scope.cancel()
    assert (error, asked) == (f"Port {HOST}:{port} is already in use", [b"GET /cancel HTTP/1.1"])
