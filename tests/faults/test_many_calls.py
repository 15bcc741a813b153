"""Many calls, in a row and at once: all end, and nothing grows."""

import gc
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import psutil
import pytest
import trio

from pycodex.protocol.confinement import Confinement
from pycodex.protocol.frames import STDIN_BYTES, Pty
from pycodex.supervisor.workers.lease import JobFailed, JobRefused
from pycodex.supervisor.workers.pool import Pool
from support.orders import BOTH, CONFINED, UNCONFINED, run, shell, writing
from support.pools import Pools, alive, descendants
from support.waiting import eventually_async

# What Python's allocator may keep for itself; a leak of a kilobyte a call would exceed it in the long run.
SLACK_BYTES = 8 << 20
# How many are warm at one moment is not quite the same as at another.
SLACK_WORKERS = 2
FDS_A_WORKER = 2
PROCESSES_A_WORKER = 2
QUIET_LOOKS = 20


@dataclass(frozen=True)
class Footprint:
    """What a supervisor and its zygote hold when nothing runs."""

    own_fds: int
    own_threads: int
    zygote_fds: int
    zygote_threads: int
    processes: int
    own_bytes: int
    zygote_bytes: int

    def exceeds(self, before: "Footprint") -> bool:
        return (
            self.own_fds > before.own_fds + SLACK_WORKERS * FDS_A_WORKER
            or self.own_threads > before.own_threads
            or self.zygote_fds > before.zygote_fds + SLACK_WORKERS
            or self.zygote_threads > before.zygote_threads
            or self.processes > before.processes + SLACK_WORKERS * PROCESSES_A_WORKER
            or self.own_bytes > before.own_bytes + SLACK_BYTES
            or self.zygote_bytes > before.zygote_bytes + SLACK_BYTES
        )


def footprint(pool: Pool) -> Footprint:
    gc.collect()
    assert pool.zygote_pid is not None
    zygote, own = psutil.Process(pool.zygote_pid), psutil.Process()
    return Footprint(
        own_fds=len(os.listdir("/proc/self/fd")),
        own_threads=threading.active_count() + own.num_threads(),
        zygote_fds=zygote.num_fds(),
        zygote_threads=zygote.num_threads(),
        processes=len(alive(descendants(pool.zygote_pid))),
        own_bytes=own.memory_full_info().uss,
        zygote_bytes=zygote.memory_full_info().uss,
    )


async def assert_no_growth(pool: Pool, before: Footprint) -> None:
    """The last workers may still be on their way out, or their successors on their way in."""
    await eventually_async(lambda: not footprint(pool).exceeds(before), what=f"as little as {before}")


async def settled(pool: Pool, confinement: Confinement) -> Footprint:
    """After some calls everything has been loaded that is loaded late, and as many workers are warm as will be."""
    for _ in range(10):
        await pool.run(run("/bin/true", confinement=confinement))
    return await at_rest(pool)


async def at_rest(pool: Pool) -> Footprint:
    """Once nobody has come or gone for some looks in a row."""
    looks = [-1]

    def quiet() -> bool:
        looks.append(len(alive(descendants(pool.zygote_pid))))
        return len(looks) > QUIET_LOOKS and len(set(looks[-QUIET_LOOKS:])) == 1

    await eventually_async(quiet)
    return footprint(pool)


@BOTH
async def test_calls_in_a_row_leave_no_trace(
    real_pools: Pools, confinement: Confinement, scale: Callable[[int, int], int]
) -> None:
    async with real_pools.open() as pool:
        before = await settled(pool, confinement)
        for number in range(scale(100, 2000)):
            done = await pool.run(run("/bin/echo", str(number), confinement=confinement))
            assert done.stdout.data == b"%d\n" % number
        await assert_no_growth(pool, before)


async def test_calls_of_every_kind_leave_no_trace(
    real_pools: Pools, scale: Callable[[int, int], int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("ws")
    confined = writing(place, placeholders=(str(place / ".codex"),))
    orders = [
        run("/bin/true", confinement=confined),
        run("/nonesuch"),
        run("/bin/true", cwd="/nonesuch"),
        run("/bin/true", confinement=writing("/nonesuch")),
        shell("kill -9 $$", confinement=UNCONFINED),
        shell("setsid sleep 1000 & exit 1"),
        run("/bin/sleep", "1000", timeout_ms=1),
        run("/bin/cat", stdin=STDIN_BYTES, stdin_bytes=bytes(200_000)),
        shell("tty; exit 2", pty=Pty()),
        shell("head -c 3000000 /dev/zero", output_cap_bytes=1000, credit_bytes=500),
        run("/bin/true", confinement=CONFINED.replace(network=True)),
    ]
    async with real_pools.open(warm=1) as pool:

        async def all_kinds() -> None:
            for order in orders:
                with suppress(JobFailed, JobRefused):
                    await pool.run(order)
            with trio.move_on_after(0.005):
                await pool.run(run("/bin/sleep", "1000"))

        for _ in range(3):
            await all_kinds()
        before = await at_rest(pool)
        for _ in range(scale(10, 150)):
            await all_kinds()
        await assert_no_growth(pool, before)
    assert os.listdir(place) == []


@BOTH
async def test_calls_at_once_all_end_and_leave_no_trace(
    real_pools: Pools, confinement: Confinement, scale: Callable[[int, int], int]
) -> None:
    seen: list[bytes] = []
    count = scale(60, 1000)
    async with real_pools.open() as pool:
        before = await settled(pool, confinement)

        async def call(number: int) -> None:
            done = await pool.run(run("/bin/echo", str(number), confinement=confinement), session_id=str(number % 7))
            seen.append(done.stdout.data)

        async with trio.open_nursery() as nursery:
            for number in range(count):
                nursery.start_soon(call, number)
        await assert_no_growth(pool, before)
    assert sorted(seen) == sorted(b"%d\n" % number for number in range(count))
