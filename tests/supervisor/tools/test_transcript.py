"""Long output keeps its two ends; pieces for watchers are text as far as the output is."""

import base64
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.supervisor.tools.transcript import HALF_BYTES, MAX_PIECE_BYTES, MAX_PIECES, Pieces, Transcript
from pycodex.supervisor.workers.capture import Captured


def cut(chunks: Iterable[bytes]) -> list[bytes]:
    pieces = Pieces()
    found = [piece for chunk in chunks for piece in pieces.cut(Captured(chunk))]
    return [base64.b64decode(piece) for piece in (*found, *pieces.rest())]


def test_short_output_is_kept_whole_until_it_is_taken() -> None:
    transcript = Transcript()
    transcript.add(b"one ")
    transcript.add("zwö".encode())
    assert transcript.text() == "one zwö"
    assert transcript.take() == "one zwö"
    assert transcript.text() == ""


@pytest.mark.parametrize("size", [1, 1000, 70_000, HALF_BYTES, 3 * HALF_BYTES])
def test_of_long_output_both_ends_are_kept(size: int) -> None:
    data = b"".join(b"%09d\n" % number for number in range(200_000))
    transcript = Transcript()
    for start in range(0, len(data), size) if size > 1 else (0,):
        transcript.add(data[start : start + size] if size > 1 else data)
    assert transcript.text().encode() == data[:HALF_BYTES] + data[-HALF_BYTES:]


def test_what_does_not_fit_is_known_beforehand_and_afterwards() -> None:
    transcript = Transcript()
    transcript.add(bytes(HALF_BYTES + 10))
    assert transcript.fits(bytes(HALF_BYTES - 10))
    assert not transcript.fits(bytes(HALF_BYTES - 9))
    seen = []
    for data in (bytes(HALF_BYTES - 10), b"x", b""):
        transcript.add(data)
        seen.append(transcript.has_gap)
    transcript.take()
    seen.append(transcript.has_gap)
    assert seen == [False, True, True, False]


def test_bytes_are_told_as_they_came() -> None:
    transcript = Transcript()
    transcript.add(b"a\xff" * HALF_BYTES)
    assert transcript.data == b"a\xff" * HALF_BYTES
    transcript.add(b"end")
    assert transcript.data == b"a\xff" * (HALF_BYTES // 2) + (b"a\xff" * HALF_BYTES + b"end")[-HALF_BYTES:]


def test_what_is_no_text_is_replaced() -> None:
    transcript = Transcript()
    transcript.add(b"a\xff\xfeb caf\xe9 \xe2\x82")
    assert transcript.text() == "a\ufffd\ufffdb caf\ufffd \ufffd"


@pytest.mark.parametrize(
    ("chunks", "pieces"),
    [
        ([b"hello"], [b"hello"]),
        ([b"a", b"b"], [b"a", b"b"]),
        (["é".encode()[:1], "é".encode()[1:]], ["é".encode()]),
        ([b"x\xe2\x82", b"\xac"], [b"x", "€".encode()]),
        ([b"a\xffb"], [b"a", b"\xff", b"b"]),
        ([b"a\xe2\x82"], [b"a", b"\xe2", b"\x82"]),
        ([b"\xe2\x82", b"z"], [b"\xe2", b"\x82", b"z"]),
        ([b"\xf0\x9f\x98", b""], [b"\xf0", b"\x9f", b"\x98"]),
        ([b""], []),
    ],
)
def test_pieces_are_cut_between_characters(chunks: list[bytes], pieces: list[bytes]) -> None:
    assert cut(chunks) == pieces


@given(st.lists(st.binary(max_size=12) | st.text(max_size=6).map(lambda text: text.encode("utf-8", "replace"))))
def test_pieces_lose_nothing(chunks: list[bytes]) -> None:
    assert b"".join(cut(chunks)) == b"".join(chunks)


def test_pieces_are_bounded_in_size_and_number() -> None:
    text = ("€" * 5000).encode()
    assert [len(piece) for piece in cut([text])] == [MAX_PIECE_BYTES - 2, 15_000 - (MAX_PIECE_BYTES - 2)]
    assert len(cut([b"\xff" * (MAX_PIECES + 5)])) == MAX_PIECES
    assert len(cut([b"x"] * (MAX_PIECES + 5))) == MAX_PIECES
