"""Quoted texts look as Rust prints them."""

import pytest

from pycodex.supervisor.text.quoting import quoted


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", '""'),
        ("plain 'words'", "\"plain 'words'\""),
        ('say "hi"\\', r'"say \"hi\"\\"'),
        ("a\tb\nc\rd\0", r'"a\tb\nc\rd\0"'),
        ("\x07\x7f\u00a0\u200b", r'"\u{7}\u{7f}\u{a0}\u{200b}"'),
        ("é€\U0001f600", '"é€\U0001f600"'),
        ("e\u0301", r'"e\u{301}"'),
    ],
)
def test_quoted(text: str, shown: str) -> None:
    assert quoted(text) == shown
