"""Attacks as data, and the two things done with each: shown to work without a sandbox, shown to be stopped by it.

Owns what counts as proof and as stopped. The programs themselves are in `escape/programs/`; the sandbox is reached
through the command line only.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from support.escape.command import Command, bare, sandboxed
from support.escape.victim import PROGRAMS
from support.escape.world import READ_ONLY, Mode, World, changes
from support.waiting import eventually

EXIT_CODE = 23
DEADLINE_SECONDS = 30
MISSING = frozenset({"ENOSYS", "EAFNOSUPPORT", "EPROTONOSUPPORT", "ENOTTY", "EOPNOTSUPP", "ENOTSUP", "EINVAL"})


@dataclass(frozen=True)
class Attack:
    """One attempt: a function of a program in `escape/programs/`.

    `never` says why it is not tried without a sandbox. `by_report`: success leaves no trace on the host, the attacker's
    word must do. `root_only`: it takes root to succeed, so only root's proof counts. `may_be_missing`: a kernel or file
    system without the feature makes the proof impossible. `harmless_inside`: it may succeed within the sandbox, as long
    as nothing on the host changes.
    """

    name: str
    row: str = ""
    never: str = ""
    by_report: bool = False
    root_only: bool = False
    may_be_missing: bool = False
    harmless_inside: bool = False

    def __str__(self) -> str:
        return f"{self.row}-{self.name}" if self.row else self.name


@dataclass(frozen=True)
class Outcome:
    """What the attacker said and how its process ended."""

    report: dict[str, Any]
    returncode: int
    stderr: str

    @property
    def achieved(self) -> bool:
        return bool(self.report["achieved"])


def attacker_argv(family: str, name: str, world: World, **extra: object) -> list[str]:
    description = json.dumps(world.plain() | {"exit_code": EXIT_CODE} | extra)
    return [sys.executable, "-I", "-S", "-B", str(PROGRAMS / "run.py"), family, name, description]


def confined(world: World, mode: Mode, argv: Sequence[str]) -> Command:
    """The command line that runs `argv` in the sandbox."""
    return sandboxed(mode.options, argv, world.environment)


def unconfined(world: World, argv: Sequence[str]) -> Command:
    return bare(argv, world.environment)


def start(world: World, command: Command, **options: Any) -> "subprocess.Popen[bytes]":
    """In a session of its own: an attack on the process group must not reach the tests."""
    defaults: dict[str, Any] = {
        "cwd": world.ws,
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "start_new_session": True,
    }
    return subprocess.Popen(command.argv, env=command.env, **(defaults | options))


def finish(process: "subprocess.Popen[bytes]") -> tuple[bytes, bytes]:
    try:
        return process.communicate(timeout=DEADLINE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        pytest.fail(f"no end after {DEADLINE_SECONDS} s: {process.args!r:.400}\n{out!r:.2000}\n{err!r:.2000}")


def run(world: World, command: Command, **options: Any) -> Outcome:
    process = start(world, command, **options)
    out, err = finish(process)
    lines = out.decode(errors="replace").splitlines()
    if not lines or not lines[-1].startswith("{"):
        pytest.fail(
            f"the attacker did not report: exit {process.returncode}\n{out!r:.2000}\n{err.decode(errors='replace')}"
        )
    return Outcome(json.loads(lines[-1]), process.returncode, err.decode(errors="replace"))


def prove(world: World, family: str, attack: Attack) -> None:
    """The attack works where nothing stops it, or it would prove nothing that it is stopped."""
    if attack.never:
        pytest.skip(f"never without a sandbox: {attack.never}")
    if attack.root_only and os.geteuid() != 0:
        pytest.skip("takes root to succeed")
    before = world.observe(READ_ONLY)
    outcome = run(world, unconfined(world, attacker_argv(family, attack.name, world)))
    if attack.may_be_missing and outcome.report["errno"] in MISSING:
        pytest.skip(f"not to be had here: {outcome.report['detail']}")
    assert outcome.achieved, outcome.report
    if not attack.by_report:
        assert changes(before, world.observe(READ_ONLY)) != []


def stop(world: World, family: str, attack: Attack, mode: Mode) -> Outcome:
    """In the sandbox it changes nothing on the host, leaves nothing running, and the exit code is still its own."""
    before = world.observe(mode)
    outcome = run(world, confined(world, mode, attacker_argv(family, attack.name, world)))
    eventually(lambda: not world.survivors(), what="end of all processes of the call")
    assert changes(before, world.observe(mode)) == []
    assert outcome.returncode == EXIT_CODE, outcome
    if not attack.harmless_inside:
        assert not outcome.achieved, outcome.report
    return outcome
