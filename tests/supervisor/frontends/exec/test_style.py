"""When there is colour, and what a terminal is spared."""

import pytest

from pycodex.supervisor.frontends.exec.style import BOLD, RED, Style, harmless, wants_colour

XTERM = {"TERM": "xterm"}


@pytest.mark.parametrize(
    ("choice", "env", "is_terminal", "colour"),
    [
        ("auto", XTERM, True, True),
        ("auto", XTERM, False, False),
        ("auto", {"TERM": "dumb"}, True, False),
        ("auto", {}, True, False),
        ("auto", {**XTERM, "NO_COLOR": "1"}, True, False),
        ("auto", {**XTERM, "NO_COLOR": ""}, True, True),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, True),
        ("auto", {"FORCE_COLOR": "0"}, False, False),
        ("always", {"NO_COLOR": "1", "TERM": "dumb"}, False, True),
        ("never", {**XTERM, "FORCE_COLOR": "1"}, True, False),
    ],
)
def test_colour(choice: str, env: dict[str, str], is_terminal: bool, colour: bool) -> None:
    assert wants_colour(choice, env, is_terminal=is_terminal) is colour


def test_paint() -> None:
    assert Style(colour=True).paint("x", BOLD, RED) == "\x1b[1m\x1b[31mx\x1b[0m\x1b[0m"
    assert Style(colour=False).paint("x", BOLD, RED) == "x"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ünïcode 🌐", "plain ünïcode 🌐"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("a\r\nb", "a\nb"),
        ("\x1b[2Jx\x00\x7f\x85", "\\x1b[2Jx\\x00\\x7f\\x85"),
    ],
)
def test_harmless(text: str, shown: str) -> None:
    assert harmless(text) == shown
