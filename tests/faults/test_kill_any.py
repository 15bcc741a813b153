"""`kill -9` of any one process at any moment: calls end with a result or a clear error, and nobody is left behind."""

import os
import random
import signal
import subprocess
from collections.abc import Callable

import psutil
import pytest
import trio

from pycodex.protocol.confinement import Confinement
from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.frames import Exited, Pty
from pycodex.supervisor.workers.pool import Pool
from support.interpreter import python_argv
from support.marked import Mark
from support.orders import BOTH, CONFINED, UNCONFINED, boxes_of, run, shell, signal_all, until_said
from support.pools import Pools, alive, boxes_below, descendants, short_base
from support.waiting import eventually, eventually_async

GONE_WITHIN_SECONDS = 2.0


@BOTH
@pytest.mark.parametrize("pty", [None, Pty()], ids=["pipes", "terminal"])
async def test_killed_first_process_of_a_box_is_told_as_a_signal(
    real_pools: Pools, confinement: Confinement, pty: Pty | None
) -> None:
    mark = Mark()
    order = shell(mark.family(), confinement=confinement, drain_ms=200, pty=pty)
    async with real_pools.open() as pool:
        async with pool.running(order) as job:
            await until_said(job, b"complete")
            await eventually_async(lambda: len(mark.sleepers()) == 3)
            assert job.started is not None
            os.kill(psutil.Process(job.started.pid).ppid(), signal.SIGKILL)
            end = await job.wait()
        assert isinstance(end, Exited)
        assert (end.code, end.signal) == (None, signal.SIGKILL)
        await eventually_async(lambda: not mark.alive())
        assert (await pool.run(run("/bin/true", confinement=confinement))).code == 0


async def test_killed_idle_boxes_are_replaced(real_pools: Pools) -> None:
    async with real_pools.open() as pool:
        await pool.run(run("/bin/true"))
        boxes = await boxes_of(pool, at_least=2)
        signal_all(boxes.values(), signal.SIGKILL)
        # A worker whose call had just ended may have lost the old box only, which it was about to end anyway.
        await eventually_async(lambda: not alive(boxes.values()) and all(map(boxes_below, alive(boxes))))
        assert (await pool.run(run("/bin/true"))).code == 0


async def result_of(pool: Pool, confinement: Confinement) -> str:
    """The only two ways for a call to end: done as ordered, or an error in words."""
    try:
        done = await pool.run(shell("echo begun; sleep 0.02; exit 3", confinement=confinement))
    except ModelFacing as error:
        return str(error) or "an error without words"
    if done.signal == signal.SIGKILL:
        return "killed"
    assert (done.code, done.stdout.data) == (3, b"begun\n")
    return "done"


def choose_victim(chooser: random.Random, pool: Pool, kind: str) -> int | None:
    if pool.zygote_pid is None or kind == "zygote":
        return pool.zygote_pid
    try:
        everybody = psutil.Process(pool.zygote_pid).children(recursive=True)
        workers = [process for process in everybody if process.ppid() == pool.zygote_pid]
        others = [process for process in everybody if process.ppid() != pool.zygote_pid]
    except psutil.NoSuchProcess:
        return None
    found = workers if kind == "worker" else others
    return chooser.choice(found).pid if found else None


@BOTH
@pytest.mark.parametrize("kind", ["zygote", "worker", "below"])
async def test_killing_at_any_moment_leaves_a_working_pool(
    real_pools: Pools, confinement: Confinement, kind: str, scale: Callable[[int, int], int]
) -> None:
    chooser = random.Random(kind)
    results: list[str] = []
    async with real_pools.open() as pool:

        async def call() -> None:
            results.append(await result_of(pool, confinement))

        for _ in range(scale(6, 100)):
            async with trio.open_nursery() as nursery:
                for _ in range(4):
                    nursery.start_soon(call)
                await trio.sleep(chooser.uniform(0, 0.05))
                victim = choose_victim(chooser, pool, kind)
                if victim is not None:
                    signal_all([victim], signal.SIGKILL)
        # The last one may not have been noticed yet.
        while await result_of(pool, confinement) != "done":
            results.append("one more")
    assert "done" in results
    assert results.count("one more") <= 4
    assert "an error without words" not in results


