"""Words that would start a conversation are refused, each in the way that fits the place."""

import os
import pty
import subprocess
from pathlib import Path

import pytest

from support.cli import cli_argv, run_cli
from support.interpreter import MINIMAL_ENV


def on_a_terminal(*arguments: str, cwd: Path) -> tuple[int, str]:
    """The exit code and stderr of a call whose stdin is a terminal."""
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            cli_argv(*arguments),
            cwd=cwd,
            env={**MINIMAL_ENV, "TERM": "xterm"},
            stdin=theirs,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    return done.returncode, done.stderr


@pytest.mark.parametrize("words", [("hello",), ("resume", "--last"), ("fork",)])
def test_without_a_terminal_there_is_nobody_to_talk_to(words: tuple[str, ...]) -> None:
    refused = run_cli(*words, env={"TERM": "xterm"})
    assert (refused.code, refused.out, refused.err) == (1, "", "Error: stdin is not a terminal\n")


@pytest.mark.parametrize("word", ["mcp", "apply", "completion"])
def test_subcommand_of_codex_is_not_taken_for_a_task(word: str) -> None:
    refused = run_cli(word)
    assert refused.code == 2
    assert refused.err.startswith(f"error: there is no subcommand '{word}' here yet\n")


def test_dumb_terminal_is_named() -> None:
    refused = run_cli("hello", env={"TERM": "dumb"})
    assert refused.code == 1
    assert refused.err.startswith('ERROR: TERM is set to "dumb". Refusing to start the interactive TUI')


def test_slip_of_the_pen_is_corrected(tmp_path: Path) -> None:
    code, err = on_a_terminal("exex", cwd=tmp_path)
    assert code == 2
    assert err == (
        "error: unrecognized subcommand 'exex'\n\n  tip: a similar subcommand exists: 'exec'\n"
        "  tip: to give the agent a task, use 'pycodex exec'\n\n"
        "Usage: pycodex [OPTIONS] <COMMAND> [ARGS]\n\nFor more information, try '--help'.\n"
    )


@pytest.mark.parametrize(
    ("word", "code", "advice"),
    [("resume", 1, "use: pycodex exec resume"), ("hello", 2, "to give the agent a task, use 'pycodex exec'")],
)
def test_on_a_terminal_the_way_out_is_told(tmp_path: Path, word: str, code: int, advice: str) -> None:
    ended, err = on_a_terminal(word, cwd=tmp_path)
    assert ended == code
    assert advice in err
