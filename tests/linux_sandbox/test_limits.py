"""A call that hits one of its limits ends with the limit's name, and nobody else feels it."""

import os
import resource
from pathlib import Path

import pytest

from pycodex.protocol.confinement import Confinement, Limits
from pycodex.protocol.frames import Pty, RunCommand
from pycodex.supervisor.workers.lease import Completed, JobRefused
from pycodex.supervisor.workers.pool import Pool
from support.marked import Mark
from support.orders import UNCONFINED, python, run, shell, writing
from support.pools import Pools

SPIN = "while True: pass"
WRITE = "import sys\nwith open(sys.argv[1], 'wb', buffering=0) as f:\n    for _ in range(64): f.write(bytes(1 << 16))"
# An interpreter ignores the signal by default and gets an error instead.
WRITE_AND_DIE = "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n" + WRITE
BOTH = pytest.mark.parametrize("unconfined", [False, True], ids=["confined", "unconfined"])


def confinement(limits: Limits, *, unconfined: bool, writable: Path | None = None) -> Confinement:
    if unconfined:
        return UNCONFINED.replace(limits=limits)
    return writing(*(() if writable is None else (writable,)), limits=limits)


async def assert_unharmed(pool: Pool) -> None:
    for kind in (Confinement(), UNCONFINED):
        assert (await pool.run(run("/bin/true", confinement=kind))).code == 0


def own_limits() -> list[tuple[int, int]]:
    names = (resource.RLIMIT_CPU, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC)
    return [resource.getrlimit(name) for name in (*names, resource.RLIMIT_CORE)]


@BOTH
async def test_memory_of_the_whole_tree(real_pools: Pools, unconfined: bool) -> None:
    """Three processes that are each within it, together are not. They stop by themselves far below what would hurt."""
    mark = Mark()
    program = "b = bytearray(b'x' * (50 << 20)); import time; time.sleep(1000)"
    script = f'for n in 1 2 3; do "$0" -I -S -c "$1" {mark} & done; wait'
    order = python(program)
    order = order.replace(argv=("/bin/sh", "-c", script, order.argv[0], program))
    async with real_pools.open() as pool:
        done = await pool.run(
            order.replace(confinement=confinement(Limits(memory_bytes=100 << 20), unconfined=unconfined))
        )
        assert mark.alive() == set()
        await assert_unharmed(pool)
    assert done.exited.reason == f"limit memory_bytes = {100 << 20} exceeded"
    assert done.signal == 9


@BOTH
async def test_number_of_processes(real_pools: Pools, unconfined: bool) -> None:
    mark = Mark()
    script = f"n=0; while [ $n -lt 30 ]; do sleep {mark} & n=$((n + 1)); done; wait"
    async with real_pools.open() as pool:
        done = await pool.run(
            shell(script, confinement=confinement(Limits(processes=8), unconfined=unconfined), timeout_ms=20_000)
        )
        assert mark.alive() == set()
        await assert_unharmed(pool)
    assert done.exited.reason == "limit processes = 8 exceeded"


@BOTH
@pytest.mark.parametrize("through_a_shell", [False, True], ids=["direct", "shell"])
async def test_size_of_files(real_pools: Pools, unconfined: bool, through_a_shell: bool, tmp_path: Path) -> None:
    file = tmp_path / "file"
    rules = confinement(Limits(file_bytes=1 << 20), unconfined=unconfined, writable=tmp_path)
    order = python(WRITE_AND_DIE, str(file), confinement=rules)
    async with real_pools.open() as pool:
        done = await pool.run(wrapped(order.argv, rules) if through_a_shell else order)
        await assert_unharmed(pool)
    assert file.stat().st_size == 1 << 20
    assert done.code != 0
    assert done.exited.reason == f"limit file_bytes = {1 << 20} exceeded"


