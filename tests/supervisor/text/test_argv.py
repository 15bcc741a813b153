"""A command line can be read, and a shell would split it into the same words."""

import json
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.supervisor.text.argv import UNSHOWABLE, shown


@pytest.mark.parametrize(
    ("word", "quoted"),
    [
        ("", "''"),
        ("a+b-c./:@]_9", "a+b-c./:@]_9"),
        ("a b", "'a b'"),
        ("a=b", "'a=b'"),
        ("[a]", "'[a]'"),
        ("ü", "'ü'"),
        ("a\nb", "'a\nb'"),
        ("it's", '''"it's"'''),
        ("a\\b", '''"a\\\\b"'''),
        ('say "hi"', "'say \"hi\"'"),
        ("'\"", '''"'\\""'''),
        ("$HOME", "'$HOME'"),
        ("it's $HOME", """"it's "'$HOME\'"""),
        ("a^b", "a'^b'"),
        ("^", "'^'"),
        ("^^", "'^''^'"),
        ("^'", "'^'\"'\""),
        ("printf 'x' $(seq 5)", """"printf 'x' "'$(seq 5)\'"""),
    ],
)
def test_word_is_quoted_as_the_reference_does(word: str, quoted: str) -> None:
    assert shown([word]) == quoted


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))))
def test_shell_splits_it_into_the_same_words(argv: list[str]) -> None:
    assert shlex.split(shown(argv)) == argv


@given(st.lists(st.text("ab'\"\\^$`! ", max_size=12)))
def test_shell_splits_special_characters_into_the_same_words(argv: list[str]) -> None:
    assert shlex.split(shown(argv)) == argv


def test_words_that_no_command_line_holds_are_not_shown() -> None:
    assert shown(["echo", "a\0b"]) == UNSHOWABLE


def test_recorded_commands_are_shown_the_same_way(shared_dir: Path) -> None:
    name = "exec-quoted-commands.json"
    turns = json.loads((shared_dir / "interop" / "scenarios" / name).read_text())["script"]
    outputs = json.loads((shared_dir / "interop" / "expected" / name).read_text())["model"]["outputs"]
    commands = [turn[0]["args"]["cmd"] for turn in turns if "args" in turn[0]]
    assert [f"Command: {shown(['/bin/bash', '-lc', command])}" for command in commands] == [
        each.partition("\nChunk ID")[0] for each in outputs
    ]
