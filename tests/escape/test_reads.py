"""Denied reads are denied by every name, and what shells and pycodex read later cannot be changed."""

import shutil
import sys
from pathlib import Path

import pytest

from support.escape.attack import Attack, attacker_argv, confined, prove, run, stop
from support.escape.command import Command
from support.escape.fingerprint import fingerprint
from support.escape.world import AUTH_SECRET, MODES, READ_ONLY, WITH_NETWORK, WORKSPACE_WRITE, Mode, World
from support.interpreter import IMPORT_PATH
from support.tree import ROOT, top_packages

FAMILY = "reads"
ATTACKS = [
    Attack("write_codex_home", "R03"),
    Attack("write_shell_files", "R04"),
    Attack("write_interpreter", "R04", never="pycodex would import it"),
]


@pytest.fixture
def secretive(world: World) -> World:
    """Somebody logged in, and a link to the login waits in the workspace."""
    denied = world.codex_home / "auth.json"
    (world.ws / "secret-link").symlink_to(denied)
    packages = {path for path in sys.path if Path(path).is_dir() and not path.startswith("/tmp/")}
    world.extra |= {"denied": str(denied), "secret": AUTH_SECRET, "import_directories": sorted(packages)}
    return world


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_works_without_a_sandbox(secretive: World, attack: Attack) -> None:
    prove(secretive, FAMILY, attack)


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_is_stopped(secretive: World, attack: Attack, mode: Mode) -> None:
    stop(secretive, FAMILY, attack, mode)


@pytest.mark.parametrize("place", ["ws", "scratch"])
def test_our_own_directory_is_protected_wherever_it_lies(secretive: World, place: str) -> None:
    """Somebody keeps CODEX_HOME in a project, or below /tmp, where commands may write."""
    inside = getattr(secretive, place) / "state"
    shutil.move(secretive.codex_home, inside)
    secretive.codex_home = inside
    stop(secretive, FAMILY, ATTACKS[0], WORKSPACE_WRITE)


def test_the_login_can_be_read_without_a_sandbox(secretive: World) -> None:
    prove(secretive, FAMILY, Attack("read_secret", "R02"))


def test_the_login_cannot_be_read_where_it_could_be_sent_away(secretive: World) -> None:
    """R02: reading is free while nothing can leave; with the network on it is not."""
    stop(secretive, FAMILY, Attack("read_secret", "R02"), WITH_NETWORK)


def test_the_rest_of_the_disk_can_be_read(secretive: World) -> None:
    """R01: the default modes let a command read what its user can."""
    secretive.extra |= {"denied": str(secretive.home / ".bashrc"), "secret": "# rc"}
    outcome = run(secretive, confined(secretive, READ_ONLY, attacker_argv(FAMILY, "read_secret", secretive)))
    assert "open" in outcome.report["detail"]["worked"]


def test_our_own_code_is_protected_wherever_it_lies(world: World) -> None:
    """Somebody works on pycodex with pycodex, or installed it into the project: what it rewrites would run free."""
    package = world.ws / "lib" / "pycodex"
    for name in top_packages():
        shutil.copytree(ROOT / name, package / name, ignore=shutil.ignore_patterns("__pycache__"))
    world.extra["package"] = str(package)
    command = confined(world, WORKSPACE_WRITE, attacker_argv(FAMILY, "rewrite_own_code", world))
    argv = [word.replace(repr(IMPORT_PATH), repr(str(package.parent))) for word in command.argv]
    assert argv != command.argv
    argv.insert(1, "-B")
    before = fingerprint(package)
    outcome = run(world, Command(argv, command.env))
    assert fingerprint(package) == before
    assert not outcome.achieved, outcome.report
