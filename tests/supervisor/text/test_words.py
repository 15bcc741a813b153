"""A line falls into the words that a shell would see, as the reference splits it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.supervisor.text.argv import shown
from pycodex.supervisor.text.words import split_words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", []),
        (" \t\n", []),
        ("a  b\tc\nd", ["a", "b", "c", "d"]),
        ("a\r b\x0bc", ["a\r", "b\x0bc"]),
        ("'b c' \"d e\" f\\ g", ["b c", "d e", "f g"]),
        ("''", [""]),
        ("a''b\"c\"'d'", ["abcd"]),
        (r""""\$\`\"\\" "\z" \z '\z'""", ['$`"\\', "\\z", "z", "\\z"]),
        ("a\\\nb \"c\\\nd\" 'e\\\nf'", ["ab", "cd", "e\\\nf"]),
        ("a \\\n b", ["a", "", "b"]),
        ("a#b # c 'd\n e", ["a#b", "e"]),
        ("# a", []),
        ("$HOME *.py", ["$HOME", "*.py"]),
    ],
)
def test_line_is_split_as_the_reference_does(line: str, words: list[str]) -> None:
    assert split_words(line) == words


@pytest.mark.parametrize("line", ["a '", 'a "', "a \\", '"\\', '"a\\"', "'a\\'b'"])
def test_unfinished_line_has_no_words(line: str) -> None:
    assert split_words(line) is None


@given(st.lists(st.text(st.characters(exclude_characters="\0")), max_size=4))
def test_what_is_shown_is_split_into_the_same_words(argv: list[str]) -> None:
    assert split_words(shown(argv)) == argv


@given(st.text())
def test_any_line_is_split_or_refused(line: str) -> None:
    words = split_words(line)
    assert words is None or "".join(words).count("x") <= line.count("x")
