"""The right workers are there before they are wanted, and bad ones do not stay."""

import os
import signal

import pytest
import trio
import trio.lowlevel

from pycodex.protocol.confinement import Confinement
from pycodex.supervisor.workers.lease import WorkerLost
from support.fake_worker import command, launcher
from support.pools import Pools, workers_of
from support.waiting import eventually, eventually_async

NETWORK = Confinement(network=True)
UNCONFINED = Confinement(unconfined_because="a test")


async def test_two_workers_are_warm_before_the_first_call(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool:
        await eventually_async(lambda: len(workers_of(pool)) == 2)


async def test_worker_serves_one_call_and_is_replaced(fake_pools: Pools) -> None:
    async with fake_pools.open(warm=1) as pool:
        served: list[int] = []
        for _ in range(3):
            # Whichever of those that were started got ready first says who it is.
            served.append(int((await pool.run(command("who"))).stdout.data))
            await eventually_async(lambda: served[-1] not in workers_of(pool) and len(workers_of(pool)) == 1)
        assert len(set(served)) == 3


async def test_worker_that_promises_to_come_back_and_does_not_is_replaced(fake_pools: Pools) -> None:
    async with fake_pools.open(launch=launcher("promising"), warm=1) as pool:
        for _ in range(3):
            assert (await pool.run(command("true"))).code == 0
        assert (await pool.run(command("true"))).code == 0


async def test_worker_that_promises_to_come_back_and_hangs_is_replaced_at_once_and_killed(fake_pools: Pools) -> None:
    async with fake_pools.open(launch=launcher("promising"), warm=1, linger_s=0.05) as pool:
        await eventually_async(lambda: len(workers_of(pool)) == 1)
        hanging = workers_of(pool)
        assert (await pool.run(command("linger"))).code == 0
        assert (await pool.run(command("true"))).code == 0
        await eventually_async(lambda: not hanging & workers_of(pool))


async def test_no_worker_is_kept_when_none_is_wanted_warm(fake_pools: Pools) -> None:
    async with fake_pools.open(warm=0) as pool:
        assert (await pool.run(command("true"))).code == 0
        await eventually_async(lambda: not workers_of(pool))


async def test_long_job_is_replaced_while_it_runs(fake_pools: Pools) -> None:
    async with fake_pools.open(warm=1) as pool, pool.running(command("hang")):
        await eventually_async(lambda: len(workers_of(pool)) == 2)


async def test_two_last_used_flavours_are_kept_warm(fake_pools: Pools) -> None:
    async with fake_pools.open(warm=2) as pool:
        await eventually_async(lambda: len(workers_of(pool)) == 2)
        confined = workers_of(pool)
        await pool.run(command("true", confinement=NETWORK))
        await eventually_async(lambda: len(workers_of(pool)) == 4)
        assert confined <= workers_of(pool)
        await pool.run(command("true", confinement=UNCONFINED))
        await eventually_async(lambda: len(workers_of(pool)) == 4 and not confined & workers_of(pool))


async def test_worker_that_dies_idle_is_replaced(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool:
        await eventually_async(lambda: len(workers_of(pool)) == 2)
        first = workers_of(pool)
        for pid in first:
            os.kill(pid, signal.SIGKILL)
        await eventually_async(lambda: len(workers_of(pool)) == 2 and not workers_of(pool) & first)
        assert (await pool.run(command("true"))).code == 0


async def test_call_is_not_given_to_a_worker_that_died_idle(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool:
        await eventually_async(lambda: len(workers_of(pool)) == 2)
        assert (await pool.run(command("true"))).code == 0
        await eventually_async(lambda: len(workers_of(pool)) == 2)
        dead = workers_of(pool)
        for pid in dead:
            os.kill(pid, signal.SIGKILL)
        # Blocks the pool, too: it cannot have heard of the deaths when the call comes.
        eventually(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in dead))
        assert (await pool.run(command("true"))).code == 0


async def test_worker_that_does_not_exit_after_its_answer_is_killed(fake_pools: Pools) -> None:
    async with fake_pools.open(warm=0, linger_s=0.05) as pool:
        assert (await pool.run(command("linger"))).code == 0
        await eventually_async(lambda: not workers_of(pool))


async def test_workers_that_die_before_they_are_ready_are_told_not_waited_for(fake_pools: Pools) -> None:
    async with fake_pools.open(launch=launcher("stillborn")) as pool:
        for _ in range(2):
            with pytest.raises(WorkerLost, match="exited with code 9 before it was ready"):
                await pool.run(command("true"))


async def test_worker_that_never_gets_ready_is_given_up(fake_pools: Pools) -> None:
    async with fake_pools.open(launch=launcher("mute"), ready_timeout_s=0.1) as pool:
        with pytest.raises(WorkerLost, match=r"not ready within 0\.1 s"):
            await pool.run(command("true"))


async def test_no_more_than_the_limit_start_at_once(fake_pools: Pools) -> None:
    async with (
        fake_pools.open(launch=launcher("mute"), warm=0, max_starting=3) as pool,
        trio.open_nursery() as nursery,
    ):
        for _ in range(20):
            nursery.start_soon(pool.run, command("true"))
        await eventually_async(lambda: len(workers_of(pool)) == 3)
        await trio.lowlevel.checkpoint()
        assert len(workers_of(pool)) == 3
        nursery.cancel_scope.cancel()


async def test_calls_of_all_flavours_at_once_get_workers(fake_pools: Pools) -> None:
    codes: list[int | None] = []
    async with fake_pools.open(warm=1) as pool:

        async def call(confinement: Confinement) -> None:
            codes.append((await pool.run(command("true", confinement=confinement))).code)

        async with trio.open_nursery() as nursery:
            for number in range(30):
                nursery.start_soon(call, (Confinement(), NETWORK, UNCONFINED)[number % 3])
    assert codes == [0] * 30
