"""`pycodex exec --json` as a real process in a scratch home, beside a model server of the test's own.

Owns how it is started, watched and ended. Knows nothing of what it is told.
"""

import json
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trio

from pycodex.supervisor.model.scripted import serve_script
from support.cli import cli_argv
from support.engine import Place
from support.pools import alive, descendants
from support.waiting import eventually_async

GONE_WITHIN_S = 5.0


@dataclass(frozen=True)
class Ran:
    """How a run ended; `code` is negative if a signal ended it."""

    code: int
    out: bytes
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Every line, the last one whole."""
        assert not self.out or self.out.endswith(b"\n")
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def kinds(self) -> list[str]:
        return [line["type"] for line in self.lines]

    @property
    def errors(self) -> list[str]:
        return [line["message"] for line in self.lines if line["type"] == "error"]

    @property
    def failure(self) -> str:
        """Of a turn that failed, as the last line tells it."""
        assert self.kinds[-1] == "turn.failed", self
        return str(self.lines[-1]["error"]["message"])


def argv_of(*arguments: str) -> list[str]:
    return cli_argv("exec", "--json", *arguments)


async def run_exec(
    place: Place,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    wrap: Sequence[str] = (),
) -> Ran:
    """To the end. `wrap` is a program that starts ours. Nobody may be left, and no traceback be seen."""
    done = await trio.run_process(
        [*wrap, *argv_of(*arguments)],
        cwd=place.workspace,
        env={**place.env, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_stdout=True,
        capture_stderr=True,
        check=False,
    )
    ran = Ran(done.returncode, done.stdout, done.stderr.decode())
    assert "Traceback" not in ran.err, ran.err
    return ran


class Running:
    """A run that the test follows."""

    def __init__(self, process: trio.Process) -> None:
        self.process = process
        self.lines: list[dict[str, Any]] = []
        self._buffer = bytearray()

    @property
    def pid(self) -> int:
        return self.process.pid

    async def line(self) -> dict[str, Any] | None:
        """The next one; None at the end."""
        assert self.process.stdout is not None
        while (end := self._buffer.find(b"\n")) < 0:
            data = await self.process.stdout.receive_some(1 << 16)
            if not data:
                assert not self._buffer
                return None
            self._buffer += data
        line: dict[str, Any] = json.loads(self._buffer[:end])
        del self._buffer[: end + 1]
        self.lines.append(line)
        return line

    async def until(self, kind: str, item: str | None = None) -> dict[str, Any]:
        while (line := await self.line()) is not None:
            if line["type"] == kind and (item is None or line["item"]["type"] == item):
                return line
        raise AssertionError(f"no {kind}: {self.lines}")

    async def ended(self) -> int:
        while await self.line() is not None:
            pass
        return await self.process.wait()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)


@asynccontextmanager
async def running_exec(place: Place, *arguments: str, **options: Any) -> AsyncIterator[Running]:
    """Killed at the end of the block if it still runs; afterwards nobody may be left."""
    settings: dict[str, Any] = {
        "cwd": place.workspace,
        "env": place.env,
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        **options,
    }
    process = await trio.lowlevel.open_process(argv_of(*arguments), **settings)
    everybody: set[int] = set()
    try:
        yield Running(process)
        everybody = descendants(process.pid)
    finally:
        process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()
            if process.stdout is not None:
                await process.stdout.aclose()
    await eventually_async(lambda: not alive(everybody), GONE_WITHIN_S, what="everybody gone")


def thread_id_of(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return str(json.loads(file.readline())["payload"]["id"])


async def resumes(place: Place, path: Path) -> list[dict[str, Any]]:
    """Go on with the session; gives what the model is sent. The model must answer."""
    async with serve_script([]) as server:
        place.point_at(server.base_url)
        ran = await run_exec(place, "resume", thread_id_of(path), "go on")
        assert (ran.code, ran.kinds[-1]) == (0, "turn.completed"), ran
        (request,) = server.requests
        sent: list[dict[str, Any]] = request.body["input"]
        return sent
