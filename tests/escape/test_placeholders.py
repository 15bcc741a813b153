"""Protected names that do not exist yet are held for the time of a call, and only that long."""

import os
import shutil
import subprocess

import pytest

from support.escape.attack import EXIT_CODE, attacker_argv, confined, finish, start
from support.escape.world import PROTECTED_NAMES, READ_ONLY, WORKSPACE_WRITE, World
from support.waiting import eventually

FAMILY = "git_metadata"


@pytest.fixture
def bare_workspace(world: World) -> World:
    shutil.rmtree(world.ws / ".git")
    return world


def waiting(world: World) -> "subprocess.Popen[bytes]":
    """A call that has begun and goes on until `go` exists."""
    process = start(world, confined(world, WORKSPACE_WRITE, attacker_argv(FAMILY, "wait_then_create", world)))
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def present(world: World) -> list[str]:
    return [name for name in PROTECTED_NAMES if os.path.lexists(world.ws / name)]


def test_nothing_stays_after_a_call(bare_workspace: World) -> None:
    process = start(bare_workspace, confined(bare_workspace, WORKSPACE_WRITE, ["/bin/true"]))
    finish(process)
    assert (process.returncode, present(bare_workspace)) == (0, [])


def test_read_only_calls_make_none(bare_workspace: World) -> None:
    """There is nothing to hold where nothing can be made."""
    before = bare_workspace.observe(READ_ONLY)
    process = start(bare_workspace, confined(bare_workspace, READ_ONLY, ["/bin/ls", "-A"]))
    out, _ = finish(process)
    assert not set(out.decode().split()) & set(PROTECTED_NAMES)
    assert bare_workspace.observe(READ_ONLY) == before


def test_a_call_that_ends_does_not_uncover_another(bare_workspace: World) -> None:
    """Three at once; the one that goes on longest is still held off after the others have cleaned up."""
    processes = [waiting(bare_workspace) for _ in range(2)]
    short = start(bare_workspace, confined(bare_workspace, WORKSPACE_WRITE, ["/bin/true"]))
    finish(short)
    assert short.returncode == 0
    (bare_workspace.ws / "go").touch()
    outputs = [finish(process)[0] for process in processes]
    assert [process.returncode for process in processes] == [EXIT_CODE, EXIT_CODE]
    assert all(b'"achieved": false' in output for output in outputs), outputs
    assert present(bare_workspace) == []


def test_many_short_calls_at_once_all_work(bare_workspace: World) -> None:
    running = [start(bare_workspace, confined(bare_workspace, WORKSPACE_WRITE, ["/bin/true"])) for _ in range(12)]
    ends = [(finish(process)[1], process.returncode) for process in running]
    assert ends == [(b"", 0)] * 12
    assert present(bare_workspace) == []


def test_what_the_user_put_there_meanwhile_stays(bare_workspace: World) -> None:
    process = waiting(bare_workspace)
    (bare_workspace.ws / ".codex").mkdir(exist_ok=True)
    (bare_workspace.ws / ".codex" / "config.toml").write_text("# the user's\n", encoding="ascii")
    (bare_workspace.ws / "go").touch()
    finish(process)
    assert (bare_workspace.ws / ".codex" / "config.toml").read_text(encoding="ascii") == "# the user's\n"
    assert present(bare_workspace) == [".codex"]


def test_the_next_call_sweeps_after_a_killed_one(bare_workspace: World) -> None:
    process = waiting(bare_workspace)
    process.kill()
    finish(process)
    eventually(lambda: not bare_workspace.survivors())
    after = start(bare_workspace, confined(bare_workspace, WORKSPACE_WRITE, ["/bin/true"]))
    finish(after)
    assert (after.returncode, present(bare_workspace)) == (0, [])


@pytest.mark.parametrize("number", [2, 15])
def test_an_interrupted_call_leaves_nothing(bare_workspace: World, number: int) -> None:
    process = waiting(bare_workspace)
    process.send_signal(number)
    finish(process)
    assert process.returncode == 128 + number
    assert present(bare_workspace) == []
    assert bare_workspace.survivors() == set()


def test_a_workspace_that_cannot_be_written_needs_none(bare_workspace: World) -> None:
    """Its owner may have made it read-only; the call must not fail for that."""
    bare_workspace.ws.chmod(0o555)
    process = start(bare_workspace, confined(bare_workspace, WORKSPACE_WRITE, ["/bin/echo", "ran"]))
    out, err = finish(process)
    assert (out, process.returncode) == (b"ran\n", 0), err
