"""Protected names that do not exist yet are held for the time of a call, and only that long."""

import fcntl
import os
import shutil
import subprocess

import pytest

from pycodex.protocol.confinement import PLACEHOLDER_MODE
from support.escape.attack import EXIT_CODE, attacker_argv, confined, finish, start
from support.escape.world import PROTECTED_NAMES, READ_ONLY, WORKSPACE_WRITE, World, changes
from support.waiting import eventually

FAMILY = "git_metadata"


@pytest.fixture
def bare_workspace(world: World) -> World:
    shutil.rmtree(world.ws / ".git")
    return world


def waiting(world: World, go: str = "go") -> "subprocess.Popen[bytes]":
    """A call that has begun and goes on until the file `go` exists; then it tries to make the protected names."""
    process = start(world, confined(world, WORKSPACE_WRITE, attacker_argv(FAMILY, "wait_then_create", world, go=go)))
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
    assert changes(before, bare_workspace.observe(READ_ONLY)) == []


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


def test_the_first_call_to_come_may_be_the_first_to_go(bare_workspace: World) -> None:
    """The second finds the names there; they must not vanish with the one who made them."""
    first, second = waiting(bare_workspace, "first"), waiting(bare_workspace, "second")
    (bare_workspace.ws / "first").touch()
    finish(first)
    assert present(bare_workspace) == list(PROTECTED_NAMES)
    (bare_workspace.ws / "second").touch()
    out, _ = finish(second)
    assert b'"achieved": false' in out, out
    assert present(bare_workspace) == []


def test_the_death_of_one_call_does_not_uncover_another(bare_workspace: World) -> None:
    first, second = waiting(bare_workspace, "first"), waiting(bare_workspace, "second")
    first.kill()
    finish(first)
    third = start(bare_workspace, confined(bare_workspace, WORKSPACE_WRITE, ["/bin/true"]))
    finish(third)
    (bare_workspace.ws / "second").touch()
    out, _ = finish(second)
    assert b'"achieved": false' in out, out
    assert (third.returncode, present(bare_workspace)) == (0, [])


def test_many_short_calls_at_once_all_work(bare_workspace: World) -> None:
    running = [start(bare_workspace, confined(bare_workspace, WORKSPACE_WRITE, ["/bin/true"])) for _ in range(12)]
    ends = [(finish(process)[1], process.returncode) for process in running]
    assert ends == [(b"", 0)] * 12
    assert present(bare_workspace) == []


def test_what_the_user_put_there_meanwhile_stays(bare_workspace: World) -> None:
    process = waiting(bare_workspace)
    (bare_workspace.ws / ".codex").chmod(0o755)
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


def test_a_lock_held_by_somebody_else_does_not_hang_a_call(bare_workspace: World) -> None:
    """A command of another call can lock whatever looks like a placeholder, where it may write."""
    lookalike = bare_workspace.ws / ".codex"
    lookalike.mkdir()
    lookalike.chmod(PLACEHOLDER_MODE)
    descriptor = os.open(lookalike, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        process = start(bare_workspace, confined(bare_workspace, WORKSPACE_WRITE, ["/bin/echo", "ran"]))
        out, err = finish(process)
        assert out == b"ran\n" or (process.returncode, err[:7]) == (1, b"Error: "), err
    finally:
        os.close(descriptor)


def test_a_workspace_that_its_owner_made_read_only_is_protected_or_refused(bare_workspace: World) -> None:
    """No placeholder can be made in it, but the owner is who runs the command, and can make it writable again."""
    bare_workspace.ws.chmod(0o555)
    argv = attacker_argv(FAMILY, "make_writable_then_create", bare_workspace)
    process = start(bare_workspace, confined(bare_workspace, WORKSPACE_WRITE, argv))
    out, err = finish(process)
    if not out:
        assert (process.returncode, len(err.splitlines()), err[:7]) == (1, 1, b"Error: "), err
    assert present(bare_workspace) == []
