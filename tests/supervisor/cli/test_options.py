"""Splitting flags from words, with the reference's error texts."""

import pytest

from pycodex.supervisor.cli.options import CONFIG, BadUsage, Flag, Scanned, scan, scan_flags_only, similar

SWITCH = Flag("-s", "--switch")
VALUE = Flag("-v", "--value", value="WORD")
MANY = Flag("-m", "--many", value="FILE", greedy=True)
CHOICE = Flag("--choice", value="WORD", choices=("yes", "no"))
FLAGS = (SWITCH, VALUE, CONFIG, MANY, CHOICE)
USAGE = "prog [OPTIONS] [WORD]..."


def read(*argv: str) -> Scanned:
    return scan(argv, FLAGS, usage=USAGE)


@pytest.mark.parametrize(
    ("argv", "found", "rest"),
    [
        (("--switch", "w", "--switch"), [("--switch", "")], ["w", "--switch"]),
        (("-s", "--", "-s"), [("--switch", "")], ["-s"]),
        (("-v", "x"), [("--value", "x")], []),
        (("-vx",), [("--value", "x")], []),
        (("-v=x",), [("--value", "x")], []),
        (("--value=x=y",), [("--value", "x=y")], []),
        (("--value=",), [("--value", "")], []),
        (("-sv", "x"), [("--switch", ""), ("--value", "x")], []),
        (("-c", "a=1", "--config", "b=2"), [("--config", "a=1"), ("--config", "b=2")], []),
        (("-m", "a", "b", "-s", "c"), [("--many", "a"), ("--many", "b"), ("--switch", "")], ["c"]),
        (("-m", "a", "--", "b"), [("--many", "a")], ["b"]),
        (("--many=a", "b"), [("--many", "a")], ["b"]),
        (("--choice", "no"), [("--choice", "no")], []),
        (("-", "x"), [], ["-", "x"]),
        (("", "x"), [], ["", "x"]),
        ((), [], []),
    ],
)
def test_flags_end_at_the_first_word(argv: tuple[str, ...], found: list[tuple[str, str]], rest: list[str]) -> None:
    scanned = read(*argv)
    assert (scanned.found, scanned.rest) == (found, rest)


def test_dashes_are_told_apart_from_a_word() -> None:
    assert read("--", "linux").after_dashes
    assert not read("linux").after_dashes


def test_help_ends_the_reading() -> None:
    scanned = read("-s", "-h", "--nonsense")
    assert scanned.wants_help


def error_of(*argv: str) -> str:
    with pytest.raises(BadUsage) as caught:
        read(*argv)
    return str(caught.value)


MORE = "\n\nFor more information, try '--help'."
TAIL = f"\n\nUsage: {USAGE}{MORE}"


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (
            ("--nope",),
            "error: unexpected argument '--nope' found\n\n  tip: to pass '--nope' as a value, use '-- --nope'" + TAIL,
        ),
        (
            ("--swich",),
            "error: unexpected argument '--swich' found\n\n  tip: a similar argument exists: '--switch'\n"
            "  tip: to pass '--swich' as a value, use '-- --swich'" + TAIL,
        ),
        (("-xs",), "error: unexpected argument '-x' found\n\n  tip: to pass '-x' as a value, use '-- -x'" + TAIL),
        (("--switch=3",), "error: unexpected value '3' for '--switch' found; no more were expected" + TAIL),
        (("-s", "-s"), "error: the argument '--switch' cannot be used multiple times" + TAIL),
        (
            ("-v",),
            "error: a value is required for '--value <WORD>' but none was supplied" + MORE,
        ),
        (
            ("-c", "--switch"),
            "error: a value is required for '--config <key=value>' but none was supplied" + MORE,
        ),
        (
            ("-c", "--nope"),
            "error: unexpected argument '--nope' found\n\n  tip: to pass '--nope' as a value, use '-- --nope'" + TAIL,
        ),
        (("-m", ""), "error: a value is required for '--many <FILE>...' but none was supplied" + MORE),
        (
            ("--choice",),
            "error: a value is required for '--choice <WORD>' but none was supplied\n  [possible values: yes, no]"
            + MORE,
        ),
        (
            ("--choice", "yess"),
            "error: invalid value 'yess' for '--choice <WORD>'\n  [possible values: yes, no]\n\n"
            "  tip: a similar value exists: 'yes'" + MORE,
        ),
        (("-v", "\udcff"), "error: invalid UTF-8 was detected in one or more arguments" + TAIL),
    ],
)
def test_mistake_is_told_in_the_known_shape(argv: tuple[str, ...], text: str) -> None:
    assert error_of(*argv) == text


def test_words_where_none_belong_are_refused() -> None:
    with pytest.raises(BadUsage, match="error: unexpected argument 'word' found"):
        scan_flags_only(("word",), FLAGS, usage=USAGE)


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("sandboxx", ("color", "sandbox"), "sandbox"),
        ("jason", ("json", "oss"), "json"),
        ("i", ("image", "model"), "image"),
        ("color", ("json", "yolo", "last"), "yolo"),
        ("ad", ("sandbox", "add-dir"), "add-dir"),
        ("nope", ("json", "model"), None),
        ("", ("json",), None),
        ("x", (), None),
    ],
)
def test_the_most_similar_word_is_found(word: str, known: tuple[str, ...], meant: str | None) -> None:
    assert similar(word, known) == meant
