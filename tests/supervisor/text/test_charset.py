"""Any bytes become text; those of UTF-8 exactly theirs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.supervisor.text.charset import as_text, windows_1252


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_utf8_is_what_it_says(text: str) -> None:
    assert as_text(text.encode()) == text


@given(st.binary(max_size=300))
def test_nothing_fails(data: bytes) -> None:
    assert isinstance(as_text(data), str)
    assert isinstance(as_text(data, is_cut=True), str)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"a\xff\xfeb", "aÿþb"),
        (b"caf\xe9", "café"),
        (b"caf\xe9\n", "café\n"),
        (b"don\x92t", "don\u2019t"),
        (b"\x93x\x94", "\u201cx\u201d"),
        (b"\x96 \x97 \x85", "\u2013 \u2014 …"),
        (b"na\xefve r\xe9sum\xe9", "naïve résumé"),
        (b"\x1b[31m\xe9\x1b[0m", "\x1b[31mé\x1b[0m"),
        (b"\x81", "\x81"),
        (b"\xff", "ÿ"),
        (b"\xff\xfea\x00b\x00", "ab"),
        (b"\xfe\xff\x00a", "a"),
        (b"\xef\xbb\xbfhi\xff", "\ufeffhi\ufffd"),
    ],
)
def test_what_is_not_utf8_reads_as_the_reference_reads_it(data: bytes, text: str) -> None:
    assert as_text(data) == text


def test_windows_1252_reads_every_byte() -> None:
    data = bytes(range(256))
    text = windows_1252(data)
    assert len(text) == 256
    assert text[:0x80] == data[:0x80].decode("ascii")
    assert text[0xA0:] == data[0xA0:].decode("latin-1")
    assert text[0x80:0x83] == "€\x81\u201a"


@pytest.mark.parametrize("size", range(11))
def test_last_character_of_a_cut_text_is_left_out_if_it_is_not_whole(size: int) -> None:
    whole = "aé€😀"
    data = whole.encode()[:size]
    assert as_text(data, is_cut=True) == data.decode("utf-8", "ignore")


def test_character_that_is_whole_or_no_utf8_stays_at_the_cut() -> None:
    assert as_text("é".encode(), is_cut=True) == "é"
    assert as_text(b"caf\xe9s", is_cut=True) == "cafés"
