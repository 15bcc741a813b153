"""`pycodex review` is `pycodex exec review` with fewer flags."""

from collections.abc import Callable

import pytest

from pycodex.supervisor.cli import review
from support.cli import Ended

Call = Callable[..., Ended]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--json",), "error: unexpected argument '--json' found"),
        (("-m", "x"), "error: unexpected argument '-m' found"),
        (("--uncommitted", "--base", "main"), "error: the argument '--uncommitted' cannot be used with"),
        (("a", "b"), "error: unexpected argument 'b' found"),
        (("--title", "t"), "error: the following required arguments were not provided"),
    ],
)
def test_wrong_arguments_are_told(pycodex: Call, arguments: tuple[str, ...], text: str) -> None:
    ended = pycodex("review", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(text)
    assert "Usage: pycodex review " in ended.err


def test_without_a_target_there_is_nothing_to_do(pycodex: Call) -> None:
    ended = pycodex("review")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == "Error: Specify --uncommitted, --base, --commit, or provide custom review instructions\n"


@pytest.mark.parametrize("arguments", [("review", "--help"), ("help", "review")])
def test_help_names_every_flag(pycodex: Call, arguments: tuple[str, ...]) -> None:
    ended = pycodex(*arguments)
    assert (ended.code, ended.err) == (0, "")
    assert [flag.key for flag in review.GRAMMAR.flags if flag.key not in ended.out] == []


def test_it_is_carried_out_where_exec_review_is(pycodex: Call) -> None:
    """Outside of a repository both refuse in the same words."""
    short, long = pycodex("review", "look"), pycodex("exec", "review", "look")
    assert short == long
    assert "Not inside a trusted directory" in short.err
