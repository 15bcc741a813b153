"""Messages are lines: whole, in order, of any size, whatever pieces they come in."""

import os

import pytest
import trio
import trio.testing

from pycodex.supervisor.frontends.app_server import transport
from pycodex.supervisor.frontends.app_server.transport import Lines, StdioWire, StreamWire, WireClosed


def test_lines_are_cut_wherever_the_pieces_end() -> None:
    lines = Lines()
    found = []
    for piece in (b'{"a', b'":1}\n\n{"b"', b":2}", b"\n", b"rest"):
        lines.feed(piece)
        while (line := lines.next_line()) is not None:
            found.append(line)
    assert found == [b'{"a":1}', b"", b'{"b":2}']
    assert lines.rest() == b"rest"
    assert lines.rest() is None


async def test_pipes_carry_messages_longer_than_they_hold() -> None:
    there, back = os.pipe(), os.pipe()
    wire = StdioWire(there[0], back[1])
    long = b"x" * (1 << 20)
    reader = StdioWire(back[0], there[1])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(wire.send, [long])
        assert await reader.receive() == long
    await reader.send([b"short", b"shorter"])
    os.close(there[1])
    assert await wire.receive() == b"short"
    assert await wire.receive() == b"shorter"
    assert await wire.receive() is None
    for fd in (there[0], *back):
        os.close(fd)


async def test_files_can_be_read_and_written() -> None:
    read_fd, write_fd = os.memfd_create("in"), os.memfd_create("out")
    os.write(read_fd, b"one\ntwo")
    os.lseek(read_fd, 0, os.SEEK_SET)
    wire = StdioWire(read_fd, write_fd)
    assert [await wire.receive() for _ in range(3)] == [b"one", b"two", None]
    await wire.send([b"answer"])
    assert os.pread(write_fd, 100, 0) == b"answer\n"
    os.close(read_fd)
    os.close(write_fd)


async def test_nobody_at_the_other_end_is_told() -> None:
    read_fd, write_fd = os.pipe()
    os.close(read_fd)
    with pytest.raises(WireClosed):
        await StdioWire(0, write_fd).send([b"x"])
    os.close(write_fd)
    ours, theirs = trio.testing.memory_stream_pair()
    await theirs.aclose()
    wire = StreamWire(ours)
    assert await wire.receive() is None
    with pytest.raises(WireClosed):
        await wire.send([b"x"])


async def test_what_never_ends_a_line_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MAX_MESSAGE_BYTES", 10)
    ours, theirs = trio.testing.memory_stream_pair()
    await theirs.send_all(b"x" * 20)
    wire = StreamWire(ours, b"first\n")
    assert await wire.receive() == b"first"
    assert await wire.receive() == b"x" * 20
