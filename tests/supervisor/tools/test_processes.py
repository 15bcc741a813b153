"""Processes outlive their calls, are told about to the end, and make room for each other."""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import trio

from pycodex.protocol.frames import RunCommand
from pycodex.supervisor.tools import processes as subject
from pycodex.supervisor.tools.processes import MAX_KEPT, PROTECTED, WARN_FROM, Origin, Process, Processes
from pycodex.supervisor.tools.spool import MOST_BYTES, Spool, Spools
from pycodex.supervisor.workers.lease import JobFailed, JobRefused, WorkerLost
from pycodex.supervisor.workers.pool import Pool
from support.fake_worker import TERMINAL, command
from support.orders import signal_all
from support.pools import Pools, alive, workers_of
from support.tool_calls import POLICY, OpenPool
from support.waiting import eventually_async

FAR = 1e9


@dataclass
class Stage:
    pool: Pool
    processes: Processes
    nursery: trio.Nursery
    events: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    async def start(self, order: RunCommand) -> Process:
        origin = Origin(
            call_id="call-1",
            turn_id="turn-1",
            argv=order.argv,
            parsed_cmd=({"type": "unknown", "cmd": order.argv[0]},),
            truncation=POLICY,
            emit=lambda event: self.events.append(event.to_wire()),
        )
        return await self.processes.start(order, origin)

    async def keep(self, *argv: str) -> Process:
        process = await self.start(command(*argv))
        self.processes.keep(process, self.warnings.append)
        process.is_known = True
        return process

    def kinds(self) -> list[str]:
        return [event["type"].removeprefix("exec_command_") for event in self.events]


@asynccontextmanager
async def stage_of(pools: Pools, *, spools: Spools | None = None, **settings: Any) -> AsyncIterator[Stage]:
    async with pools.open(**settings) as pool, trio.open_nursery() as nursery:
        processes = Processes(OpenPool(pool), nursery.start_soon, spools)
        yield Stage(pool, processes, nursery)
        await processes.end_all()


async def test_first_starts_may_come_beside_each_other(fake_pools: Pools) -> None:
    async with stage_of(fake_pools) as stage:
        started: list[Process] = []

        async def start() -> None:
            started.append(await stage.start(command("say", "out", "", "0")))

        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(start)
        for process in started:
            assert await process.wait(FAR)
    assert [process.fresh.take() for process in started] == ["out"] * 3


async def test_life_is_told_in_order(fake_pools: Pools) -> None:
    async with stage_of(fake_pools) as stage:
        process = await stage.start(command("say", "out", "err", "3"))
        assert await process.wait(FAR)
    assert stage.kinds() in (["begin", "output_delta", "end"], ["begin", "output_delta", "output_delta", "end"])
    end = stage.events[-1]
    described = {
        "call_id": "call-1",
        "process_id": str(process.process_id),
        "turn_id": "turn-1",
        "command": ["say", "out", "err", "3"],
        "cwd": "/",
        "parsed_cmd": [{"type": "unknown", "cmd": "say"}],
        "source": "unified_exec_startup",
    }
    assert stage.events[0] == {"type": "exec_command_begin", **described}
    assert set(end.pop("duration")) == {"secs", "nanos"}
    assert end == {
        "type": "exec_command_end",
        **described,
        "stdout": "outerr",
        "stderr": "",
        "aggregated_output": "outerr",
        "exit_code": 3,
        "formatted_output": "outerr",
        "status": "failed",
    }
    assert process.fresh.take() == "outerr"


@pytest.mark.parametrize(("behaviour", "error"), [("refuse", JobRefused), ("fail", JobFailed), ("die", WorkerLost)])
async def test_what_cannot_be_started_is_not_told(fake_pools: Pools, behaviour: str, error: type[Exception]) -> None:
    async with stage_of(fake_pools) as stage:
        with pytest.raises(error):
            await stage.start(command(behaviour))
        assert stage.events == []


async def test_caller_that_is_cancelled_before_the_start_takes_the_process_along(
    fake_pools: Pools, tmp_path: Path
) -> None:
    ordered = tmp_path / "ordered"
    order = command("wait_for", str(tmp_path / "never"), str(ordered))
    async with stage_of(fake_pools, warm=0) as stage:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stage.start, order)
            await eventually_async(ordered.exists)
            nursery.cancel_scope.cancel()
        await eventually_async(lambda: not workers_of(stage.pool))
        assert stage.events == []


async def test_lost_worker_is_the_end_without_a_result(fake_pools: Pools) -> None:
    async with stage_of(fake_pools) as stage:
        process = await stage.start(command("hang"))
        signal_all(workers_of(stage.pool), signal.SIGKILL)
        assert await process.wait(FAR)
    assert isinstance(process.lost, WorkerLost)
    assert (stage.events[-1]["exit_code"], stage.events[-1]["status"]) == (-1, "failed")


