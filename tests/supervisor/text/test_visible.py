"""A person sees all of a text, and nothing that is not in it."""

import pytest

from pycodex.supervisor.text.visible import MOST_CHARACTERS, is_plain, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("zwei\nZeilen, größer", "zwei\nZeilen, größer"),
        ("a\x1b[2Jb", "a\\u{1b}[2Jb"),
        ("a\u202eb", "a\\u{202e}b"),
        ("a\rb\tc\0", "a\\u{d}b\\u{9}c\\u{0}"),
        ("a\u2028b", "a\\u{2028}b"),
        ("\ud800", "\\u{d800}"),
    ],
)
def test_what_cannot_be_printed_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_long_text_is_cut_and_says_so() -> None:
    assert visible("x" * MOST_CHARACTERS) == "x" * MOST_CHARACTERS
    assert visible("x" * (MOST_CHARACTERS + 1)) == "x" * MOST_CHARACTERS + " [...]"


def test_plain_is_what_is_shown_as_it_is() -> None:
    assert is_plain("größer *")
    assert not is_plain("a\x1bb")
