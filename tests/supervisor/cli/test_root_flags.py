"""Flags before the subcommand: some reach it, the others are understood and left alone."""

from collections.abc import Callable

import pytest

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.cli.options import BadUsage, scan
from pycodex.supervisor.cli.root_flags import ROOT_FLAGS, RootFlags, inherited
from support.cli import Ended

USAGE = "prog [OPTIONS]"


def read(*argv: str) -> RootFlags:
    return inherited(scan(argv, ROOT_FLAGS, usage=USAGE, takes_words=False), "exec", USAGE)


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (("-m", "o3"), ("o3", False, False)),
        (("--full-auto",), (None, True, False)),
        (("--yolo",), (None, False, True)),
        (("-s", "read-only", "-C", "/x", "-p", "p", "-a", "never", "--search", "--oss"), (None, False, False)),
        (("-i", "a.png", "--add-dir", "d", "--no-alt-screen", "--local-provider", "x"), (None, False, False)),
    ],
)
def test_what_takes_effect(argv: tuple[str, ...], expected: tuple[str | None, bool, bool]) -> None:
    flags = read(*argv)
    assert (flags.model, flags.full_auto, flags.bypass) == expected


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (
            ("--yolo", "--full-auto"),
            "the argument '--dangerously-bypass-approvals-and-sandbox' cannot be used with '--full-auto'",
        ),
        (
            ("-a", "never", "--yolo"),
            (
                "the argument '--ask-for-approval <APPROVAL_POLICY>' cannot be used with "
                "'--dangerously-bypass-approvals-and-sandbox'"
            ),
        ),
    ],
)
def test_what_excludes_each_other(argv: tuple[str, ...], text: str) -> None:
    with pytest.raises(BadUsage) as caught:
        read(*argv)
    assert str(caught.value) == f"error: {text}\n\nUsage: {USAGE}\n\nFor more information, try '--help'."


def test_bad_choice_is_told() -> None:
    with pytest.raises(BadUsage, match=r"invalid value 'foo' for '--ask-for-approval <APPROVAL_POLICY>'\n  \[possible"):
        read("-a", "foo")


def test_remote_is_for_the_interactive_interface() -> None:
    with pytest.raises(UserFacing, match="`--remote ws://x` is only supported for interactive TUI commands, not `pyc"):
        read("--remote", "ws://x")


def test_other_commands_do_not_mind(pycodex: Callable[..., Ended]) -> None:
    assert pycodex("-m", "o3", "--full-auto", "-C", "/nowhere", "doctor", "--help").code == 0
