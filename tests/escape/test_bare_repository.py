"""A workspace without `.git` does not come out of a call as a repository whose settings git obeys."""

import shutil
import subprocess
from pathlib import Path

import pytest

from support.escape.attack import attacker_argv, confined, finish, run, start, unconfined
from support.escape.command import Command
from support.escape.fingerprint import fingerprint
from support.escape.world import WITH_NETWORK, WORKSPACE_WRITE, Mode, World, git
from support.interpreter import MINIMAL_ENV
from support.no_namespaces import without_namespaces

FAMILY = "git_metadata"
WRITABLE = (WORKSPACE_WRITE, WITH_NETWORK)
LANDLOCK_ONLY = Mode("landlock", ("--full-auto", "-c", "sandbox.landlock_only=true"))


def is_obeyed(world: World) -> bool:
    """Whether what the attacker left runs when somebody asks git for the status, outside."""
    environment = MINIMAL_ENV | {"HOME": str(world.home), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "status"], cwd=world.ws, env=environment, check=False, capture_output=True)
    return Path(world.extra["proof"]).exists()


@pytest.fixture
def tempting(world: World) -> World:
    """A workspace that is no repository."""
    shutil.rmtree(world.ws / ".git")
    world.extra["proof"] = str(world.home / "proof")
    return world


@pytest.mark.parametrize("name", ["become_bare", "borrow_objects"])
class TestBecomingARepository:
    """G22: no `.git` is needed to be one."""

    def test_works_without_a_sandbox(self, tempting: World, name: str) -> None:
        run(tempting, unconfined(tempting, attacker_argv(FAMILY, name, tempting)))
        assert is_obeyed(tempting)

    @pytest.mark.parametrize("empty_git", [False, True])
    @pytest.mark.parametrize("closed", [False, True])
    @pytest.mark.parametrize("mode", WRITABLE, ids=str)
    def test_is_undone_and_told(self, tempting: World, name: str, mode: Mode, closed: bool, empty_git: bool) -> None:
        if empty_git:
            (tempting.ws / ".git").mkdir()
        tempting.extra["closed"] = closed
        outcome = run(tempting, confined(tempting, mode, attacker_argv(FAMILY, name, tempting)))
        assert outcome.achieved
        assert f"{tempting.ws} was made a git repository during the call" in outcome.stderr
        assert not is_obeyed(tempting)

    def test_is_undone_without_namespaces(self, tempting: World, name: str) -> None:
        command = confined(tempting, LANDLOCK_ONLY, attacker_argv(FAMILY, name, tempting))
        outcome = run(tempting, Command(without_namespaces(command.argv), command.env))
        assert "was made a git repository" in outcome.stderr
        assert not is_obeyed(tempting)


def test_a_bare_repository_keeps_its_settings_and_hooks(tempting: World) -> None:
    shutil.rmtree(tempting.ws)
    tempting.ws.mkdir()
    git("init", "-q", "--bare", ".", cwd=tempting.ws)
    before = fingerprint(tempting.ws / "config", tempting.ws / "hooks")
    tempting.extra["commondir"] = str(tempting.ws)
    for name in ("append_config", "add_hook"):
        outcome = run(tempting, confined(tempting, WORKSPACE_WRITE, attacker_argv(FAMILY, name, tempting)))
        assert not outcome.achieved, outcome
    assert fingerprint(tempting.ws / "config", tempting.ws / "hooks") == before
    script = "git symbolic-ref HEAD refs/heads/other && git hash-object -w --stdin </dev/null"
    process = start(tempting, confined(tempting, WORKSPACE_WRITE, ["/bin/sh", "-c", script]))
    assert (finish(process)[1], process.returncode) == (b"", 0)


def test_a_file_called_head_is_just_a_file(tempting: World) -> None:
    process = start(tempting, confined(tempting, WORKSPACE_WRITE, ["/bin/sh", "-c", "echo x >HEAD; mkdir refs"]))
    assert (finish(process)[1], process.returncode) == (b"", 0)
    assert (tempting.ws / "HEAD").read_text(encoding="ascii") == "x\n"
