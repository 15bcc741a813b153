"""The shell is the one asked for, or another of its kind, or sh."""

from pathlib import Path

import pytest

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.turn_context import Shell
from pycodex.supervisor.tools import shells

BASH = Shell(name="bash", path="/bin/bash")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/bin/bash", "bash"),
        ("zsh", "zsh"),
        ("/usr/bin/bash.exe", "bash"),
        ("/x/sh", "sh"),
        ("pwsh", "pwsh"),
        ("powershell.exe", "pwsh"),
        ("cmd.exe", "cmd"),
        ("/usr/bin/fish", None),
        ("/bin/dash", None),
        ("bash.old.exe", "bash"),
        (".bash", None),
        ("", None),
    ],
)
def test_kind_is_the_last_name(path: str, kind: str | None) -> None:
    assert shells.kind_of(path) == kind


def test_shell_that_exists_is_taken_as_it_is(tmp_path: Path) -> None:
    own = tmp_path / "zsh"
    own.touch()
    assert shells.chosen(str(own), users=BASH, env={}) == Shell(name="zsh", path=str(own))


@pytest.mark.parametrize("asked", ["bash", "/nonexistent/bash", "/usr/bin/bash.exe"])
def test_users_own_stands_in_for_a_missing_one_of_its_kind(asked: str) -> None:
    assert shells.chosen(asked, users=BASH, env={}) == BASH


def test_path_is_searched_for_another_kind(tmp_path: Path) -> None:
    found = tmp_path / "zsh"
    found.touch(mode=0o755)
    assert shells.chosen("zsh", users=BASH, env={"PATH": str(tmp_path)}) == Shell(name="zsh", path=str(found))


@pytest.mark.parametrize("asked", ["fish", "", "/bin/dash", "cmd", "/nowhere/pwsh"])
def test_last_resort_is_sh(asked: str) -> None:
    assert shells.chosen(asked, users=BASH, env={"PATH": "/nowhere"}) == Shell(name="sh", path="/bin/sh")


def test_nothing_asked_is_the_users() -> None:
    assert shells.chosen(None, users=BASH, env={}) is BASH


@pytest.mark.parametrize(
    ("asked", "allowed", "login"),
    [(None, True, True), (None, False, False), (True, True, True), (False, True, False), (False, False, False)],
)
def test_login(asked: bool | None, allowed: bool, login: bool) -> None:
    assert shells.wants_login(asked, allowed=allowed) is login


def test_login_that_is_not_allowed_is_refused() -> None:
    with pytest.raises(ModelFacing, match=r"^login shell is disabled by config; omit `login` or set it to false\.$"):
        shells.wants_login(True, allowed=False)


@pytest.mark.parametrize(
    ("name", "login", "argv"),
    [
        ("bash", True, ("/p", "-lc", "x y")),
        ("sh", False, ("/p", "-c", "x y")),
        ("pwsh", True, ("/p", "-Command", "x y")),
        ("pwsh", False, ("/p", "-NoProfile", "-Command", "x y")),
        ("cmd", True, ("/p", "/c", "x y")),
    ],
)
def test_argv(name: str, login: bool, argv: tuple[str, ...]) -> None:
    assert shells.argv_for(Shell(name=name, path="/p"), "x y", login=login) == argv


def test_name_of_any_length_is_read_at_once() -> None:
    endings = ".a" * 1_000_000
    assert shells.kind_of(f"/bin/bash{endings}") == "bash"
    assert shells.kind_of(f"/bin/other{endings}") is None
