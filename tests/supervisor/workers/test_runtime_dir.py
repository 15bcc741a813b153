"""The runtime directory is private, short, locked, swept and removed."""

import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.workers.runtime_dir import open_runtime_dir
from support.interpreter import python_argv

STRANGER = 4_000_000_000
HOLDER = """
import sys
from pycodex.supervisor.workers.runtime_dir import open_runtime_dir
directory = open_runtime_dir({"XDG_RUNTIME_DIR": sys.argv[1]})
open(directory.socket_path, "w").close()
print(directory.path, flush=True)
sys.stdin.read()
"""


def hold(base: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        python_argv(HOLDER, base), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/"
    )


def held_path(holder: "subprocess.Popen[str]") -> str:
    assert holder.stdout is not None
    return holder.stdout.readline().strip()


def end(holder: "subprocess.Popen[str]") -> None:
    holder.kill()
    holder.communicate()


def test_directory_is_private_and_removed_at_close(runtime_base: str) -> None:
    with open_runtime_dir({"XDG_RUNTIME_DIR": runtime_base}) as directory:
        status = os.stat(directory.path)
        assert os.path.dirname(directory.path) == runtime_base
        assert stat.S_IMODE(status.st_mode) == 0o700
        assert status.st_uid == os.geteuid()
        assert os.path.dirname(directory.socket_path) == directory.path
        Path(directory.socket_path).touch()
    assert os.listdir(runtime_base) == []


def test_close_twice_is_harmless(runtime_base: str) -> None:
    directory = open_runtime_dir({"XDG_RUNTIME_DIR": runtime_base})
    directory.close()
    directory.close()
    assert os.listdir(runtime_base) == []


def test_directory_of_a_killed_run_is_swept(runtime_base: str) -> None:
    holder = hold(runtime_base)
    path = held_path(holder)
    end(holder)
    assert os.path.exists(path)
    with open_runtime_dir({"XDG_RUNTIME_DIR": runtime_base}) as directory:
        assert os.listdir(runtime_base) == [os.path.basename(directory.path)]


def test_directory_in_use_is_not_swept(runtime_base: str) -> None:
    holder = hold(runtime_base)
    path = held_path(holder)
    try:
        open_runtime_dir({"XDG_RUNTIME_DIR": runtime_base}).close()
        assert sorted(os.listdir(path)) == ["lock", "s"]
    finally:
        end(holder)


def test_fresh_directory_without_a_lock_is_left_and_an_old_one_swept(runtime_base: str) -> None:
    fresh, old = (os.path.join(runtime_base, name) for name in ("pycodex-fresh", "pycodex-old"))
    for path in (fresh, old):
        os.mkdir(path, 0o700)
    os.utime(old, (1, 1))
    open_runtime_dir({"XDG_RUNTIME_DIR": runtime_base}).close()
    assert os.listdir(runtime_base) == ["pycodex-fresh"]


def test_foreign_files_in_a_stale_directory_are_kept(runtime_base: str) -> None:
    stale = Path(runtime_base, "pycodex-stale")
    stale.mkdir(0o700)
    (stale / "lock").touch()
    (stale / "precious").touch()
    open_runtime_dir({"XDG_RUNTIME_DIR": runtime_base}).close()
    assert (stale / "precious").exists()


def test_link_that_looks_like_a_stale_directory_is_not_followed(runtime_base: str) -> None:
    target = Path(runtime_base, "target")
    target.mkdir(0o700)
    (target / "lock").touch()
    Path(runtime_base, "pycodex-link").symlink_to(target)
    open_runtime_dir({"XDG_RUNTIME_DIR": runtime_base}).close()
    assert (target / "lock").exists()


SWAPPER = """
import os, sys
base = sys.argv[1]
names = [os.path.join(base, name) for name in ("pycodex-stale", "elsewhere", "spare")]
print("ready", flush=True)
while True:
    os.rename(names[0], names[2])
    os.rename(names[1], names[0])
    os.rename(names[0], names[1])
    os.rename(names[2], names[0])
"""


def test_link_put_in_place_of_a_stale_directory_redirects_no_removal(
    runtime_base: str, scale: Callable[[int, int], int]
) -> None:
    """Another program of this user exchanges the two, again and again, while we sweep."""
    stale, target = Path(runtime_base, "pycodex-stale"), Path(runtime_base, "target")
    for folder in (stale, target):
        folder.mkdir(0o700)
        for name in ("s", "lock", "keeps it"):
            (folder / name).touch()
    Path(runtime_base, "elsewhere").symlink_to(target)
    swapper = subprocess.Popen(python_argv(SWAPPER, runtime_base), stdout=subprocess.PIPE, text=True, cwd="/")
    try:
        held_path(swapper)
        for _ in range(scale(2_000, 20_000)):
            open_runtime_dir({"XDG_RUNTIME_DIR": runtime_base}).close()
            for name in ("s", "lock"):
                assert (target / name).exists()
    finally:
        end(swapper)


def make_open_to_all(base: str) -> str:
    path = os.path.join(base, "open")
    os.mkdir(path)
    os.chmod(path, 0o777)
    return path


def make_too_long(base: str) -> str:
    path = os.path.join(base, "x" * 90)
    os.mkdir(path, 0o700)
    return path


def make_link(base: str) -> str:
    path = os.path.join(base, "link")
    os.symlink("/tmp", path)
    return path


@pytest.mark.parametrize(
    "make", [make_open_to_all, make_too_long, make_link, lambda _: "relative", lambda _: "/nonesuch"]
)
def test_unsuitable_place_is_passed_over(runtime_base: str, make: object) -> None:
    assert callable(make)
    given = make(runtime_base)
    temp = os.path.join(runtime_base, "t")
    os.mkdir(temp)
    with open_runtime_dir({"XDG_RUNTIME_DIR": given, "TMPDIR": temp}) as directory:
        assert not directory.path.startswith(os.path.join(given, ""))
        assert len(os.fsencode(directory.socket_path)) < 100
        assert stat.S_IMODE(os.stat(os.path.dirname(directory.path)).st_mode) & 0o022 == 0


def test_long_temp_directory_falls_back_to_a_short_one(runtime_base: str) -> None:
    with open_runtime_dir({"TMPDIR": make_too_long(runtime_base)}) as directory:
        assert len(os.fsencode(directory.socket_path)) < 100


def test_no_place_at_all_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a user to whom nothing belongs that can be made here."""
    monkeypatch.setattr(os, "geteuid", lambda: STRANGER)
    try:
        with pytest.raises(UserFacing, match="no private directory") as raised:
            open_runtime_dir({})
    finally:
        os.rmdir(f"/tmp/pycodex-{STRANGER}")
    assert "\n" not in str(raised.value)
