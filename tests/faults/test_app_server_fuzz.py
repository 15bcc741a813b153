"""Whatever a client sends: the server lives, answers each request once, and goes on answering."""

import itertools
import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
import trio
from trio_websocket import open_websocket_url

from pycodex.supervisor.frontends.app_server.listening import listen
from pycodex.supervisor.model.scripted import Reply, Request, say, serve_script
from support.app_fuzz import THREAD, mutated, odd_messages
from support.app_server import Client, open_app_server
from support.app_server_runs import running_app_server
from support.engine import Place

BATCH = 25
"""So many messages to one thread: many of them end it."""
HARMLESS = [
    b'{"id":"f","method":"thread/list","params":{"limit":3,"sortKey":"created_at"}}',
    b'{"id":"f","method":"model/list","params":{"cursor":null,"includeHidden":true}}',
    b'{"id":"f","method":"getAuthStatus","params":{"includeToken":true}}',
    b'{"method":"initialized"}',
    b'{"id":0,"result":{"decision":"accept"}}',
    b'{"id":"f","method":"thread/start","params":{"config":{"a":[{"b":1.5}]},"ephemeral":true}}',
]


def reply(_: Request) -> Reply:
    return Reply(parts=say("ok"))


def batches(given: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(given), BATCH):
        yield given[start : start + BATCH]


async def check_answers(client: Client, given: Iterable[dict[str, Any]]) -> None:
    """Every request is answered once, however odd; what is none is passed over."""
    ids = (f"fuzz-{number}" for number in itertools.count())
    for batch in batches(list(given)):
        thread_id = await client.start()
        asked: set[str] = set()
        start = len(client.heard)
        for message in batch:
            is_request = isinstance(message.get("method"), str) and "id" not in message
            request_id = next(ids) if is_request else ""
            asked |= {request_id} - {""}
            await client.line(
                json.dumps({"id": request_id, **message} if is_request else message).replace(THREAD, thread_id)
            )
        for request_id in asked:
            while not any(each.get("id") == request_id for each in client.heard[start:]):
                await client.hear()
        await client.call("thread/loaded/list")
        answers = [each["id"] for each in client.heard[start:] if "method" not in each]
        assert len(answers) == len(set(map(str, answers)))


@pytest.mark.timeout(1800)
async def test_odd_messages_in_this_process(
    place: Place, scale: Callable[[int, int], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place.workspace)
    async with open_app_server(place, reply) as scratch:
        await check_answers(await scratch.connect().hello(), odd_messages(scale(300, 5000)))


@pytest.mark.timeout(1800)
async def test_odd_messages_to_a_real_server(place: Place, scale: Callable[[int, int], int]) -> None:
    async with serve_script(reply) as model:
        place.point_at(model.base_url)
        async with running_app_server(place) as server:
            client = await server.client.hello()
            await check_answers(client, odd_messages(scale(300, 5000)))


UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
FRAMES = b"\x81\x82abcd\x1a\x1f" + b"\x89\x80abcd" + b"\x88\x80abcd"


@pytest.mark.timeout(1800)
async def test_broken_handshakes_and_frames(place: Place, scale: Callable[[int, int], int]) -> None:
    chooser = random.Random(5)
    async with open_app_server(place, reply) as scratch:
        url = await scratch.nursery.start(partial(listen, "ws://127.0.0.1:0", scratch.server))
        port = int(url.rpartition(":")[2])
        for _ in range(scale(100, 2000)):
            head = UPGRADE if chooser.randrange(2) else mutated([UPGRADE.replace(b"\n", b"")], chooser)
            frames = FRAMES if chooser.randrange(4) == 0 else mutated([FRAMES], chooser)
            stream = await trio.open_tcp_stream("127.0.0.1", port)
            await stream.send_all(head.replace(b"\r", b"\r\n").replace(b"\n\n", b"\n") + frames)
            with suppress(trio.BrokenResourceError):
                if chooser.randrange(2):
                    await stream.send_eof()
                    while await stream.receive_some():
                        pass
            await trio.aclose_forcefully(stream)
        async with open_websocket_url(url) as socket:
            hello = {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "sane", "version": "1"}}}
            await socket.send_message(json.dumps(hello))
            assert "result" in json.loads(await socket.get_message())


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("is_initialized", [True, False])
async def test_noise_to_a_real_server(place: Place, scale: Callable[[int, int], int], is_initialized: bool) -> None:
    chooser = random.Random(11)
    async with serve_script(reply) as model:
        place.point_at(model.base_url)
        async with running_app_server(place) as server:
            client = server.client
            if is_initialized:
                await client.hello()
            for number in range(scale(300, 5000)):
                noise = chooser.randbytes(chooser.randrange(200)) if number % 3 else mutated(HARMLESS, chooser)
                await client.stream.send_all(noise.replace(b"\n", b" ") + b"\n")
                if number % BATCH == 0:
                    await client.send({"id": f"n{number}", "method": "no-such", "params": {}})
                    while client.heard[-1:] == [] or client.heard[-1].get("id") != f"n{number}":
                        await client.hear()
            if not is_initialized:
                await client.hello()
            thread_id = await client.start()
            await client.turn(thread_id, "still there?")