async def test_every_process_ends_with_the_session(fake_pools: Pools) -> None:
    async with stage_of(fake_pools) as stage:
        kept = [await stage.keep("hang") for _ in range(3)]
        other = await stage.start(command("hang"))
        await stage.processes.end_all()
        assert stage.processes.kept() == ()
        assert all(process.ended.is_set() for process in (*kept, other))
    assert stage.kinds().count("end") == 4


async def test_cancelled_session_ends_its_processes(fake_pools: Pools) -> None:
    async with stage_of(fake_pools) as stage:
        process = await stage.keep("hang")
        stage.nursery.cancel_scope.cancel()
    assert process.ended.is_set()
    assert stage.events[-1]["exit_code"] == -1


async def test_number_of_an_untold_end_is_not_given_again(fake_pools: Pools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pycodex.supervisor.workers.pty.PROCESS_IDS", (1, 2))
    async with stage_of(fake_pools) as stage:
        first = await stage.keep("say", "x")
        assert await first.wait(FAR)
        second = await stage.keep("hang")
        assert {first.process_id, second.process_id} == {1, 2}


async def test_least_recently_used_makes_room(fake_pools: Pools) -> None:
    async with stage_of(fake_pools, max_starting=8) as stage:
        kept = [await stage.keep("hang") for _ in range(MAX_KEPT)]
        counts = range(WARN_FROM, MAX_KEPT + 1)
        for count, warning in zip(counts, stage.warnings, strict=True):
            assert f"is {WARN_FROM} and you currently have {count} processes open. Reuse" in warning
        stage.processes.touch(kept[0])
        await stage.keep("hang")
        assert stage.processes.find(kept[1].process_id) is None
        assert stage.processes.find(kept[0].process_id) is kept[0]
        assert await kept[1].wait(FAR)
        end = stage.events[-1]
        assert (end["process_id"], end["exit_code"], end["status"]) == (str(kept[1].process_id), -1, "failed")
        # One that has ended goes before older ones that have not.
        kept[20].scope.cancel()
        assert await kept[20].wait(FAR)
        await stage.keep("hang")
        assert stage.processes.find(kept[20].process_id) is None
        assert stage.processes.find(kept[2].process_id) is kept[2]
        # But not one of the last that were used.
        last = stage.processes.kept()[-PROTECTED + 1]
        last.scope.cancel()
        assert await last.wait(FAR)
        await stage.keep("hang")
        assert stage.processes.find(last.process_id) is last
        assert stage.processes.find(kept[2].process_id) is None
        assert len(stage.processes.kept()) == MAX_KEPT


async def test_process_that_nobody_knows_is_forgotten_with_its_end(fake_pools: Pools) -> None:
    async with stage_of(fake_pools) as stage:
        process = await stage.start(command("cat", pty=TERMINAL))
        stage.processes.keep(process, stage.warnings.append)
        await stage.processes.write(process, b"bye")
        await eventually_async(lambda: "output_delta" in stage.kinds())
        process.scope.cancel()
        await eventually_async(lambda: stage.processes.kept() == ())
    assert stage.events[-1]["stdout"] == "bye"


async def test_writing_to_what_has_ended_does_no_harm(fake_pools: Pools) -> None:
    async with stage_of(fake_pools) as stage:
        process = await stage.keep("say", "x")
        assert await process.wait(FAR)
        await stage.processes.write(process, b"late")


async def test_flood_is_read_at_a_pace(real_pools: Pools, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything at first; then what the pace allows, and what is newest at the end."""
    monkeypatch.setattr(subject, "PACE_S", 60.0)
    async with stage_of(real_pools) as stage:
        process = await stage.start(command("/bin/sh", "-c", "seq 1 6000000; echo over", merge_streams=True))
        assert await process.wait(FAR)
    text = process.fresh.take()
    assert text.startswith("1\n2\n3\n")
    assert text.endswith("5999999\n6000000\nover\n")
    told = [event["chunk"] for event in stage.events if event["type"] == "exec_command_output_delta"]
    assert sum(map(len, told)) * 3 // 4 < subject.UNPACED_BYTES + 8 * subject.PACE_BYTES


async def test_workers_of_ended_processes_are_gone(real_pools: Pools) -> None:
    async with stage_of(real_pools, warm=1) as stage:
        for _ in range(3):
            await stage.keep("/bin/sleep", "1000")
        used = workers_of(stage.pool)
        await stage.processes.end_all()
        await eventually_async(lambda: len(alive(used)) <= 1)


# Whole outputs


def spooled(home: Path) -> list[Path]:
    return [path for path in (home / "tmp").rglob("*") if path.is_file()]


def content(spool: Spool) -> bytes:
    return Path(spool.path).read_bytes()


def spool_descriptors(home: Path) -> list[str]:
    """Names of those of our open descriptors that lead into the home."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{name}"))
        except FileNotFoundError:
            # That of the listing.
            continue
    return [path for path in found if path.startswith(str(home))]