# A supervisor with one job of every kind, which says when all of them are under way.
SUPERVISOR = """
import os, trio
from pycodex.protocol.confinement import Confinement
from pycodex.protocol.frames import Output, Pty, RunCommand
from pycodex.supervisor.workers.pool import open_pool
from pycodex.supervisor.workers.pty import PtySessions

KINDS = [Confinement(), Confinement(network=True), Confinement(unconfined_because="a test")]

def order(confinement, **fields):
    return RunCommand(job_id="", argv=("/bin/sh", "-c", sys.argv[2]), cwd="/", env={"PATH": "/usr/bin:/bin"},
                      confinement=confinement, **fields)

async def follow(pool, each, ready):
    async with pool.running(each) as job:
        async for fact in job:
            if isinstance(fact, Output):
                ready.set()

async def main():
    async with open_pool(env={"XDG_RUNTIME_DIR": sys.argv[1]}) as pool, trio.open_nursery() as nursery:
        sessions = PtySessions(pool)
        for confinement in KINDS:
            for fields in ({}, {"stdin": "open", "timeout_ms": 1_000_000}, {"pty": Pty()}):
                ready = trio.Event()
                nursery.start_soon(follow, pool, order(confinement, **fields), ready)
                await ready.wait()
            await sessions.start(order(confinement, pty=Pty()))
        print("all run", flush=True)
        await trio.sleep_forever()

trio.run(main)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_killed_supervisor_takes_jobs_of_every_kind_along(number: signal.Signals) -> None:
    mark = Mark()
    with (
        short_base() as base,
        subprocess.Popen(python_argv(SUPERVISOR, base, mark.family()), stdout=subprocess.PIPE, cwd="/") as supervisor,
    ):
        assert supervisor.stdout is not None
        assert supervisor.stdout.readline() == b"all run\n"
        eventually(lambda: len(mark.sleepers()) == 36)
        everybody = descendants(supervisor.pid)
        supervisor.send_signal(number)
        supervisor.wait()
        eventually(lambda: not alive(everybody) and not mark.alive(), GONE_WITHIN_SECONDS, what="everybody gone")


BUSY_SUPERVISOR = """
import trio
from pycodex.protocol.confinement import Confinement
from pycodex.protocol.frames import RunCommand
from pycodex.supervisor.workers.pool import open_pool

KINDS = [Confinement(), Confinement(network=True), Confinement(unconfined_because="a test")]

async def call(pool, confinement):
    order = RunCommand(job_id="", argv=("/bin/sh", "-c", sys.argv[2]), cwd="/", env={"PATH": "/usr/bin:/bin"},
                       confinement=confinement)
    while True:
        await pool.run(order)

async def main():
    print("alive", flush=True)
    async with open_pool(env={"XDG_RUNTIME_DIR": sys.argv[1]}) as pool, trio.open_nursery() as nursery:
        for confinement in KINDS:
            nursery.start_soon(call, pool, confinement)

trio.run(main)
"""


def test_supervisor_killed_at_any_moment_leaves_nobody(scale: Callable[[int, int], int]) -> None:
    """While it starts, while calls come and go, and whatever it is just doing."""
    chooser = random.Random(1)
    for _ in range(scale(8, 100)):
        mark = Mark()
        script = f"(sleep 0.01; : {mark}) & setsid sh -c 'sleep 0.01; : {mark}' & wait"
        with (
            short_base() as base,
            subprocess.Popen(python_argv(BUSY_SUPERVISOR, base, script), stdout=subprocess.PIPE, cwd="/") as supervisor,
        ):
            assert supervisor.stdout is not None
            assert supervisor.stdout.readline() == b"alive\n"
            delay = chooser.uniform(0, 0.5)
            try:
                supervisor.wait(delay)
            except subprocess.TimeoutExpired:
                pass
            everybody = descendants(supervisor.pid)
            supervisor.kill()
            supervisor.wait()
            eventually(
                lambda seen=everybody, mine=mark: not alive(seen) and not mine.alive(),  # type: ignore[misc]
                GONE_WITHIN_SECONDS,
                what="everybody gone",
            )


async def test_daemon_of_an_answered_call_outlives_the_pool() -> None:
    """It was left on purpose: neither the end of the zygote nor that of the pool ends it."""
    mark = Mark()
    with short_base() as base:
        try:
            from pycodex.supervisor.workers.pool import open_pool

            async with open_pool(env={"XDG_RUNTIME_DIR": base}) as pool:
                script = f"setsid sleep {mark} >/dev/null 2>&1 & exit 0"
                done = await pool.run(shell(script, confinement=UNCONFINED))
                assert set(done.exited.left_running) == mark.alive() != set()
                assert (await pool.run(run("/bin/true", confinement=CONFINED))).code == 0
            assert mark.alive() == set(done.exited.left_running)
        finally:
            for pid in mark.alive():
                os.kill(pid, signal.SIGKILL)
    await eventually_async(lambda: not mark.alive())
