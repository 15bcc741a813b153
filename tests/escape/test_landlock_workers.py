"""Workers on a host without namespaces: the same promises as for `pycodex sandbox`, through the pool."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from pycodex.protocol.confinement import READ, WRITE, Confinement, Entry
from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.frames import Exited, Output, Pty, RunCommand
from pycodex.supervisor.tools.patching import apply_patch
from pycodex.supervisor.workers.launch import Launched, launch_python
from pycodex.supervisor.workers.lease import JobRefused
from pycodex.supervisor.workers.pool import Pool
from support.escape.world import World
from support.no_namespaces import LANDLOCK, NOTHING
from support.pools import Pools, alive, descendants, short_base
from support.tool_calls import WORKSPACE_WRITE, make_turn, open_bench
from support.waiting import eventually_async

TESTS_DIR = str(Path(__file__).resolve().parents[1])
ZYGOTE = """
import sys
sys.path.append(sys.argv[2])
from support.no_namespaces import install, program
install(program(sys.argv[3]))
del sys.argv[2:]
from pycodex.worker.__main__ import main
main()
"""
FAMILY = "setsid sleep 1000 & (setsid sleep 1000 &) ; sleep 1000 & echo complete; sleep 1000"


def launch_on_weak_host(left: str = LANDLOCK) -> Launched:
    return launch_python(ZYGOTE, TESTS_DIR, left)


@asynccontextmanager
async def weak_pool(left: str = LANDLOCK) -> AsyncIterator[Pool]:
    with short_base() as base:
        async with Pools(base, lambda: launch_on_weak_host(left)).open() as pool:
            yield pool


def order(world: World, script: str, confinement: Confinement, **fields: Any) -> RunCommand:
    return RunCommand(
        job_id="",
        argv=("/bin/sh", "-c", script),
        cwd=str(world.ws),
        env={"PATH": "/usr/bin:/bin"},
        confinement=confinement,
        **fields,
    )


def writing(world: World, *, accepted: bool) -> Confinement:
    return Confinement(
        entries=(Entry(path=str(world.ws), access=WRITE), Entry(path=str(world.ws / ".git"), access=READ)),
        placeholders=(str(world.ws / ".agents"), str(world.ws / ".codex")),
        ledger=str(world.codex_home / "tmp" / "placeholders"),
        landlock_only=accepted,
    )


async def test_reading_runs_and_says_what_was_enforced(world: World) -> None:
    async with weak_pool() as pool:
        done = await pool.run(order(world, "cat tracked.txt; touch made; chmod 600 tracked.txt", Confinement()))
    assert (done.code, done.stdout.data) == (1, b"tracked\n")
    assert done.stderr.data.count(b"not permitted") + done.stderr.data.count(b"denied") == 2
    assert not (world.ws / "made").exists()
    assert (done.exited.enforced.level, done.exited.enforced.carveouts) == ("landlock", "snapshot")


async def test_writing_is_refused_unless_accepted(world: World) -> None:
    async with weak_pool() as pool:
        with pytest.raises(JobRefused, match="landlock_only = true"):
            await pool.run(order(world, "touch made", writing(world, accepted=False)))
    assert not (world.ws / "made").exists()
    assert not (world.ws / ".codex").exists()


async def test_protected_paths_are_put_right_and_told(world: World) -> None:
    config = (world.ws / ".git" / "config").read_bytes()
    script = "ls -A; touch made; echo evil >> .git/config; echo evil > .git/hooks/pre-commit; mkdir .codex"
    async with weak_pool() as pool:
        done = await pool.run(order(world, script, writing(world, accepted=True)))
    assert done.code == 0
    assert b".codex" not in done.stdout.data
    assert (world.ws / "made").exists()
    assert (world.ws / ".git" / "config").read_bytes() == config
    assert not (world.ws / ".git" / "hooks" / "pre-commit").exists()
    assert not (world.ws / ".codex").exists()
    assert done.exited.notes == (
        f"{world.ws}/.codex was created during the call: removed",
        f"{world.ws}/.git/config was changed during the call: restored",
        f"{world.ws}/.git/hooks/pre-commit was created during the call: removed",
    )


async def test_protected_paths_are_put_right_after_a_timeout(world: World) -> None:
    script = "echo evil > .git/hooks/pre-commit; sleep 1000"
    async with weak_pool() as pool:
        done = await pool.run(order(world, script, writing(world, accepted=True), timeout_ms=1000))
    assert done.exited.reason == "timeout"
    assert not (world.ws / ".git" / "hooks" / "pre-commit").exists()


@pytest.mark.parametrize("output", ["", ">/dev/null 2>&1"], ids=["holding the output", "silent"])
async def test_survivors_end_with_the_call(world: World, output: str) -> None:
    async with weak_pool() as pool:
        done = await pool.run(order(world, f"setsid sleep 1000 {output} & echo $!", Confinement()))
        assert done.code == 0
        assert not done.exited.pipe_held
        assert alive([int(done.stdout.data)]) == set()


async def test_a_process_that_looks_dead_ends_with_the_call(world: World) -> None:
    """Its first thread has ended, another one goes on."""
    program = (
        "import ctypes, os, threading, time\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "def go_on():\n"
        "    while open('/proc/self/stat').read().rpartition(')')[2].split()[0] != 'Z': time.sleep(0.001)\n"
        "    print(os.getpid(), flush=True)\n"
        "    os.close(1); os.close(2)\n"
        "    time.sleep(1000)\n"
        "threading.Thread(target=go_on).start()\n"
        "ctypes.CDLL(None).syscall(60 if os.uname().machine == 'x86_64' else 93, 0)\n"
    )
    quoted = program.replace("'", "'\\''")
    script = f"{sys.executable} -I -S -c '{quoted}' | (read pid; echo $pid)"
    async with weak_pool() as pool:
        done = await pool.run(order(world, script, Confinement()))
        assert not psutil.pid_exists(int(done.stdout.data))


async def test_a_terminal_of_its_own_can_be_used(world: World) -> None:
    script = "tty >/dev/null && echo one >$(tty) && echo two >/dev/tty"
    async with weak_pool() as pool:
        done = await pool.run(order(world, script, Confinement(), pty=Pty()))
    assert (done.code, done.stdout.data) == (0, b"one\r\ntwo\r\n")


@pytest.mark.parametrize("pty", [None, Pty()], ids=["pipes", "terminal"])
async def test_stopping_ends_the_whole_tree(world: World, pty: Pty | None) -> None:
    async with weak_pool() as pool:
        async with pool.running(order(world, FAMILY, Confinement(), pty=pty)) as job:
            async for fact in job:
                if isinstance(fact, Output) and b"complete" in fact.data:
                    break
            await eventually_async(lambda: len(sleepers(pool)) == 4, what="the whole family")
            family = sleepers(pool)
            await job.stop("cancelled")
            await job.wait()
            assert isinstance(job.end, Exited)
            assert job.end.reason == "cancelled"
        assert alive(family) == set()


async def test_a_timeout_ends_the_whole_tree(world: World) -> None:
    async with weak_pool() as pool:
        done = await pool.run(order(world, FAMILY, Confinement(), timeout_ms=1000))
        assert done.exited.reason == "timeout"
        assert sleepers(pool) == set()


async def test_without_landlock_everything_is_refused(world: World) -> None:
    async with weak_pool(NOTHING) as pool:
        with pytest.raises(JobRefused, match="no sandbox at all"):
            await pool.run(order(world, "true", Confinement()))
        assert pool.host is not None
        assert pool.host.level == "none"


def sleepers(pool: Pool) -> set[int]:
    return {pid for pid in descendants(pool.zygote_pid) if "sleep" in _command_of(pid)}


def _command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8")
    except OSError:
        return ""


async def test_patch_of_protected_files_is_refused_before_it_is_tried(world: World) -> None:
    """Where there are no namespaces, they could only be put back when the call has ended."""
    hook = Path(".git/hooks/post-commit")
    text = f"*** Begin Patch\n*** Add File: {hook}\n+x\n*** End Patch\n"
    turn = make_turn(cwd=str(world.ws), permissions=WORKSPACE_WRITE)
    async with weak_pool() as pool, open_bench(pool, world.codex_home, turn, landlock_only=True) as bench:
        with pytest.raises(ModelFacing, match="patch rejected: writing outside of the project"):
            await apply_patch(text, cwd=turn.cwd, call_id="c", scope=bench.scope)
    assert not (world.ws / hook).exists()
