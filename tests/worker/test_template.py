"""A worker serves several confined calls, each in a box of its own that knows nothing of those before."""

import os
import signal
from pathlib import Path

import psutil
import pytest
import trio

from pycodex.protocol.confinement import FULL
from pycodex.supervisor.workers.pool import Pool
from pycodex.worker.worker import MOST_CALLS
from support.orders import run, shell
from support.pools import Pools, boxes_below, workers_of
from support.waiting import eventually_async

ATTEMPTS = 50


async def skip_unless_full(pool: Pool) -> None:
    if (await pool.run(run("/bin/true"))).exited.enforced.level != FULL:
        pytest.skip("no namespaces here: a worker serves one call")


async def only_box(pool: Pool) -> tuple[int, int]:
    """The one worker and the first process of its box, once all others have gone."""

    def found() -> list[tuple[int, int]]:
        workers = workers_of(pool)
        pairs = [(worker, box) for worker in workers for box in boxes_below(worker) if children(worker) > {box}]
        return pairs if len(workers) == len(pairs) == 1 else []

    [pair] = await eventually_async(found)
    return pair


async def test_box_is_new_for_every_call_and_the_worker_is_not(real_pools: Pools) -> None:
    async with real_pools.open(warm=1) as pool:
        await skip_unless_full(pool)
        pairs = [await only_box(pool)]
        # On a busy machine the pool may start a worker while the call still runs, and keep that one instead.
        while len(pairs) < ATTEMPTS and pairs[-1][0] not in [worker for worker, _ in pairs[:-1]]:
            assert (await pool.run(shell("exit 3"))).code == 3
            # Its box may still be about to go.
            while (pair := await only_box(pool)) == pairs[-1]:
                await trio.lowlevel.checkpoint()
            pairs.append(pair)
        assert len(pairs) < ATTEMPTS
        assert len({box for _, box in pairs}) == len(pairs)


async def test_worker_is_replaced_after_its_last_call(real_pools: Pools) -> None:
    seen: set[int] = set()
    async with real_pools.open(warm=1) as pool:
        await skip_unless_full(pool)
        for _ in range(MOST_CALLS):
            assert (await pool.run(run("/bin/true"))).code == 0
            seen |= workers_of(pool)
        await eventually_async(lambda: len(seen | workers_of(pool)) >= 2)


async def test_failed_and_refused_calls_do_not_disturb_the_next(real_pools: Pools) -> None:
    async with real_pools.open(warm=1) as pool:
        await skip_unless_full(pool)
        for _ in range(3):
            assert (await pool.run(shell("kill -9 $$"))).signal == signal.SIGKILL
            assert (await pool.run(shell("sleep 1000 & exec sleep 1000", timeout_ms=20))).exited.reason == "timeout"
            assert (await pool.run(shell("echo $0 $#"))).stdout.data == b"/bin/sh 0\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may look into the memory of a box")
async def test_no_box_holds_anything_of_an_earlier_call(real_pools: Pools) -> None:
    # Split, so that neither this file's code nor the command line holds it.
    secret = "-".join(("much", "too", "secret", str(os.getpid())))
    order = shell('echo "$SECRET"; cat', stdin="bytes", stdin_bytes=secret.encode() * 1000)
    async with real_pools.open(warm=1) as pool:
        await skip_unless_full(pool)
        done = await pool.run(order.replace(env={"SECRET": secret}))
        assert secret.encode() in done.stdout.data
        worker, _ = await only_box(pool)
        for pid in children(worker):
            assert secret.encode() not in memory_of(pid)
        # The look is worth something: it does find what the process knows.
        assert pool.runtime_dir.encode() in memory_of(worker)


async def test_box_inherits_no_descriptor_of_worker_or_template(real_pools: Pools) -> None:
    async with real_pools.open(warm=1) as pool:
        for _ in range(3):
            done = await pool.run(shell("ls /proc/self/fd"))
            # The last one is the listing's own.
            assert done.stdout.data.split() == [b"0", b"1", b"2", b"3"]


async def test_worker_without_its_template_is_replaced(real_pools: Pools) -> None:
    async with real_pools.open(warm=1) as pool:
        await skip_unless_full(pool)
        worker, box = await only_box(pool)
        [template] = children(worker) - {box}
        os.kill(template, signal.SIGKILL)
        for _ in range(2):
            assert (await pool.run(run("/bin/true"))).code == 0
        await eventually_async(lambda: worker not in workers_of(pool))


def children(worker: int) -> set[int]:
    try:
        return {child.pid for child in psutil.Process(worker).children()}
    except psutil.NoSuchProcess:
        return set()


def memory_of(pid: int) -> bytes:
    """All of it that can be written to."""
    pieces = []
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text(encoding="ascii").splitlines():
            span, rights = line.split()[:2]
            if rights.startswith("rw"):
                start, end = (int(number, 16) for number in span.split("-"))
                memory.seek(start)
                pieces.append(memory.read(end - start))
    return b"".join(pieces)
