"""Stand-ins for missing names: shared by whoever holds them, gone with the last; what others own is left alone."""

import fcntl
import os
import signal
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pycodex.linux_sandbox.placeholders import hold, sweep
from pycodex.protocol.confinement import PLACEHOLDER_MODE, Unenforceable
from support.interpreter import MINIMAL_ENV, python_argv
from support.waiting import eventually

HOLDER = """
from pycodex.linux_sandbox.placeholders import hold
held = hold(sys.argv[2:], sys.argv[1])
print("held", flush=True)
sys.stdin.readline()
held.release()
"""
needs_ordinary_user = pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")


class Holder:
    """Another process that holds placeholders until it is told to let go."""

    def __init__(self, ledger: Path, *paths: Path) -> None:
        self._process = subprocess.Popen(
            python_argv(HOLDER, str(ledger), *map(str, paths)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=MINIMAL_ENV,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"held\n"

    def release(self) -> None:
        self._process.communicate(b"\n")
        assert self._process.returncode == 0

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.communicate()


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "home" / "tmp" / "placeholders"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    path = tmp_path / "ws"
    path.mkdir()
    return path


def is_placeholder(path: Path) -> bool:
    return path.is_dir() and stat.S_IMODE(path.lstat().st_mode) == PLACEHOLDER_MODE


@contextmanager
def locked(path: Path) -> Iterator[None]:
    fd = os.open(path, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(fd)


def test_they_are_there_while_held_and_gone_afterwards(workspace: Path, ledger: Path) -> None:
    names = [workspace / ".codex", workspace / ".agents"]
    held = hold([str(name) for name in names], str(ledger))
    assert all(is_placeholder(name) for name in names)
    held.release()
    assert os.listdir(workspace) == []
    held.release()


def test_the_last_of_several_processes_removes_them(workspace: Path, ledger: Path) -> None:
    name = workspace / ".codex"
    first, second = Holder(ledger, name), Holder(ledger, name)
    first.release()
    assert is_placeholder(name)
    third = Holder(ledger, name)
    second.kill()
    assert is_placeholder(name)
    third.release()
    assert not name.exists()


def test_what_a_killed_run_left_is_swept_unless_somebody_holds_it(workspace: Path, ledger: Path) -> None:
    left, shared = workspace / ".codex", workspace / ".agents"
    killed, living = Holder(ledger, left, shared), Holder(ledger, shared)
    killed.kill()
    assert is_placeholder(left)
    sweep(str(ledger))
    assert not left.exists()
    assert is_placeholder(shared)
    living.release()
    assert os.listdir(workspace) == []


def test_a_stale_one_is_taken_over(workspace: Path, ledger: Path) -> None:
    name = workspace / ".codex"
    Holder(ledger, name).kill()
    Holder(ledger, name).release()
    assert not name.exists()


@pytest.mark.parametrize("kind", ["empty directory", "full directory", "file", "link", "fifo"])
def test_the_users_own_is_left_alone(workspace: Path, ledger: Path, kind: str) -> None:
    """It came to be after the plan was made, or its name stands in the ledger from an earlier run."""
    name = workspace / ".codex"
    Holder(ledger, name).release()
    if kind == "link":
        name.symlink_to("/nonesuch")
    elif kind == "file":
        name.write_text("mine", encoding="ascii")
    elif kind == "fifo":
        os.mkfifo(name)
    else:
        name.mkdir()
        if kind == "full directory":
            (name / "mine").touch()
    before = name.lstat()
    sweep(str(ledger))
    hold([str(name)], str(ledger)).release()
    Holder(ledger, name).kill()
    sweep(str(ledger))
    after = name.lstat()
    assert (after.st_ino, after.st_mode, after.st_mtime_ns) == (before.st_ino, before.st_mode, before.st_mtime_ns)


def test_one_that_the_user_filled_is_kept(workspace: Path, ledger: Path) -> None:
    name = workspace / ".codex"
    held = hold([str(name)], str(ledger))
    name.chmod(0o755)
    (name / "mine").touch()
    held.release()
    sweep(str(ledger))
    assert os.listdir(name) == ["mine"]


def test_one_that_was_replaced_is_kept(workspace: Path, ledger: Path) -> None:
    name = workspace / ".codex"
    held = hold([str(name)], str(ledger))
    name.rmdir()
    name.mkdir()
    held.release()
    sweep(str(ledger))
    assert name.is_dir()


def test_ledger_is_private_and_does_not_grow(workspace: Path, ledger: Path) -> None:
    paths = [str(workspace / f"{number:0200d}") for number in range(20)]
    for _ in range(60):
        hold(paths, str(ledger)).release()
    assert ledger.stat().st_size < 200_000
    assert stat.S_IMODE(ledger.stat().st_mode) & 0o077 == 0
    assert stat.S_IMODE(ledger.parent.stat().st_mode) & 0o077 == 0
    sweep(str(ledger))
    assert ledger.stat().st_size == 0


DAMAGE = {
    "garbage": bytes(range(256)) * 100,
    "relative": b"relative/path\0../up\0",
    "other places": b"/\0/etc\0/nonesuch\0/tmp\0/proc/self\0",
    "no end": b"/tmp/nonesuch",
    "long": b"/" + b"x" * 100_000 + b"\0",
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_ledger_does_no_harm(workspace: Path, ledger: Path, name: str) -> None:
    placeholder = workspace / ".codex"
    Holder(ledger, placeholder).kill()
    ledger.write_bytes(DAMAGE[name] + b"\0" + ledger.read_bytes())
    sweep(str(ledger))
    assert not placeholder.exists()
    hold([str(placeholder)], str(ledger)).release()
    assert os.path.isdir("/etc")


@pytest.mark.parametrize("kind", ["fifo", "directory", "link", "loop", "file above", "socket"])
def test_ledger_that_is_none_does_no_harm(workspace: Path, ledger: Path, kind: str, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious", encoding="ascii")
    if kind == "file above":
        ledger.parent.parent.write_text("", encoding="ascii")
    else:
        ledger.parent.mkdir(parents=True)
    match kind:
        case "fifo":
            os.mkfifo(ledger)
        case "directory":
            ledger.mkdir()
        case "link":
            ledger.symlink_to(precious)
        case "loop":
            ledger.symlink_to(ledger)
        case "socket":
            os.mknod(ledger, stat.S_IFSOCK | 0o600)
    sweep(str(ledger))
    hold([str(workspace / ".codex")], str(ledger)).release()
    sweep(str(ledger))
    assert os.listdir(workspace) == []
    assert precious.read_text(encoding="ascii") == "precious"


@needs_ordinary_user
def test_home_that_cannot_be_written_does_no_harm(workspace: Path, ledger: Path) -> None:
    ledger.parent.mkdir(parents=True)
    ledger.parent.chmod(0o500)
    hold([str(workspace / ".codex")], str(ledger)).release()
    assert os.listdir(workspace) == []


def test_without_a_ledger_they_work_too(workspace: Path) -> None:
    held = hold([str(workspace / ".codex")], "")
    assert is_placeholder(workspace / ".codex")
    held.release()
    assert os.listdir(workspace) == []


def test_a_locked_ledger_delays_nobody_for_long(workspace: Path, ledger: Path) -> None:
    """A confined command can read it, and whoever can read it can lock it."""
    name = workspace / ".codex"
    Holder(ledger, name).release()
    with locked(ledger):
        process = subprocess.Popen(
            python_argv(HOLDER, str(ledger), str(name)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env=MINIMAL_ENV,
        )
        try:
            out, _ = process.communicate(timeout=15)
        finally:
            process.kill()
            process.communicate()
    assert out == b"held\n"


def test_place_that_cannot_be_protected_is_refused_and_the_others_released(workspace: Path, ledger: Path) -> None:
    good, bad = workspace / ".codex", workspace / "missing" / ".codex"
    with pytest.raises(Unenforceable, match=r"missing/\.codex"):
        hold([str(good), str(bad)], str(ledger))
    assert os.listdir(workspace) == []


def test_a_link_on_the_way_is_not_followed(workspace: Path, ledger: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (workspace / "way").symlink_to(elsewhere)
    with pytest.raises(Unenforceable):
        hold([str(workspace / "way" / ".codex")], str(ledger))
    assert os.listdir(elsewhere) == []


def test_many_processes_at_once_leave_nothing(workspace: Path, ledger: Path) -> None:
    names = [workspace / ".codex", workspace / ".agents"]
    program = """
from pycodex.linux_sandbox.placeholders import hold, sweep
import os, stat
for _ in range(60):
    sweep(sys.argv[1])
    held = hold(sys.argv[2:], sys.argv[1])
    for path in sys.argv[2:]:
        assert stat.S_ISDIR(os.lstat(path).st_mode)
    held.release()
"""
    crowd = [
        subprocess.Popen(python_argv(program, str(ledger), *map(str, names)), stderr=subprocess.PIPE, env=MINIMAL_ENV)
        for _ in range(6)
    ]
    assert [process.communicate()[1] for process in crowd] == [b""] * 6
    assert [process.returncode for process in crowd] == [0] * 6
    eventually(lambda: os.listdir(workspace) == [])