def numbers(count: int) -> bytes:
    return b"".join(b"%d\n" % number for number in range(1, count + 1))


def seq(count: int, then: str = "true") -> RunCommand:
    return command("/bin/sh", "-c", f"seq 1 {count}; {then}", merge_streams=True, lossless_bytes=MOST_BYTES)


async def test_short_output_is_put_into_a_file_only_when_it_is_asked_for(real_pools: Pools, home: Path) -> None:
    async with stage_of(real_pools, spools=Spools(str(home), "t")) as stage:
        process = await stage.start(seq(1000))
        assert await process.wait(FAR)
        assert spooled(home) == []
        spool = process.spooled()
        assert spool is not None
        assert process.spooled() is spool
        assert spooled(home) == [Path(spool.path)]
        assert content(spool) == numbers(1000)
        assert spool.is_whole
        assert spool_descriptors(home) == [str(home / "tmp" / "outputs" / "t")]


async def test_output_that_memory_does_not_hold_is_in_a_file_from_its_first_byte(real_pools: Pools, home: Path) -> None:
    async with stage_of(real_pools, spools=Spools(str(home), "t")) as stage:
        process = await stage.start(seq(500_000))
        assert await process.wait(FAR)
    (path,) = spooled(home)
    assert path.read_bytes() == numbers(500_000)
    assert str(process.process_id) in path.name


async def test_what_comes_after_the_file_was_begun_gets_into_it(fake_pools: Pools, home: Path) -> None:
    async with stage_of(fake_pools, spools=Spools(str(home), "t")) as stage:
        process = await stage.start(command("cat", pty=TERMINAL))
        said = ""
        for word in ("one", "two", "three"):
            await stage.processes.write(process, word.encode())
            said += await eventually_async(process.fresh.take)
            spool = process.spooled()
        assert said == "onetwothree"
        assert spool is not None
        assert content(spool) == b"onetwothree"


async def test_file_ends_where_output_is_missing(fake_pools: Pools, home: Path) -> None:
    async with stage_of(fake_pools, spools=Spools(str(home), "t")) as stage:
        process = await stage.start(command("gap"))
        assert await process.wait(FAR)
        spool = process.spooled()
        assert spool is not None
        assert content(spool) == b"head"
        assert not spool.is_whole
    assert process.fresh.take() == "headtail"


async def test_more_than_the_limit_is_cut_exactly_there(real_pools: Pools, home: Path) -> None:
    count = 3_000_000
    async with stage_of(real_pools, spools=Spools(str(home), "t")) as stage:
        process = await stage.start(seq(count))
        assert await process.wait(FAR)
        spool = process.spooled()
    assert spool is not None
    assert (spool.kept_bytes, spool.is_whole) == (MOST_BYTES, False)
    assert content(spool) == numbers(count)[:MOST_BYTES]


async def test_without_a_place_for_files_there_are_none(fake_pools: Pools) -> None:
    for spools in (None, Spools("/proc/self", "t")):
        async with stage_of(fake_pools, spools=spools) as stage:
            process = await stage.start(command("say", "out"))
            assert await process.wait(FAR)
            assert process.spooled() is None
            assert process.spooled() is None
            assert process.fresh.take() == "out"


async def test_file_is_closed_with_its_process(real_pools: Pools, home: Path) -> None:
    async with stage_of(real_pools, spools=Spools(str(home), "t")) as stage:
        endings: dict[str, Process] = {}
        for how in ("told", "untold", "stopped", "lost"):
            endings[how] = await stage.start(seq(300_000, "exec sleep 1000" if how in ("stopped", "lost") else "true"))
            stage.processes.keep(endings[how], stage.warnings.append)
        for how in ("told", "untold"):
            assert await endings[how].wait(FAR)
        await eventually_async(lambda: len(spooled(home)) == len(endings))
        stage.processes.forget(endings["told"])
        endings["stopped"].scope.cancel()
        assert await endings["stopped"].wait(FAR)
        signal_all(workers_of(stage.pool), signal.SIGKILL)
        assert await endings["lost"].wait(FAR)
        # Only the directory is left open.
        assert spool_descriptors(home) == [str(home / "tmp" / "outputs" / "t")]
    assert spool_descriptors(home) == []


async def test_running_processes_and_their_files_end_with_the_session(real_pools: Pools, home: Path) -> None:
    async with stage_of(real_pools, spools=Spools(str(home), "t")) as stage:
        for _ in range(2):
            stage.processes.keep(await stage.start(seq(300_000, "exec sleep 1000")), stage.warnings.append)
        await eventually_async(lambda: len(spooled(home)) == 2)
        await stage.processes.end_all()
        assert spool_descriptors(home) == []
