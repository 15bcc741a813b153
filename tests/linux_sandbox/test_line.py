"""What goes over the line arrives; what a box should not say is not believed."""

import marshal
import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.linux_sandbox.line import MAX_TOLD_BYTES, hear, order, take_order, tell

Ends = tuple[int, int]

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@pytest.fixture
def pipe() -> Iterator[Ends]:
    ends = os.pipe()
    yield ends
    for fd in ends:
        try:
            os.close(fd)
        except OSError:
            # Closed by the test.
            continue


def heard(body: bytes) -> object:
    """What is made of bytes that somebody put on the line."""
    reader, writer = os.pipe()
    try:
        os.write(writer, len(body).to_bytes(4, "little") + body)
        os.close(writer)
        return hear(reader)
    finally:
        os.close(reader)


@given(st.lists(VALUES, max_size=4))
def test_what_is_told_is_heard(message: list[Any]) -> None:
    reader, writer = os.pipe()
    try:
        tell(writer, *message)
        assert hear(reader) == tuple(message)
    finally:
        os.close(reader)
        os.close(writer)


def test_names_that_are_no_text_survive(pipe: Ends) -> None:
    tell(pipe[1], "failed", os.fsdecode(b"/a\xff"), 2)
    assert hear(pipe[0]) == ("failed", os.fsdecode(b"/a\xff"), 2)


def test_orders_arrive(pipe: Ends) -> None:
    order(pipe[1], {"argv": ("a", b"\0"), "depth": [[[[[[[[[[1]]]]]]]]]]})
    assert take_order(pipe[0]) == ({"argv": ("a", b"\0"), "depth": [[[[[[[[[[1]]]]]]]]]]},)


@pytest.mark.parametrize("listen", [hear, take_order])
@pytest.mark.parametrize("sent", [b"", b"\x05\0", b"\x05\0\0\0abc"])
def test_end_in_the_midst_is_an_end(pipe: Ends, listen: Any, sent: bytes) -> None:
    os.write(pipe[1], sent)
    os.close(pipe[1])
    assert listen(pipe[0]) is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"n",
        b"i1;",
        b"l1;",
        b"l2;n",
        b"l1;nn",
        b"l-1;n",
        b"l1;s99;abc",
        b"l1;s-1;abc",
        b"l1;m1;i1;n",
        b"l1;m1;s1;a",
        b"l999999999;",
        b"l1;ix;",
        b"l1;z1;",
        b"l1;i" + b"9" * 5000 + b";",
        b"l1;" * 2000,
        marshal.dumps(("ended", {})),
    ],
)
def test_what_makes_no_sense_is_not_believed(body: bytes) -> None:
    assert heard(body) is None


def test_what_is_too_long_is_not_even_read(pipe: Ends) -> None:
    os.write(pipe[1], (MAX_TOLD_BYTES + 1).to_bytes(4, "little"))
    assert hear(pipe[0]) is None


@given(st.binary(max_size=64))
def test_no_bytes_do_harm(body: bytes) -> None:
    assert heard(body) is None or isinstance(heard(body), tuple)