@BOTH
@pytest.mark.parametrize("through_a_shell", [False, True], ids=["direct", "shell"])
async def test_processor_time(real_pools: Pools, unconfined: bool, through_a_shell: bool) -> None:
    rules = confinement(Limits(cpu_seconds=1), unconfined=unconfined)
    order = python(SPIN, confinement=rules)
    async with real_pools.open() as pool:
        done = await pool.run(wrapped(order.argv, rules) if through_a_shell else order)
        await assert_unharmed(pool)
    assert done.code != 0
    assert done.exited.reason == "limit cpu_seconds = 1 exceeded"
    # How much it was by then is the kernel's affair: it counts the limit in ticks, which a busy host stretches.
    assert done.exited.cpu_ms > 0


async def test_processor_time_of_one_that_ignores_the_warning(real_pools: Pools) -> None:
    program = "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\n" + SPIN
    async with real_pools.open() as pool:
        done = await pool.run(python(program, confinement=confinement(Limits(cpu_seconds=1), unconfined=False)))
    assert done.signal == 9
    assert done.exited.reason == "limit cpu_seconds = 1 exceeded"


def wrapped(argv: tuple[str, ...], rules: Confinement) -> RunCommand:
    """The same with a shell as the command, which outlives it and tells the signal as an exit code."""
    return run("/bin/sh", "-c", '"$@"; exit $?', "sh", *argv, confinement=rules)


@BOTH
async def test_number_of_open_files(real_pools: Pools, unconfined: bool) -> None:
    """Nobody is ended by it: the command gets an error and tells it in its own words."""
    program = "import os\ntry:\n    while True: last = os.dup(0)\nexcept OSError as e: print(e.errno, last)"
    async with real_pools.open() as pool:
        done = await pool.run(python(program, confinement=confinement(Limits(open_files=40), unconfined=unconfined)))
        await assert_unharmed(pool)
    assert done.stdout.data == b"24 39\n"
    assert done.code == 0


@BOTH
async def test_what_keeps_to_its_limits_is_left_alone(real_pools: Pools, unconfined: bool, tmp_path: Path) -> None:
    limits = Limits(memory_bytes=1 << 30, processes=50, file_bytes=1 << 24, open_files=200, cpu_seconds=100)
    before = own_limits()
    async with real_pools.open() as pool:
        done = await pool.run(
            python(
                WRITE + "\nimport time; time.sleep(0.2)",
                str(tmp_path / "file"),
                confinement=confinement(limits, unconfined=unconfined, writable=tmp_path),
            )
        )
    assert (done.code, done.exited.reason) == (0, "")
    assert own_limits() == before


async def test_death_by_the_same_signal_without_a_limit_has_no_reason(real_pools: Pools) -> None:
    async with real_pools.open() as pool:
        done = await pool.run(shell("kill -XCPU $$"))
        ignorant = await pool.run(shell("kill -XFSZ $$", confinement=Confinement(limits=Limits(cpu_seconds=100))))
    assert (done.signal, done.exited.reason) == (24, "")
    assert (ignorant.signal, ignorant.exited.reason) == (25, "")


async def test_limits_do_not_outlive_their_call(real_pools: Pools) -> None:
    async with real_pools.open() as pool:
        await pool.run(run("/bin/true", confinement=Confinement(limits=Limits(open_files=20, cpu_seconds=1))))
        done = await pool.run(shell("ulimit -n; ulimit -t"))
    files, seconds = done.stdout.data.split()
    assert int(files) == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert seconds == b"unlimited"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may raise its limits")
async def test_limit_above_the_systems_own_is_refused_by_name(real_pools: Pools) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard == resource.RLIM_INFINITY:
        pytest.skip("no limit of the system's own")
    async with real_pools.open() as pool:
        with pytest.raises(JobRefused, match="open_files"):
            await pool.run(run("/bin/true", confinement=Confinement(limits=Limits(open_files=hard + 1))))


async def test_limit_of_a_terminal(real_pools: Pools) -> None:
    async with real_pools.open() as pool:
        done: Completed = await pool.run(python(SPIN, pty=Pty(), confinement=Confinement(limits=Limits(cpu_seconds=1))))
    assert done.exited.reason == "limit cpu_seconds = 1 exceeded"
