"""One command in the caller's own process: how it ends is told, signals reach it, and nothing of it is left."""

import json
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from pycodex.protocol.confinement import Confinement, Entry, Limits
from support.interpreter import MINIMAL_ENV, python_argv
from support.marked import Mark
from support.waiting import eventually

CONFINED = Confinement()
UNCONFINED = Confinement(unconfined_because="a test")
BOTH = pytest.mark.parametrize("confinement", [CONFINED, UNCONFINED], ids=["confined", "unconfined"])

# Runs each command of a list, one after the other in one process, and tells on descriptor 3 how each ended.
CALLER = """
import json, os
from pycodex.linux_sandbox.once import run_once
from pycodex.protocol.confinement import CannotExec, Confinement, Unenforceable
confinement = Confinement.from_plain(json.loads(sys.argv[1]))
told = []
for argv in json.loads(sys.argv[3]):
    try:
        told.append(run_once(confinement, argv=argv, cwd=sys.argv[2], env=dict(os.environ)).to_plain())
    except CannotExec as error:
        told.append({"errno": error.errno, "subject": error.subject})
    except Unenforceable as error:
        told.append({"refused": str(error)})
os.write(int(sys.argv[4]), json.dumps(told).encode())
"""


class Call:
    """A process that runs commands with `run_once`; its streams are pipes."""

    def __init__(self, commands: Sequence[Sequence[str]], confinement: Confinement, *, cwd: str = "/") -> None:
        read, write = os.pipe()
        plain = json.dumps(confinement.to_plain())
        self._told = os.fdopen(read)
        self.process = subprocess.Popen(
            python_argv(CALLER, plain, cwd, json.dumps(commands), str(write)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=MINIMAL_ENV,
            pass_fds=(write,),
            start_new_session=True,
        )
        os.close(write)
        self.out = b""

    def first_line(self) -> bytes:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def finish(self) -> list[dict[str, Any]]:
        with self._told:
            self.out, err = self.process.communicate(timeout=60)
            # A shell may say what its own children died of.
            assert self.process.returncode == 0
            assert b"Traceback" not in err
            told: list[dict[str, Any]] = json.load(self._told)
            return told


def shell(script: str, confinement: Confinement, **options: Any) -> Call:
    return Call([["/bin/sh", "-c", script]], confinement, **options)


@BOTH
def test_codes_and_signals_are_told(confinement: Confinement) -> None:
    scripts = ("exit 0", "exit 7", "kill -TERM $$", "kill -9 $$")
    call = Call([["/bin/sh", "-c", script] for script in scripts], confinement)
    ends = [(told["code"], told["signal"], told["interrupted_by"]) for told in call.finish()]
    assert ends == [(0, None, None), (7, None, None), (None, 15, None), (None, 9, None)]


@BOTH
def test_exec_failures_are_told_with_what_and_why(confinement: Confinement, tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    commands = [["/nonesuch"], ["nonesuch-program"], [str(tmp_path / "plain")], ["true"]]
    told = Call(commands, confinement).finish()
    assert [(each["errno"], each["subject"]) for each in told[:3]] == [
        (2, "/nonesuch"),
        (2, "nonesuch-program"),
        (13, str(tmp_path / "plain")),
    ]
    assert told[3]["code"] == 0


@BOTH
def test_directory_that_is_missing_is_told(confinement: Confinement) -> None:
    assert shell("exit 0", confinement, cwd="/nonesuch").finish() == [{"errno": 2, "subject": "/nonesuch"}]


def test_rule_that_cannot_be_kept_is_refused_and_nothing_runs(tmp_path: Path) -> None:
    wrong = Confinement(
        entries=(Entry(path=str(tmp_path), access="write"), Entry(path=str(tmp_path / "gone"), access="read"))
    )
    [told] = shell(f"touch {tmp_path}/trace", wrong).finish()
    assert "gone" in told["refused"]
    assert list(tmp_path.iterdir()) == []


@BOTH
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT])
def test_signal_ends_the_command_and_its_tree(confinement: Confinement, number: signal.Signals) -> None:
    mark = Mark()
    call = shell(mark.family(), confinement)
    assert call.first_line() == b"complete\n"
    eventually(lambda: len(mark.sleepers()) == 3)
    call.process.send_signal(number)
    [told] = call.finish()
    assert told["interrupted_by"] == number
    assert told["signal"] == number
    assert mark.alive() == set()


