"""Colours where they are wanted, and text that gets out whatever it holds."""

import os
import pty
import subprocess

import pytest

from pycodex.supervisor.cli.terminal import Palette, prefers_colour
from support.interpreter import MINIMAL_ENV, python_argv


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm", "NO_COLOR": ""}, True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
        ({}, False),
    ],
)
def test_colour_on_a_terminal_follows_the_environment(env: dict[str, str], expected: bool) -> None:
    master, slave = pty.openpty()
    try:
        assert prefers_colour(env, slave) is expected
    finally:
        os.close(master)
        os.close(slave)


def test_pipe_is_not_coloured() -> None:
    reader, writer = os.pipe()
    try:
        assert not prefers_colour({"TERM": "xterm"}, writer)
    finally:
        os.close(reader)
        os.close(writer)


def test_closed_descriptor_is_not_coloured() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    os.close(writer)
    assert not prefers_colour({"TERM": "xterm"}, writer)


def test_palette_without_colour_changes_nothing() -> None:
    assert Palette(colour=False).bad("x") == "x"
    assert Palette(colour=True).bad("x") == "\x1b[31mx\x1b[0m"


def test_text_that_the_encoding_cannot_show_is_escaped() -> None:
    code = "from pycodex.supervisor.cli.terminal import say; say('a\\u2713\\udcffb')"
    argv = python_argv("import io; sys.stdout = io.TextIOWrapper(io.BytesIO(), encoding='ascii')\n" + code)
    done = subprocess.run(argv, env=MINIMAL_ENV, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"a\\u2713\\udcffb\n")
