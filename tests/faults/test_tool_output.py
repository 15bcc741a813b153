"""Whatever commands print, and however many of them, memory stays bounded and answers stay right."""

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest
import trio

from pycodex.protocol.permissions import Permissions
from support.marked import Mark
from support.pools import Pools
from support.tool_calls import FULL_ACCESS, WORKSPACE_WRITE, Bench, make_turn, open_bench
from support.waiting import eventually_async

MIB = 1 << 20
KEPT_BYTES = 1 << 20
SPOOLED_BYTES = 16 << 20
# What is kept of the output, what the events hold in this test, and what Python does not give back.
ROOM_BYTES = 160 * MIB
POLL_S = 0.01


@asynccontextmanager
async def opened(pools: Pools, base: Path, permissions: Permissions = WORKSPACE_WRITE) -> AsyncIterator[Bench]:
    workspace, home = base / "ws", base / "home"
    for folder in (workspace, home):
        folder.mkdir()
    turn = make_turn(cwd=str(workspace), permissions=permissions)
    async with pools.open() as pool, open_bench(pool, home, turn) as bench:
        yield bench


class Peak:
    """The most memory that this process was seen to take."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self.start_bytes = self.most_bytes = self._process.memory_info().rss

    async def watch(self) -> None:
        while True:
            self.most_bytes = max(self.most_bytes, self._process.memory_info().rss)
            await trio.sleep(POLL_S)

    @property
    def grown_bytes(self) -> int:
        return self.most_bytes - self.start_bytes


async def run_to_the_end(bench: Bench, cmd: str) -> list[str]:
    """All answers, from the first to the one that tells the end."""
    answers = [await bench.run(cmd, yield_time_ms=30_000)]
    while (running := re.search(r"session ID (\d+)", answers[-1])) is not None:
        answers.append(await bench.call("write_stdin", session_id=int(running[1]), yield_time_ms=60_000))
    return answers


def size_of(path: str) -> int:
    return Path(path).stat().st_size


FLOODS = {
    "one line": "head -c {size} /dev/zero | tr '\\0' x",
    "many lines": "yes 'a line of some length' | head -c {size}",
    "binary": "head -c {size} /dev/zero",
    "no UTF-8": "head -c {size} /dev/zero | tr '\\0' '\\377'",
    "half characters": "yes 'é€😀' | head -c {size}",
}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", FLOODS)
async def test_flood_of_output_is_bounded_in_memory_and_on_disk(
    real_pools: Pools, tmp_path: Path, scale: Callable[[int, int], int], kind: str
) -> None:
    size = scale(48, 4096 if kind == "many lines" else 1024) * MIB
    async with opened(real_pools, tmp_path) as bench, trio.open_nursery() as nursery:
        await bench.run("true")
        peak = Peak()
        nursery.start_soon(peak.watch)
        answers = await run_to_the_end(bench, f"set -o pipefail; {FLOODS[kind].format(size=size)} || test $? = 141")
        nursery.cancel_scope.cancel()
    assert "\nProcess exited with code 0\n" in answers[-1]
    assert peak.grown_bytes < ROOM_BYTES
    (named,) = {found[1] for answer in answers if (found := re.search(r"\nFull output: (\S+)", answer))}
    assert size_of(named) == SPOOLED_BYTES
    ended = bench.told("exec_command_end")[-1]
    assert len(ended["stdout"]) <= KEPT_BYTES


async def test_what_comes_after_the_exit_is_told(real_pools: Pools, tmp_path: Path) -> None:
    """Unconfined, where a process may outlive the command that started it."""
    script = "(while kill -0 $$ 2>/dev/null; do :; done; printf late) & exit 3"
    async with opened(real_pools, tmp_path, FULL_ACCESS) as bench:
        answer = json.loads(await bench.call("shell", command=["sh", "-c", script]))
    assert (answer["output"], answer["metadata"]["exit_code"]) == ("late", 3)


@pytest.mark.timeout(300)
async def test_two_hundred_commands_leave_only_those_that_may_stay(real_pools: Pools, tmp_path: Path) -> None:
    mark = Mark()
    async with opened(real_pools, tmp_path) as bench:
        async with trio.open_nursery() as nursery:
            limit = trio.CapacityLimiter(32)

            async def start() -> None:
                async with limit:
                    answer = await bench.run(f"sleep {mark}", yield_time_ms=250)
                    assert "session ID" in answer

            for _ in range(200):
                nursery.start_soon(start)
        assert len(bench.services.processes.kept()) == 64
        await eventually_async(lambda: len(mark.sleepers()) == 64)
        assert len({ended["call_id"] for ended in await bench.until_told("exec_command_end", count=136)}) == 136
        await bench.services.processes.end_all()
        assert not mark.alive()
