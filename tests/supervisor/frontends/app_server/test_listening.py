"""Clients on sockets: who may come in, by which words, and how the server ends."""

import json
import os
import signal
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest
import trio
from trio_websocket import open_websocket_url

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.frontends.app_server.listening import listen, serve_listening, token_in
from pycodex.supervisor.frontends.app_server.server import AppServer
from pycodex.supervisor.model.scripted import Reply, Until, say
from support.app_server import Client, Scratch, open_app_server, text_input
from support.engine import Place

HELLO = {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "socket", "version": "1"}}}


async def address(scratch: Scratch, url: str = "ws://127.0.0.1:0") -> str:
    found: str = await scratch.nursery.start(partial(listen, url, scratch.server))
    return found


async def status(url: str, request: str) -> str:
    host, _, port = url.removeprefix("ws://").rpartition(":")
    async with await trio.open_tcp_stream(host, int(port)) as stream:
        await stream.send_all(request.replace("\n", "\r\n").encode() + b"\r\n\r\n")
        data = b""
        while more := await stream.receive_some():
            data += more
    return data.split(b" ")[1].decode()


async def connected(path: str) -> trio.SocketStream:
    """Once somebody listens there."""
    while True:
        try:
            return await trio.open_unix_socket(path)
        except OSError:
            await trio.lowlevel.checkpoint()


async def test_frames_are_messages_and_clients_come_and_go(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        url = await address(scratch)
        for _ in range(2):
            async with open_websocket_url(url) as socket:
                await socket.send_message(json.dumps(HELLO))
                assert json.loads(await socket.get_message())["result"]["platformFamily"] == "unix"


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ("GET /readyz HTTP/1.1\nHost: x", "200"),
        ("GET /healthz HTTP/1.1\nHost: x", "200"),
        ("GET / HTTP/1.1\nHost: x", "400"),
        ("GET /readyz HTTP/1.1\nOrigin: http://evil.example", "403"),
        ("GET / HTTP/1.1\nUpgrade: websocket\nConnection: upgrade\nOrigin: http://evil.example", "403"),
        ("nonsense", "400"),
    ],
)
async def test_what_is_no_websocket_is_answered(place: Place, request_: str, expected: str) -> None:
    async with open_app_server(place, []) as scratch:
        assert await status(await address(scratch), request_) == expected


async def test_elsewhere_is_let_in_by_token_only(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        url = (await address(scratch, "ws://0.0.0.0:0")).replace("0.0.0.0", "127.0.0.1")
        upgrade = "GET / HTTP/1.1\nUpgrade: websocket\nConnection: upgrade"
        assert await status(url, upgrade) == "401"
        assert await status(url, f"{upgrade}\nAuthorization: Bearer wrong") == "401"
        token = token_in(str(place.home))
        assert stat.S_IMODE((place.home / "app-server-token").stat().st_mode) == 0o600
        async with open_websocket_url(url, extra_headers=[(b"Authorization", f"Bearer {token}".encode())]) as socket:
            await socket.send_message(json.dumps(HELLO))
            assert "result" in json.loads(await socket.get_message())


@asynccontextmanager
async def listening_on(path: str, server: AppServer) -> AsyncIterator[None]:
    async with trio.open_nursery() as nursery:
        await nursery.start(partial(listen, f"unix://{path}", server))
        yield
        nursery.cancel_scope.cancel()


async def test_path_takes_lines_and_is_for_the_user_alone(place: Place) -> None:
    path = f"{place.runtime}/s"
    async with open_app_server(place, []) as scratch:
        async with listening_on(path, scratch.server), await trio.open_unix_socket(path) as stream:
            assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
            client = await Client(stream, cwd=place.workspace).hello()
            assert await client.call("thread/loaded/list") == {"data": [], "nextCursor": None}
        assert "s" not in os.listdir(place.runtime)


async def test_path_of_another_server_is_left_to_it(place: Place) -> None:
    path = f"{place.runtime}/s"
    async with open_app_server(place, []) as scratch, listening_on(path, scratch.server):
        with pytest.RaisesGroup(pytest.RaisesExc(UserFacing, match="cannot listen on unix://")):
            async with listening_on(path, scratch.server):
                raise AssertionError("two servers on one path")
        async with await trio.open_unix_socket(path) as stream:
            await Client(stream).hello()


async def test_socket_that_nobody_listens_on_is_in_nobodys_way(place: Place) -> None:
    path = f"{place.runtime}/s"
    with trio.socket.socket(trio.socket.AF_UNIX) as left_behind:
        await left_behind.bind(path)
    async with (
        open_app_server(place, []) as scratch,
        listening_on(path, scratch.server),
        await trio.open_unix_socket(path) as stream,
    ):
        await Client(stream).hello()


async def test_first_signal_lets_turns_finish(place: Place) -> None:
    go_on, ended = trio.Event(), trio.Event()
    path = f"{place.runtime}/s"
    async with open_app_server(place, [Reply(parts=[Until(go_on), *say("done")])]) as scratch:

        @asynccontextmanager
        async def opened() -> AsyncIterator[AppServer]:
            yield scratch.server

        async def serve() -> None:
            await serve_listening(f"unix://{path}", opened)
            ended.set()

        scratch.nursery.start_soon(serve)
        async with await connected(path) as stream:
            client = await Client(stream, cwd=place.workspace).hello()
            thread_id = await client.start()
            await client.call("turn/start", threadId=thread_id, input=[text_input("go")])
            await client.until("turn/started")
            os.kill(os.getpid(), signal.SIGTERM)
            await client.call("thread/loaded/list")
            assert not ended.is_set()
            go_on.set()
            completed = await client.until("turn/completed")
            assert completed["turn"]["status"] == "completed"
            await ended.wait()
