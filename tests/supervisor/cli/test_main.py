"""The argument tree: what exists, what does not, and how the program ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pycodex.supervisor.import_root import import_root
from pycodex.supervisor.version import VERSION
from support.cli import Ended, cli_argv
from support.interpreter import MINIMAL_ENV

Call = Callable[..., Ended]


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_version(flag: str, pycodex: Call) -> None:
    assert pycodex(flag) == Ended(0, f"codex-cli {VERSION}\n", "")


@pytest.mark.parametrize("arguments", [("--help",), ("-h",), ("help",), ("-c", "a=1", "--help")])
def test_help_is_an_answer(arguments: tuple[str, ...], pycodex: Call) -> None:
    ended = pycodex(*arguments)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("A coding agent for the terminal")


@pytest.mark.parametrize("command", ["sandbox", "debug", "doctor", "demo", "features"])
def test_every_listed_command_has_help(command: str, pycodex: Call) -> None:
    assert command in pycodex("--help").out
    shown = pycodex(command, "--help")
    assert (shown.code, shown.err) == (0, "")
    assert shown == pycodex("help", command) == pycodex(command, "-h")


def test_without_a_command_the_help_goes_to_stderr(pycodex: Call) -> None:
    assert pycodex() == Ended(2, "", pycodex("--help").out)


def test_unknown_flag_is_told_in_the_known_shape(pycodex: Call) -> None:
    assert pycodex("--nope") == Ended(
        2,
        "",
        "error: unexpected argument '--nope' found\n\nUsage: pycodex [OPTIONS] <COMMAND> [ARGS]\n\n"
        "For more information, try '--help'.\n",
    )


def test_unknown_feature_is_told(pycodex: Call) -> None:
    assert pycodex("--enable", "nope", "sandbox", "linux", "true") == Ended(
        1, "", "Error: Unknown feature flag: nope\n"
    )


def test_module_is_the_same_program(home: Path) -> None:
    code = "import runpy; sys.argv[0:1] = ['pycodex']; runpy.run_module('pycodex.supervisor', run_name='__main__')"
    from support.interpreter import python_argv

    done = subprocess.run(python_argv(code, "--version"), env=MINIMAL_ENV, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"codex-cli {VERSION}\n")


@pytest.mark.parametrize("arguments", [("--help",), ("--version",)])
def test_reader_that_went_away_is_no_crash(arguments: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(cli_argv(*arguments), env=MINIMAL_ENV, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")


@pytest.mark.parametrize("arguments", [("--help",), ("--version",)])
def test_full_disk_is_an_error(arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(cli_argv(*arguments), env=MINIMAL_ENV, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("sandbox", "linux", "--help")])
def test_closed_stdout_is_an_error(arguments: tuple[str, ...]) -> None:
    script = 'exec "$@" >&-'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *cli_argv(*arguments)], env=MINIMAL_ENV, stderr=subprocess.PIPE, check=False
    )
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr


def test_started_as_a_module_it_takes_no_code_from_the_workspace(home: Path, workspace: Path) -> None:
    """A command that fails is explained by modules that are loaded after it has run."""
    marker = home / "ran"
    plant = f"echo 'open({str(marker)!r}, {'w'!r})' | tee json.py re.py shlex.py sitecustomize.py; touch /proc/none"
    done = subprocess.run(
        [sys.executable, "-m", "pycodex.supervisor", "sandbox", "linux", "--full-auto", "--", "sh", "-c", plant],
        cwd=workspace,
        env={**MINIMAL_ENV, "CODEX_HOME": str(home), "PYTHONPATH": import_root()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert (workspace / "json.py").exists()
    assert not marker.exists()
