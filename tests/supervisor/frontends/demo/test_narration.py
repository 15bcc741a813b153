"""What is said around the turn is true and can be used."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pycodex.protocol.confinement import Confinement, Enforced
from pycodex.supervisor.config.config import Flags
from pycodex.supervisor.config.load import load_config
from pycodex.supervisor.frontends.demo import story
from pycodex.supervisor.frontends.demo.narration import SNIPPET, Narrator
from pycodex.supervisor.frontends.demo.scene import Scene, scratch
from pycodex.supervisor.frontends.exec.style import Style
from support.exec_events import command_begins, command_ends

NOWHERE = Confinement()


@pytest.fixture
def scene() -> Iterator[Scene]:
    with scratch({"PATH": os.environ["PATH"], "XDG_CACHE_HOME": "/var/tmp"}) as made:
        yield made


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def narrator(scene: Scene, told: list[str]) -> Narrator:
    return Narrator(told.append, Style(colour=False), scene)


def run_through(narrator: Narrator, **exit_codes: int) -> None:
    codes = {**dict.fromkeys(story.ALLOWED, 0), **dict.fromkeys(story.REFUSED, 1)}
    codes |= {name.replace("_", "-"): code for name, code in exit_codes.items()}
    for call_id, code in codes.items():
        narrator.after(command_ends(call_id, "sh", exit_code=code), NOWHERE)


def test_the_snippet_is_a_configuration_that_works(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(SNIPPET)
    env = {"CODEX_HOME": str(tmp_path)}
    config = load_config(env=env, overrides=[], cwd=str(tmp_path), flags=Flags(), system_dir=str(tmp_path / "none"))
    assert (config.provider.id, config.provider.base_url) == ("mine", "http://localhost:8000/v1")
    assert (config.model, config.provider.env_key) == ("MODEL", "MINE_API_KEY")
    assert config.unknown_keys == ()
    assert len(SNIPPET.splitlines()) == 4


def test_what_the_machine_enforces_is_named(narrator: Narrator, told: list[str]) -> None:
    narrator.open(Enforced(level="full", userns=True, landlock_abi=6))
    assert "(namespaces, Landlock, seccomp)" in "".join(told)


def test_each_command_is_announced(narrator: Narrator, told: list[str]) -> None:
    for call_id in (*story.ALLOWED, *story.REFUSED):
        narrator.before(command_begins(call_id, "sh"))
    assert "".join(told).count("▸ ") == len(story.ALLOWED) + len(story.REFUSED)


def test_refusal_is_told_as_one(narrator: Narrator, told: list[str]) -> None:
    narrator.after(command_ends(story.HOOK, "cp", exit_code=1, output="no"), NOWHERE)
    assert told == ["▸ Refused: the sandbox did not allow it\n"]


def test_all_as_announced_is_no_surprise(narrator: Narrator, told: list[str]) -> None:
    run_through(narrator)
    assert list(narrator.surprises()) == []
    narrator.close([])
    assert "Everything went as announced" in "".join(told)
    assert "    model_provider = " in "".join(told)


@pytest.mark.parametrize("call_id", story.REFUSED)
def test_success_of_what_must_be_refused_is_a_surprise(narrator: Narrator, call_id: str) -> None:
    run_through(narrator, **{call_id: 0})
    assert list(narrator.surprises()) == [f"the call `{call_id}` should have been refused, but succeeded"]


@pytest.mark.parametrize("call_id", story.ALLOWED)
def test_failure_of_what_must_succeed_is_a_surprise(narrator: Narrator, call_id: str) -> None:
    run_through(narrator, **{call_id: 7})
    assert list(narrator.surprises()) == [f"the call `{call_id}` should have succeeded, but ended with 7"]


def test_the_disk_is_believed_rather_than_exit_codes(narrator: Narrator, scene: Scene) -> None:
    run_through(narrator)
    scene.hook.write_text("#!/bin/sh\n")
    (scene.home / ".git-hooks").mkdir()
    assert list(narrator.surprises()) == ["there is a git hook", "the home directory was changed"]


def test_surprises_are_told_instead_of_what_comes_next(narrator: Narrator, told: list[str]) -> None:
    narrator.close(["the turn failed"])
    assert "This did not go as announced:\n  the turn failed\n" in "".join(told)
    assert "real model" not in "".join(told)
