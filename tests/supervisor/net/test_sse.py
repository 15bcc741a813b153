"""However the bytes are cut, the same events come out."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.supervisor.net.sse import EventTooLarge, SseDecoder


def decoded(*chunks: bytes) -> list[str]:
    decoder = SseDecoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return [*events, *decoder.finish()]


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"", []),
        (b"\n\n\n", []),
        (b"data: a\n\n", ["a"]),
        (b"data:a\n\n", ["a"]),
        (b"data:  a\n\n", [" a"]),
        (b"data\n\n", [""]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]),
        (b"data: a\r\rdata: b\r\r", ["a", "b"]),
        (b"data: a\ndata: b\n\n", ["a\nb"]),
        (b": comment\n\nevent: x\nid: 1\nretry: 5\ndata: a\n\n", ["a"]),
        (b"event: x\n\n", []),
        (b"\xef\xbb\xbfdata: a\n\n", ["a"]),
        (b"database: no\nxdata: no\ndata: a\n\n", ["a"]),
        ("data: grüße €\n\n".encode(), ["grüße €"]),
        (b"data: \xff\n\n", ["\N{REPLACEMENT CHARACTER}"]),
        (b"data: the end comes early", ["the end comes early"]),
        (b"data: the end comes early\n", ["the end comes early"]),
    ],
)
def test_stream_gives_these_events(stream: bytes, events: list[str]) -> None:
    assert decoded(stream) == events
    assert decoded(*(stream[at : at + 1] for at in range(len(stream)))) == events
    for at in range(len(stream)):
        assert decoded(stream[:at], stream[at:]) == events


@given(st.binary(max_size=400), st.lists(st.integers(0, 400), max_size=8))
def test_garbage_is_read_the_same_however_it_is_cut(stream: bytes, cuts: list[int]) -> None:
    places = sorted({0, len(stream), *(cut for cut in cuts if cut <= len(stream))})
    pieces = [stream[start:end] for start, end in pairwise(places)]
    assert decoded(*pieces) == decoded(stream)


def test_a_large_event_in_small_pieces_is_whole() -> None:
    text = "x" * 3_000_000
    whole = f"data: {text}\n\n".encode()
    assert decoded(*(whole[at : at + 4096] for at in range(0, len(whole), 4096))) == [text]


@pytest.mark.parametrize(
    "stream", [b"data: " + b"x" * 100, b"x" * 100, b"data: 12345\n" * 20, b"data\n" * 100, b"data:\n" * 100]
)
def test_an_event_above_the_cap_is_refused(stream: bytes) -> None:
    decoder = SseDecoder(most_event_bytes=64)
    pieces = (stream[at : at + 1] for at in range(len(stream)))
    with pytest.raises(EventTooLarge, match="larger than 64 bytes"):
        list(map(decoder.feed, pieces))


def test_the_cap_is_for_one_event_not_for_all() -> None:
    decoder = SseDecoder(most_event_bytes=64)
    for _ in range(100):
        assert decoder.feed(b": comment\ndata: 12345678\n\n") == ["12345678"]
