"""Calls end with a result or a clear error, whatever workers do; nothing is left behind."""

import os
import signal
from pathlib import Path

import pytest
import trio
import trio.testing

from pycodex.protocol.confinement import Confinement
from pycodex.protocol.errors import UserFacing
from pycodex.protocol.frames import Exited, Failed, Output, Refused, RunCommand, Started
from pycodex.supervisor.workers.capture import Captured
from pycodex.supervisor.workers.lease import JobFailed, JobRefused, PoolClosed, WorkerLost
from pycodex.supervisor.workers.pool import Pool
from support.fake_worker import command
from support.pools import Pools, workers_of
from support.waiting import eventually_async


async def test_result_has_both_streams_and_the_code(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool:
        done = await pool.run(command("say", "out", "err", "3"))
    assert (done.code, done.signal) == (3, None)
    assert done.stdout == Captured(b"out")
    assert done.stderr == Captured(b"err")
    assert done.exited.code == 3


async def test_dropped_middle_is_told(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool:
        assert (await pool.run(command("gap"))).stdout == Captured(b"head", 100, b"tail")


@pytest.mark.parametrize(
    ("behaviour", "error", "text"),
    [
        ("refuse", JobRefused, "no user namespaces"),
        ("fail", JobFailed, "nonesuch"),
        ("die", WorkerLost, "killed by signal 9"),
        ("flood", WorkerLost, "more output than"),
        ("garbage_for_ever", WorkerLost, "broke the protocol"),
    ],
)
async def test_call_without_a_result_ends_with_its_error(
    fake_pools: Pools, behaviour: str, error: type[Exception], text: str
) -> None:
    async with fake_pools.open() as pool:
        with pytest.raises(error, match=text):
            await pool.run(command(behaviour))
        assert (await pool.run(command("say", "after"))).stdout.data == b"after"


async def test_failed_start_tells_its_errno(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool:
        with pytest.raises(JobFailed) as raised:
            await pool.run(command("fail"))
    assert raised.value.errno == 2


async def test_result_of_a_worker_that_exits_at_once_is_not_lost(fake_pools: Pools) -> None:
    """The zygote's news of the death may overtake the result."""
    async with fake_pools.open() as pool, trio.open_nursery() as nursery:

        async def call() -> None:
            done = await pool.run(command("last_words"))
            assert done.code == 5
            assert len(done.stdout.data) == 100_000

        for _ in range(40):
            nursery.start_soon(call)


@pytest.mark.parametrize("lie", ["garbage", "parts", "greeting", "stream", "sequence", "both", "late"])
async def test_lies_are_dropped_and_the_honest_rest_counts(fake_pools: Pools, lie: str) -> None:
    async with fake_pools.open() as pool:
        done = await pool.run(command("lie", lie))
    assert done.stdout == Captured(b"honest")
    assert done.code == 0


async def test_huge_frame_costs_the_worker_its_connection(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool:
        with pytest.raises(WorkerLost):
            await pool.run(command("lie", "huge"))
        assert (await pool.run(command("say", "after"))).stdout.data == b"after"


async def test_worker_cannot_speak_for_another_job(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool, pool.running(command("cat", job_id="victim")) as victim:
        await pool.run(command("lie", "job", "victim"))
        await victim.write(b"true", close=True)
        facts = [fact async for fact in victim]
    assert [fact.data for fact in facts if isinstance(fact, Output)] == [b"true"]


async def test_running_job_is_read_and_written(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool, pool.running(command("cat")) as job:
        await job.write(b"one")
        facts = []
        async for fact in job:
            facts.append(fact)
            if isinstance(fact, Output) and fact.data == b"one":
                await job.write(b"two", close=True)
    assert isinstance(facts[0], Started)
    assert b"".join(fact.data for fact in facts if isinstance(fact, Output)) == b"onetwo"
    assert isinstance(facts[-1], Exited)


@pytest.mark.parametrize(("behaviour", "kind"), [("refuse", Refused), ("fail", Failed)])
async def test_running_job_that_never_started_tells_so_as_a_fact(
    fake_pools: Pools, behaviour: str, kind: type[object]
) -> None:
    async with fake_pools.open() as pool, pool.running(command(behaviour)) as job:
        facts = [fact async for fact in job]
    assert [type(fact) for fact in facts] == [kind]


async def test_many_tiny_pieces_for_a_late_reader_are_all_there(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool, pool.running(command("drip", "20000")) as job:
        await job.wait()
        pieces = [fact async for fact in job if isinstance(fact, Output)]
    assert sum(len(fact.data) for fact in pieces if fact.stream == "stdout") == 10_000
    assert sum(len(fact.data) for fact in pieces if fact.stream == "stderr") == 10_000


async def test_reader_that_does_not_read_delays_nobody_and_its_flood_is_cut(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool, pool.running(command("flood")) as slow, pool.running(command("gaps")) as gaps:
        for number in range(5):
            done = await pool.run(command("say", str(number)))
            assert done.stdout.data == str(number).encode()
        assert isinstance(await slow.wait(), WorkerLost)
        assert isinstance(await gaps.wait(), WorkerLost)


async def test_leaving_the_block_stops_the_job(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool:
        async with pool.running(command("hang")) as job:
            pass
        assert isinstance(job.end, Exited)
        assert job.end.reason == "cancelled"


async def started_pid(job: object) -> int:
    async for fact in job:  # type: ignore[attr-defined]
        if isinstance(fact, Started):
            return fact.pid
    raise AssertionError("it never started")


async def test_cancelled_caller_stops_its_job_and_goes_on_at_once(fake_pools: Pools, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    async with fake_pools.open() as pool:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(pool.run, command("hang"))
                nursery.start_soon(pool.run, command("wait_for", "/nonesuch", str(begun)))
                await eventually_async(begun.exists)
                scope.cancel()
        assert scope.cancelled_caught
        assert (await pool.run(command("say", "after"))).stdout.data == b"after"


async def test_worker_that_ignores_the_stop_is_killed(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool:
        async with pool.running(command("deaf")) as job:
            pid = await started_pid(job)
        assert isinstance(job.end, WorkerLost)
        assert "did not stop" in str(job.end)
        await eventually_async(lambda: not os.path.exists(f"/proc/{pid}"))


async def test_worker_that_is_killed_loses_its_call_only(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool, pool.running(command("cat")) as other, pool.running(command("hang")) as job:
        os.kill(await started_pid(job), signal.SIGKILL)
        with pytest.raises(WorkerLost, match="killed by signal 9 without a result"):
            async for _ in job:
                pass
        await other.write(b"alive", close=True)
        assert isinstance(await other.wait(), Exited)


async def test_sessions_take_turns_at_a_full_pool(fake_pools: Pools, tmp_path: Path) -> None:
    order: list[str] = []
    async with fake_pools.open(max_running=1) as pool:

        async def call(session_id: str, behaviour: RunCommand) -> None:
            await pool.run(behaviour, session_id=session_id)
            order.append(session_id)

        async with trio.open_nursery() as nursery:
            gate, begun = tmp_path / "gate", tmp_path / "begun"
            nursery.start_soon(call, "first", command("wait_for", str(gate), str(begun)))
            await eventually_async(begun.exists)
            for session_id in ("greedy", "greedy", "greedy", "greedy", "modest"):
                nursery.start_soon(call, session_id, command("true"))
                await trio.testing.wait_all_tasks_blocked(0.001)
            gate.touch()
    assert order == ["first", "greedy", "modest", "greedy", "greedy", "greedy"]


async def test_no_more_than_the_limit_run_at_once(fake_pools: Pools, tmp_path: Path) -> None:
    async with fake_pools.open(max_running=3) as pool, trio.open_nursery() as nursery:
        gate = tmp_path / "gate"
        for number in range(8):
            nursery.start_soon(pool.run, command("wait_for", str(gate), str(tmp_path / f"begun{number}")))
        await eventually_async(lambda: len(os.listdir(tmp_path)) == 3)
        await trio.testing.wait_all_tasks_blocked(0.05)
        assert len(os.listdir(tmp_path)) == 3
        gate.touch()
    assert len(os.listdir(tmp_path)) == 9


async def test_cancelled_while_waiting_for_a_place_takes_none(fake_pools: Pools, tmp_path: Path) -> None:
    gate, begun = tmp_path / "gate", tmp_path / "begun"
    async with fake_pools.open(max_running=1) as pool, trio.open_nursery() as nursery:
        nursery.start_soon(pool.run, command("wait_for", str(gate), str(begun)))
        await eventually_async(begun.exists)
        with trio.move_on_after(0.01) as scope:
            await pool.run(command("true"))
        assert scope.cancelled_caught
        gate.touch()
        assert (await pool.run(command("true"))).code == 0


async def test_many_calls_at_once_all_end(fake_pools: Pools, soak: bool) -> None:
    done: list[bytes] = []
    async with fake_pools.open() as pool:

        async def call(number: int) -> None:
            result = await pool.run(command("say", str(number)), session_id=str(number % 7))
            done.append(result.stdout.data)

        async with trio.open_nursery() as nursery:
            for number in range(1000 if soak else 150):
                nursery.start_soon(call, number)
    assert sorted(done) == sorted(str(number).encode() for number in range(1000 if soak else 150))


async def test_file_job_gives_its_decoded_answer(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool:
        answer = (await pool.run_file_job("echo", {"path": "/x", "n": 1}, cwd="/", confinement=Confinement())).value
    assert answer == {"name": "echo", "arguments": {"path": "/x", "n": 1}}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nonsense", "makes no sense"),
        ("list", "makes no sense"),
        ("neither", "makes no sense"),
        ("silent", "makes no sense"),
        ("truncated", "exceeds"),
        ("mistaken", "no such line"),
        ("broken", "code 3: Traceback"),
    ],
)
async def test_file_job_without_a_usable_answer_fails(fake_pools: Pools, name: str, text: str) -> None:
    async with fake_pools.open() as pool:
        with pytest.raises(JobFailed, match=text):
            await pool.run_file_job(name, {}, cwd="/", confinement=Confinement())


async def test_closing_ends_what_runs_and_what_waits(fake_pools: Pools, tmp_path: Path) -> None:
    ends: dict[str, object] = {}

    async def call(pool: Pool, behaviour: str) -> None:
        arguments = [str(tmp_path / behaviour)] if behaviour != "true" else []
        try:
            ends[behaviour] = (await pool.run(command(behaviour, *arguments))).exited.reason
        except (PoolClosed, WorkerLost) as error:
            ends[behaviour] = type(error)

    async with trio.open_nursery() as nursery:
        async with fake_pools.open(max_running=2) as pool:
            for behaviour in ("hang", "deaf"):
                nursery.start_soon(call, pool, behaviour)
                await eventually_async((tmp_path / behaviour).exists)
            nursery.start_soon(call, pool, "true")
            await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(PoolClosed):
            await pool.run(command("true"))
    assert ends == {"hang": "shutdown", "deaf": WorkerLost, "true": PoolClosed}


async def test_cancelling_the_whole_pool_leaves_nothing(fake_pools: Pools) -> None:
    with trio.CancelScope() as scope:
        async with fake_pools.open() as pool, trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(pool.run, command("hang"))
            await eventually_async(lambda: len(workers_of(pool)) >= 5)
            scope.cancel()
    assert scope.cancelled_caught


async def test_error_in_the_block_comes_out_as_it_is(fake_pools: Pools) -> None:
    with pytest.raises(UserFacing, match="mine"):
        async with fake_pools.open():
            raise UserFacing("mine")


async def test_pool_that_is_closed_at_once_leaves_nothing(fake_pools: Pools) -> None:
    async with fake_pools.open():
        pass
