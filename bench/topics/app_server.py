"""`pycodex app-server` as a process: what an idle thread costs, how many requests it takes, how soon a turn asks."""

import json
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psutil
import trio

from bench.figures import Figure, Topic, at_most, timing
from bench.measure import elapsed_ms, spread_of
from bench.processes import uss_bytes
from bench.scene import Scene
from bench.turns import CONFIG
from pycodex.supervisor.model.scripted import Reply, Request, say, serve_script

THREADS = 1000
REQUESTS = 2000
TURNS = 30
MAX_THREAD_KIB = 200
KIB = 1 << 10


class Talk:
    """The client's side, one request at a time."""

    def __init__(self, process: trio.Process) -> None:
        self.process = process
        self._buffer = bytearray()
        self._last_id = 0

    async def call(self, method: str, /, **params: Any) -> Any:
        self._last_id += 1
        await self.send({"id": self._last_id, "method": method, "params": params})
        while (message := await self.message()).get("id") != self._last_id:
            pass
        return message["result"]

    async def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        await self.process.stdin.send_all(json.dumps(message).encode() + b"\n")

    async def message(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        while (end := self._buffer.find(b"\n")) < 0:
            self._buffer += await self.process.stdout.receive_some(1 << 16)
        message: dict[str, Any] = json.loads(self._buffer[:end])
        del self._buffer[: end + 1]
        return message

    async def until(self, method: str) -> None:
        while (await self.message()).get("method") != method:
            pass

    async def start(self, scene: Scene) -> str:
        started = await self.call("thread/start", cwd=str(scene.workspace), approvalPolicy="never")
        thread_id: str = started["thread"]["id"]
        return thread_id


@asynccontextmanager
async def _talk(scene: Scene) -> AsyncIterator[Talk]:
    process = await trio.lowlevel.open_process(
        [*scene.pycodex, "app-server"],
        cwd=scene.workspace,
        env=scene.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    talk = Talk(process)
    try:
        await talk.call("initialize", clientInfo={"name": "bench", "version": "1"})
        yield talk
    finally:
        with trio.CancelScope(shield=True):
            assert process.stdin is not None
            await process.stdin.aclose()
            await process.wait()


async def measure(scene: Scene) -> list[Figure]:
    asked_at: list[float] = []

    def answer(request: Request) -> Reply:
        if not request.path.endswith("/responses"):
            return Reply(status=404, body=b"{}")
        asked_at.append(time.perf_counter())
        return Reply(parts=say("done"))

    config = scene.codex_home / "config.toml"
    async with serve_script(answer) as model:
        config.write_text(CONFIG.format(base_url=model.base_url, model="gpt-5.4", settings=""), encoding="utf-8")
        try:
            async with _talk(scene) as talk:
                return [
                    *(await _turns(scene, talk, asked_at)),
                    await _requests(scene, talk),
                    *(await _memory(scene, talk)),
                ]
        finally:
            config.unlink()


async def _turns(scene: Scene, talk: Talk, asked_at: list[float]) -> list[Figure]:
    thread_id = await talk.start(scene)
    took_ms = []
    for _ in range(scene.scaled(TURNS, 3)):
        start = time.perf_counter()
        text = {"type": "text", "text": "go", "text_elements": []}
        await talk.call("turn/start", threadId=thread_id, input=[text])
        await talk.until("turn/completed")
        took_ms.append((asked_at[-1] - start) * 1000)
    # The first one also makes the connection.
    return [
        Figure("turn/start to model request, first turn", took_ms[0]),
        timing("turn/start to model request, later turns", spread_of(took_ms[1:])),
    ]


async def _requests(scene: Scene, talk: Talk) -> Figure:
    count = scene.scaled(REQUESTS, 200)
    start = time.perf_counter()
    for _ in range(count):
        await talk.call("thread/loaded/list")
    return Figure("thread/loaded/list, one after the other", count / (elapsed_ms(start) / 1000), unit="requests/s")


async def _memory(scene: Scene, talk: Talk) -> list[Figure]:
    count = scene.scaled(THREADS, 50)
    process = psutil.Process(talk.process.pid)
    await talk.start(scene)
    before = uss_bytes(process)
    start = time.perf_counter()
    for _ in range(count):
        await talk.start(scene)
    took_ms = elapsed_ms(start)
    each_kib = (uss_bytes(process) - before) / count / KIB
    return [
        Figure(
            "memory (USS) of an idle thread",
            each_kib,
            unit="KiB",
            goals=(at_most(f"<= {MAX_THREAD_KIB} KiB", each_kib, MAX_THREAD_KIB),),
            note=f"mean of {count} threads",
        ),
        Figure("thread/start", took_ms / count, note=f"mean of {count}"),
    ]


TOPIC = Topic("app-server", "threads and requests of one app-server", measure)
