"""A command that may be tried twice begins once and ends once, also when nobody waits for it any more."""

import re
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
import trio

from pycodex.protocol.errors import ModelFacing
from pycodex.supervisor.tools.exec_runs import run_for
from pycodex.supervisor.tools.orchestrator import Command
from pycodex.supervisor.tools.processes import Process
from pycodex.supervisor.tools.tool import ToolScope
from support.approvals import (
    BEGIN,
    COMPLETED,
    DECLINED,
    FAILED,
    REQUEST,
    let_go,
    make_fifo,
    silent,
    thinking,
    told_kinds,
)
from support.pools import Pools
from support.tool_calls import WORKSPACE_WRITE, Bench, make_turn, open_bench
from support.waiting import eventually_async

END = "exec_command_end"
DENIED_AT_ONCE = "echo x > ../made && echo through"
DENIED_LATER = f"cat f; {DENIED_AT_ONCE}"

Opened = Callable[..., AbstractAsyncContextManager[Bench]]


@pytest.fixture
def opened(real_pools: Pools, workspace: Path, home: Path) -> Opened:
    @asynccontextmanager
    async def opened(policy: str = "on-failure") -> AsyncIterator[Bench]:
        turn = make_turn(cwd=str(workspace), permissions=WORKSPACE_WRITE, approval_policy=policy)
        async with real_pools.open() as pool, open_bench(pool, home, turn) as bench:
            yield bench

    return opened


async def started(
    bench: Bench, script: str, *, scope: ToolScope | None = None, wait_s: float = 30, cwd: str | None = None
) -> Process:
    terms = Command(argv=("/bin/bash", "-c", script), cwd=cwd or bench.turn.cwd, call_id="c", family="exec_command")
    return await run_for(terms, scope or bench.scope, wait_s=wait_s)


async def interrupted(bench: Bench, script: str, until: Awaitable[object], *, scope: ToolScope | None = None) -> None:
    """Start it, and cancel whoever waits for it once `until` has come."""
    with trio.CancelScope() as turn:
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def cancel() -> None:
                await until
                turn.cancel()

            await started(bench, script, scope=scope)
    assert turn.cancelled_caught


def text_of(process: Process) -> str:
    return process.fresh.take()


async def test_only_the_process_that_counts_is_given_back(opened: Opened) -> None:
    async with opened() as bench:
        bench.decisions += ["approved"]
        process = await started(bench, DENIED_AT_ONCE)
        assert (process.confined, process.exit_code, text_of(process)) == (False, 0, "through\n")
        assert bench.services.processes.kept() == ()


async def test_end_tells_the_process_that_the_beginning_told(opened: Opened) -> None:
    async with opened() as bench:
        bench.decisions += ["approved"]
        await started(bench, "echo plain")
        await started(bench, DENIED_AT_ONCE)
        begins, ends = bench.told(BEGIN), bench.told(END)
    for begin, end in zip(begins, ends, strict=True):
        assert {**end, **begin, "type": END} == end


async def test_process_that_the_sandbox_stopped_cannot_be_found_while_the_person_thinks(
    opened: Opened, workspace: Path
) -> None:
    fifo = make_fifo(workspace, "f")
    async with opened() as bench, trio.open_nursery() as nursery:

        @nursery.start_soon
        async def decline() -> None:
            await eventually_async(bench.services.processes.kept, what="a process that counts as kept")
            await let_go(fifo)
            await bench.until_told(REQUEST)
            assert bench.services.processes.kept() == ()
            bench.pending.answer("c", "denied")

        with pytest.raises(ModelFacing, match="rejected by user"):
            await started(bench, DENIED_LATER, scope=silent(bench))
        assert told_kinds(bench.events) == [BEGIN, REQUEST, DECLINED]


async def test_first_run_that_is_interrupted_goes_on_and_its_end_is_told_and_not_judged(
    opened: Opened, workspace: Path
) -> None:
    fifo = make_fifo(workspace, "f")
    async with opened() as bench:
        await interrupted(bench, DENIED_LATER, bench.until_told(BEGIN))
        assert told_kinds(bench.events) == [BEGIN]
        await let_go(fifo)
        (end,) = await bench.until_told(END)
        assert told_kinds(bench.events) == [BEGIN, FAILED]
    assert end["exit_code"] == 1
    assert not (workspace.parent / "made").exists()


async def test_interrupt_while_another_run_is_asked_about_leaves_the_end_of_the_first(
    opened: Opened, workspace: Path
) -> None:
    async with opened() as bench:
        await interrupted(bench, DENIED_AT_ONCE, bench.until_told(REQUEST), scope=silent(bench))
        (end,) = bench.told(END)
        assert told_kinds(bench.events) == [BEGIN, REQUEST, FAILED]
        assert bench.services.processes.kept() == ()
    assert end["exit_code"] == 1
    assert re.search("Read-only file system|Permission denied", end["aggregated_output"])
    assert not (workspace.parent / "made").exists()


async def test_second_run_that_is_interrupted_goes_on_and_its_end_is_told(opened: Opened, workspace: Path) -> None:
    fifo = make_fifo(workspace, "f")
    made = workspace.parent / "made"
    async with opened() as bench:
        bench.decisions += ["approved"]
        script = "touch ../made || exit; cat f; echo end"
        # Whoever is interrupted before a process is known to have begun takes it along.
        await interrupted(bench, script, eventually_async(bench.services.processes.kept, what="the second run"))
        assert made.exists()
        assert told_kinds(bench.events) == [BEGIN, REQUEST]
        await let_go(fifo)
        (end,) = await bench.until_told(END)
        assert told_kinds(bench.events) == [BEGIN, REQUEST, COMPLETED]
    assert end["aggregated_output"] == "end\n"


async def test_process_on_trial_that_is_ended_with_all_others_is_told_once(opened: Opened, workspace: Path) -> None:
    make_fifo(workspace, "f")
    async with opened() as bench, trio.open_nursery() as nursery:

        @nursery.start_soon
        async def end_all() -> None:
            await bench.until_told("exec_command_output_delta")
            await bench.services.processes.end_all()

        process = await started(bench, f"echo permission denied; {DENIED_LATER}")
        assert process.exited is None
        assert told_kinds(bench.events) == [BEGIN, FAILED]


async def test_second_run_that_cannot_begin_is_told_to_have_ended(opened: Opened, workspace: Path) -> None:
    folder = workspace / "sub"
    folder.mkdir()
    async with opened() as bench:
        bench.decisions += ["approved"]
        scope = thinking(bench, lambda: shutil.rmtree(folder))
        with pytest.raises(ModelFacing, match="No such file or directory"):
            await started(bench, "echo x > ../../made", scope=scope, cwd=str(folder))
        assert told_kinds(bench.events) == [BEGIN, REQUEST, FAILED]


async def test_first_run_that_cannot_begin_is_not_told(opened: Opened, workspace: Path) -> None:
    async with opened() as bench:
        with pytest.raises(ModelFacing, match="No such file or directory"):
            await started(bench, "true", cwd=str(workspace / "none"))
        assert bench.events == []


async def test_processes_that_were_tried_leave_no_place_taken(opened: Opened) -> None:
    async with opened() as bench:
        for decision in ("approved", "denied", "approved_for_session"):
            bench.decisions += [decision]
            try:
                await started(bench, DENIED_AT_ONCE)
            except ModelFacing:
                assert decision == "denied"
        assert bench.services.processes.kept() == ()
        assert len(bench.told(BEGIN)) == len(bench.told(END)) == 3
