"""Lines of a file, in both directions."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.supervisor.rollout import lines
from pycodex.supervisor.rollout.lines import BLOCK_BYTES, backwards, forwards


def both(data: bytes, max_line_bytes: int = 1 << 20) -> list[bytes]:
    """What forwards gives, after checking that backwards gives the same."""
    there = [line.rstrip(b"\n") for line in forwards(io.BytesIO(data), max_line_bytes=max_line_bytes)]
    back = list(backwards(io.BytesIO(data), end=len(data), max_line_bytes=max_line_bytes))[::-1]
    if data.endswith(b"\n") or not data:
        assert back.pop() == b""
    assert back == there
    return there


@pytest.mark.parametrize(
    "data",
    [b"", b"a", b"a\n", b"a\nb", b"\n\n\na\n", b"a\n" + b"x" * (BLOCK_BYTES * 2 + 1) + b"\nb\n", b"a" * BLOCK_BYTES],
)
def test_lines_are_the_same_in_both_directions(data: bytes) -> None:
    assert both(data) == data.split(b"\n")[: -1 if data.endswith(b"\n") or not data else None]


@given(st.lists(st.sampled_from([b"", b"a", b"bc", b"d" * 9]), max_size=20), st.booleans(), st.integers(1, 7))
def test_blocks_may_end_anywhere(parts: list[bytes], ends: bool, block_bytes: int) -> None:
    data = b"\n".join(parts) + (b"\n" if ends and parts else b"")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK_BYTES", block_bytes)
        both(data)


def test_line_of_any_length_is_passed_over_without_being_held() -> None:
    long = b"x" * (BLOCK_BYTES * 5)
    assert list(forwards(io.BytesIO(b"a\n" + long + b"\nb\n"), max_line_bytes=100)) == [b"a\n", b"b\n"]
    data = b"a\n" + long + b"\nb"
    assert list(backwards(io.BytesIO(data), end=len(data), max_line_bytes=100)) == [b"b", b"a"]
    assert list(backwards(io.BytesIO(long), end=len(long), max_line_bytes=100)) == []
    assert list(forwards(io.BytesIO(long), max_line_bytes=100)) == []


def test_reading_stops_where_it_is_told_to() -> None:
    data = b"a\nb\nc\n"
    assert list(forwards(io.BytesIO(data), end=4)) == [b"a\n", b"b\n"]
    assert list(backwards(io.BytesIO(data), end=3)) == [b"b", b"a"]
