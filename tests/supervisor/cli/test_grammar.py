"""Words and flags in any order, and the usage line that an error shows."""

import pytest

from pycodex.supervisor.cli.grammar import Grammar, parse
from pycodex.supervisor.cli.options import VERSION, BadUsage, Flag

LOUD = Flag("-l", "--loud")
QUIET = Flag("-q", "--quiet")
NAME = Flag("-n", "--name", value="NAME")
INNER = Flag("--inner")
GRAMMAR = Grammar("prog", (LOUD, QUIET, NAME, VERSION, Flag("--hush", hidden=True)), ("ONE", "TWO"))
GRAMMAR.commands = {"go": (INNER,)}
GRAMMAR.exclusive = ((LOUD.key, QUIET.key, "TWO"),)
GRAMMAR.needs = {NAME.key: LOUD.key}


@pytest.mark.parametrize(
    ("argv", "found", "words", "command", "rest"),
    [
        (["a", "-l"], [("--loud", "")], ["a"], None, []),
        (["-l", "go", "-x", "y"], [("--loud", "")], [], "go", ["-x", "y"]),
        (["a", "go"], [], ["a"], "go", []),
        (["--", "go", "-l"], [], ["go", "-l"], None, []),
        (["a", "--", "b"], [], ["a", "b"], None, []),
        (["-lnx", "a"], [("--loud", ""), ("--name", "x")], ["a"], None, []),
    ],
)
def test_reading(
    argv: list[str], found: list[tuple[str, str]], words: list[str], command: str | None, rest: list[str]
) -> None:
    parsed = parse(argv, GRAMMAR)
    assert (parsed.flags.found, parsed.words, parsed.command, parsed.rest) == (found, words, command, rest)


@pytest.mark.parametrize("argv", [["-l", "-q", "-h"], ["-l", "-q", "-V", "--nope"], ["-Vx"]])
def test_a_question_is_answered_before_anything_is_checked(argv: list[str]) -> None:
    assert parse(argv, GRAMMAR).flags.asks


@pytest.mark.parametrize(
    ("argv", "message", "usage"),
    [
        (["a", "b", "c"], "unexpected argument 'c' found", "prog [OPTIONS] [ONE] [TWO] [COMMAND]"),
        (["-l", "a", "-q"], "the argument '--loud' cannot be used with '--quiet'", "prog --loud <ONE> [TWO]"),
        (
            ["-l", "a", "b", "-q"],
            "the argument '--loud' cannot be used with:\n  [TWO]\n  --quiet",
            "prog --loud <ONE> [TWO]",
        ),
        (
            ["-n", "x"],
            "the following required arguments were not provided:\n  --loud",
            "prog --loud --name <NAME> [ONE] [TWO]",
        ),
        (
            ["--huh"],
            "unexpected argument '--huh' found\n\n  tip: to pass '--huh' as a value, use '-- --huh'",
            "prog [OPTIONS] [ONE] [TWO] [COMMAND]",
        ),
        (
            ["--iner", "go"],
            "unexpected argument '--iner' found\n\n  tip: 'go --inner' exists",
            "prog [OPTIONS] [ONE] [TWO] [COMMAND]",
        ),
    ],
)
def test_mistakes(argv: list[str], message: str, usage: str) -> None:
    with pytest.raises(BadUsage) as caught:
        parse(argv, GRAMMAR)
    assert str(caught.value) == f"error: {message}\n\nUsage: {usage}\n\nFor more information, try '--help'."


def test_what_excludes_the_needed_flag_takes_its_place() -> None:
    assert parse(["-n", "x", "-q"], GRAMMAR).flags.has(NAME.key)
