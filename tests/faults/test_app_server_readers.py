"""Clients that stop reading: dropped on a socket, waited for on standard output; nobody else notices."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Protocol

import psutil
import pytest
import trio
import trio.testing
from trio_websocket import ConnectionClosed, WebSocketConnection, wrap_client_stream

from pycodex.supervisor.frontends.app_server.listening import listen
from pycodex.supervisor.model.scripted import Reply, say, serve_script
from support.app_server import Client, Scratch, open_app_server, text_input, told
from support.app_server_runs import running_app_server
from support.engine import Place, line_kinds, lines_of
from support.waiting import eventually_async

MIB = 1 << 20
HELLO = {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "deaf", "version": "1"}}}
LONG = [part for number in range(40) for part in say(f"{number} " + "x" * MIB)]
"""More than anybody keeps for a client that takes nothing: each text is told as it comes and again at its end."""
FLOOD_BYTES = 8 * MIB
GROWTH_BYTES = 250 * MIB


class Deaf(Protocol):
    """A client that only talks."""

    async def send(self, message: dict[str, Any]) -> None: ...

    async def was_dropped(self) -> None:
        """Read what was on its way, up to the end that comes without our doing."""
        ...


class DeafOnPath:
    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream = stream

    async def send(self, message: dict[str, Any]) -> None:
        await self._stream.send_all(json.dumps(message).encode() + b"\n")

    async def was_dropped(self) -> None:
        try:
            while await self._stream.receive_some(1 << 16):
                pass
        except trio.BrokenResourceError:
            pass


class DeafOnWebSocket:
    def __init__(self, socket: WebSocketConnection) -> None:
        self._socket = socket

    async def send(self, message: dict[str, Any]) -> None:
        await self._socket.send_message(json.dumps(message))

    async def was_dropped(self) -> None:
        try:
            while True:
                await self._socket.get_message()
        except ConnectionClosed:
            pass


@asynccontextmanager
async def deaf_client(scratch: Scratch, kind: str) -> AsyncIterator[Deaf]:
    url = "ws://127.0.0.1:0" if kind == "ws" else f"unix://{scratch.place.runtime}/s"
    async with trio.open_nursery() as nursery:
        url = await nursery.start(partial(listen, url, scratch.server))
        if kind == "ws":
            host, _, port = url.removeprefix("ws://").rpartition(":")
            async with await trio.open_tcp_stream(host, int(port)) as stream:
                yield DeafOnWebSocket(await wrap_client_stream(nursery, stream, host, "/"))
        else:
            async with await trio.open_unix_socket(url.removeprefix("unix://")) as stream:
                yield DeafOnPath(stream)
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("kind", ["unix", "ws"])
async def test_follower_that_does_not_read_is_dropped(place: Place, kind: str) -> None:
    async with open_app_server(place, [Reply(parts=LONG)]) as scratch, deaf_client(scratch, kind) as deaf:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        live = scratch.server.live.get(thread_id)
        assert live is not None
        await deaf.send(HELLO)
        await deaf.send({"id": 2, "method": "thread/resume", "params": {"threadId": thread_id}})
        await eventually_async(lambda: len(live.followers) == 2, what="both follow")
        messages = await client.turn(thread_id, "hi")
        assert told(messages).count("item/completed agentMessage") == 40
        await eventually_async(lambda: len(live.followers) == 1, what="one was dropped")
        await deaf.was_dropped()
        await client.call("thread/loaded/list")


@pytest.mark.parametrize("kind", ["unix", "ws"])
async def test_answers_that_nobody_reads_do_not_pile_up(place: Place, kind: str) -> None:
    """Each would be ten times as long as its file, were it not waited for."""
    file = place.workspace / "large"
    file.write_bytes(b"x" * FLOOD_BYTES)
    async with open_app_server(place, []) as scratch, deaf_client(scratch, kind) as deaf:
        client = await scratch.connect().hello()
        await deaf.send(HELLO)
        before = psutil.Process().memory_info().rss
        for number in range(100):
            await deaf.send({"id": number, "method": "fs/readFile", "params": {"path": str(file)}})
        await trio.testing.wait_all_tasks_blocked(0.2)
        await client.call("thread/loaded/list")
        assert psutil.Process().memory_info().rss - before < GROWTH_BYTES


async def test_client_on_standard_output_is_waited_for_and_the_turn_is_not_held_up(place: Place) -> None:
    async with serve_script([Reply(parts=[*LONG, *say("end")])]) as model:
        place.point_at(model.base_url)
        async with running_app_server(place) as server:
            client: Client = await server.client.hello()
            thread_id = await client.start()
            await client.send(
                {
                    "id": "t",
                    "method": "turn/start",
                    "params": {"threadId": thread_id, "input": [text_input("hi")]},
                }
            )
            # It reads nothing until the turn has ended.
            await eventually_async(place.sessions)
            (path,) = place.sessions()
            await eventually_async(lambda: b'"task_complete"' in path.read_bytes()[-4096:], what="the turn's end")
            await client.until("turn/completed", threadId=thread_id)
            assert told(client.heard).count("item/completed agentMessage") == 41
    assert line_kinds(lines_of(path))[-1] == "task_complete"