@BOTH
def test_command_decides_how_it_ends(confinement: Confinement) -> None:
    call = shell("trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.01; done", confinement)
    assert call.first_line() == b"ready\n"
    call.process.terminate()
    [told] = call.finish()
    assert (told["code"], told["signal"], told["interrupted_by"]) == (5, None, signal.SIGTERM)
    assert call.out == b"bye\n"


@BOTH
def test_command_that_ignores_the_signal_is_killed_after_a_while(confinement: Confinement) -> None:
    mark = Mark()
    call = shell(f"trap '' TERM; echo ready; sleep {mark}; echo never", confinement)
    assert call.first_line() == b"ready\n"
    eventually(mark.sleepers)
    call.process.terminate()
    [told] = call.finish()
    assert (told["code"], told["signal"], told["interrupted_by"]) == (None, signal.SIGKILL, signal.SIGTERM)
    assert call.out == b""
    assert mark.alive() == set()


@BOTH
def test_second_signal_reaches_the_command_too(confinement: Confinement) -> None:
    call = shell(
        "trap 'echo one' TERM; trap 'echo two; exit 4' HUP; echo ready; while :; do sleep 0.01; done", confinement
    )
    assert call.first_line() == b"ready\n"
    call.process.terminate()
    assert call.first_line() == b"one\n"
    call.process.send_signal(signal.SIGHUP)
    [told] = call.finish()
    assert (told["code"], told["interrupted_by"]) == (4, signal.SIGTERM)


def test_confined_daemons_end_with_the_command() -> None:
    mark = Mark()
    call = shell(mark.family("exit 6"), CONFINED)
    [told] = call.finish()
    assert told["code"] == 6
    assert mark.alive() == set()


def test_killed_caller_takes_the_confined_tree_along() -> None:
    mark = Mark()
    call = shell(mark.family(), CONFINED)
    assert call.first_line() == b"complete\n"
    eventually(lambda: len(mark.sleepers()) == 3)
    call.process.kill()
    call.process.communicate()
    call._told.close()
    eventually(lambda: not mark.alive(), 2, what="end of the tree")


def test_killed_first_process_is_told_as_a_signal() -> None:
    mark = Mark()
    call = shell(mark.family(), CONFINED)
    assert call.first_line() == b"complete\n"
    [first] = psutil.Process(call.process.pid).children()
    first.kill()
    [told] = call.finish()
    assert (told["code"], told["signal"], told["interrupted_by"]) == (None, signal.SIGKILL, None)
    assert mark.alive() == set()


def test_limit_is_told_as_a_note() -> None:
    mark = Mark()
    call = shell(
        f"n=0; while [ $n -lt 30 ]; do sleep {mark} & n=$((n + 1)); done; wait", Confinement(limits=Limits(processes=8))
    )
    [told] = call.finish()
    assert told["signal"] == signal.SIGKILL
    assert told["notes"] == ["limit processes = 8 exceeded"]
    assert mark.alive() == set()


@BOTH
def test_streams_are_the_callers_and_nothing_else_is_open(confinement: Confinement) -> None:
    call = shell("echo out; ls /proc/self/fd | tr '\\n' ' '", confinement)
    call.finish()
    assert call.out == b"out\n0 1 2 3 "


@BOTH
def test_callers_own_signal_mask_is_restored(confinement: Confinement) -> None:
    """Else the second call could not be interrupted, nor the caller itself."""
    mark = Mark()
    call = Call([["true"], ["/bin/sh", "-c", f"echo ready; sleep {mark}"]], confinement)
    assert call.first_line() == b"ready\n"
    eventually(mark.sleepers)
    call.process.send_signal(signal.SIGHUP)
    first, second = call.finish()
    assert first["code"] == 0
    assert second["interrupted_by"] == signal.SIGHUP
