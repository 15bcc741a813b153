"""The first process of a box reaps what is orphaned, cannot be reached from inside, and its end is the end of all."""

import os
import signal

import pytest

from pycodex.protocol.confinement import Confinement
from support.marked import Mark
from support.orders import CONFINED, UNCONFINED, python, shell
from support.pools import Pools

BOTH = pytest.mark.parametrize("confinement", [CONFINED, UNCONFINED], ids=["confined", "unconfined"])


async def test_orphans_do_not_stay_as_corpses(real_pools: Pools) -> None:
    script = "for n in 1 2 3 4 5; do (setsid sleep 0 &); done; sleep 0.3; ps -eo stat= | grep -c Z; exit 0"
    async with real_pools.open() as pool:
        done = await pool.run(shell(script))
    assert done.stdout.data == b"0\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGKILL])
async def test_signals_from_inside_do_not_reach_it(real_pools: Pools, number: int) -> None:
    # Were it ever the host's own, it must not be tried.
    elsewhere = f'[ "$(readlink /proc/self/ns/pid)" != "{os.readlink("/proc/self/ns/pid")}" ]'
    async with real_pools.open() as pool:
        done = await pool.run(shell(f"{elsewhere} || exit 9; kill -{number} 1; echo still here; exit 3"))
    assert (done.code, done.stdout.data) == (3, b"still here\n")


async def test_it_cannot_be_looked_into(real_pools: Pools) -> None:
    script = "for f in mem environ maps fd/0 root; do cat /proc/1/$f; ls /proc/1/$f/; done; exit 0"
    async with real_pools.open() as pool:
        done = await pool.run(shell(script))
    assert done.stdout.data == b""


async def test_orphans_of_a_command_that_has_ended_are_killed(real_pools: Pools) -> None:
    mark = Mark()
    script = f"trap '' TERM HUP; (trap '' TERM HUP INT; setsid sleep {mark} &) & exit 0"
    async with real_pools.open() as pool:
        done = await pool.run(shell(script))
        assert mark.alive() == set()
    assert done.exited.survivors_killed


@pytest.mark.parametrize(
    ("script", "processes"),
    [
        ("exec /bin/true", 1),
        ("/bin/true & wait", 2),
        ("/bin/true & /bin/true & wait", 3),
        ("for n in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done; exit 3", 11),
        ("(setsid sleep 1000 &) ; exit 0", 3),
        ("kill -9 $$", 1),
    ],
)
async def test_processes_are_counted(real_pools: Pools, script: str, processes: int) -> None:
    """Whoever ran in the box before the command has started is not among them."""
    async with real_pools.open() as pool:
        done = [await pool.run(shell(script)) for _ in range(2)]
    assert [each.exited.processes for each in done] == [processes, processes]


async def test_threads_are_counted_as_well(real_pools: Pools) -> None:
    program = "import threading\nfor _ in range(5): t = threading.Thread(); t.start(); t.join()"
    async with real_pools.open() as pool:
        assert (await pool.run(python(program))).exited.processes == 6


async def test_nobody_counts_where_all_of_the_host_would_be_counted(real_pools: Pools) -> None:
    async with real_pools.open() as pool:
        assert (await pool.run(shell("true & wait", confinement=UNCONFINED))).exited.processes == 0


@BOTH
async def test_end_of_another_process_is_not_taken_for_the_commands(
    real_pools: Pools, confinement: Confinement
) -> None:
    """Orphans that end first with another code are only reaped."""
    program = (
        "import os, time\n"
        "for n in range(20):\n"
        "    if os.fork() == 0:\n"
        "        if os.fork() == 0: os._exit(9)\n"
        "        os._exit(8)\n"
        "time.sleep(0.1); os._exit(7)"
    )
    async with real_pools.open() as pool:
        done = await pool.run(python(program, confinement=confinement))
    assert (done.code, done.signal) == (7, None)
