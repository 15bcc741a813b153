"""Processes outlive their calls, are told about to the end, and make room for each other."""

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
async def stage_of(pools: Pools, **settings: Any) -> AsyncIterator[Stage]:
    async with pools.open(**settings) as pool, trio.open_nursery() as nursery:
        processes = Processes(OpenPool(pool), nursery.start_soon)
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
        process = await stage.start(command("/bin/sh", "-c", "seq 1 2000000; echo over", merge_streams=True))
        assert await process.wait(FAR)
    text = process.fresh.take()
    assert text.startswith("1\n2\n3\n")
    assert text.endswith("1999999\n2000000\nover\n")
    told = sum(event["type"] == "exec_command_output_delta" for event in stage.events)
    assert told < 1000


async def test_workers_of_ended_processes_are_gone(real_pools: Pools) -> None:
    async with stage_of(real_pools, warm=1) as stage:
        for _ in range(3):
            await stage.keep("/bin/sleep", "1000")
        used = workers_of(stage.pool)
        await stage.processes.end_all()
        await eventually_async(lambda: len(alive(used)) <= 1)
