"""A zygote that dies is replaced; its calls fail clearly and its workers do not survive it."""

import os
import signal
import sys

import pytest
import trio
import trio.testing

from pycodex.protocol.frames import Started
from pycodex.supervisor.workers.launch import Launched
from pycodex.supervisor.workers.lease import WorkerLost
from pycodex.supervisor.workers.pool import open_pool
from support.fake_worker import command, launcher
from support.pools import Pools, alive, workers_of
from support.waiting import eventually_async


async def test_calls_of_a_killed_zygote_fail_and_the_next_ones_work(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool, pool.running(command("hang")) as job:
        async for fact in job:
            if isinstance(fact, Started):
                break
        first, workers = pool.zygote_pid, workers_of(pool)
        assert first is not None
        os.kill(first, signal.SIGKILL)
        with pytest.raises(WorkerLost, match="killed by signal 9"):
            async for _ in job:
                pass
        assert (await pool.run(command("say", "after"))).stdout.data == b"after"
        assert pool.zygote_pid not in (None, first)
        await eventually_async(lambda: not alive(workers))


async def test_call_that_waits_for_a_worker_survives_the_zygote(fake_pools: Pools) -> None:
    """It was sent to nobody, so it may be given to the next zygote's worker."""
    async with fake_pools.open(warm=0) as pool:
        await pool.run(command("true"))
        assert pool.zygote_pid is not None
        os.kill(pool.zygote_pid, signal.SIGSTOP)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(pool.run, command("true"))
            await trio.testing.wait_all_tasks_blocked(0.01)
            os.kill(pool.zygote_pid, signal.SIGKILL)


async def test_zygote_that_keeps_dying_is_told_and_tried_again_later(fake_pools: Pools) -> None:
    launches = []
    healthy = launcher()
    dead = launcher("dead")

    def launch() -> Launched:
        launches.append(1)
        return dead() if len(launches) <= 5 else healthy()

    async with fake_pools.open(launch=launch) as pool:
        with pytest.raises(WorkerLost, match=r"exited with code 7 .*5 times in a row"):
            await pool.run(command("true"))
        assert len(launches) == 5
        assert (await pool.run(command("true"))).code == 0


async def test_zygote_that_cannot_be_started_is_told(fake_pools: Pools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nonesuch/python")
    async with fake_pools.open() as pool:
        with pytest.raises(WorkerLost, match="could not be started: No such file"):
            await pool.run(command("true"))


async def test_zygote_started_early_is_used(runtime_base: str) -> None:
    early = launcher()()

    def never() -> Launched:
        raise AssertionError("a second zygote was started")

    async with open_pool(env={"XDG_RUNTIME_DIR": runtime_base}, launched=early, launch=never) as pool:
        await pool.run(command("true"))
        assert pool.zygote_pid == early.pid
        assert pool.host is not None


async def test_children_that_are_not_workers_are_left_alone(fake_pools: Pools) -> None:
    async with trio.open_nursery() as nursery:
        bystander = await nursery.start(trio.run_process, ["sleep", "60"])
        async with fake_pools.open() as pool:
            await pool.run(command("true"))
            first = pool.zygote_pid
            assert first is not None
            os.kill(first, signal.SIGKILL)
            await eventually_async(lambda: pool.zygote_pid not in (None, first))
            await pool.run(command("true"))
        assert bystander.poll() is None
        nursery.cancel_scope.cancel()
