"""How messages reach a client and come from it, one at a time.

Owns the framing on byte streams: one message a line. What a message says is not known here. A wire is read by one task
and written by one task.
"""

import os
from collections.abc import Sequence
from typing import Protocol

import trio

MAX_MESSAGE_BYTES = 256 << 20
"""A message may hold pictures; nothing that anybody sends on purpose is longer."""
_BLOCK_BYTES = 64 << 10
_PIECE_BYTES = 4096
"""A pipe that is ready for writing takes at least this much without blocking."""


class WireClosed(Exception):
    """Nobody is at the other end any more."""


class Wire(Protocol):
    @property
    def waits_for_reader(self) -> bool:
        """Whether a client that does not read is waited for; else it is dropped once too much waits for it."""
        ...

    async def receive(self) -> bytes | None:
        """The next message; None after the last."""
        ...

    async def send(self, messages: Sequence[bytes]) -> None:
        """Raises WireClosed."""
        ...

    async def aclose(self) -> None: ...


class Lines:
    """Cuts a stream of bytes into lines. What is longer than any message ends the stream."""

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._searched = 0

    def feed(self, data: bytes) -> None:
        self._waiting += data

    @property
    def is_too_long(self) -> bool:
        return len(self._waiting) > MAX_MESSAGE_BYTES

    def next_line(self) -> bytes | None:
        """None until there is a whole one."""
        end = self._waiting.find(b"\n", self._searched)
        if end < 0:
            self._searched = len(self._waiting)
            return None
        line = bytes(self._waiting[:end])
        del self._waiting[: end + 1]
        self._searched = 0
        return line

    def rest(self) -> bytes | None:
        """What stands after the last end of a line, once no more will come."""
        line, self._waiting = bytes(self._waiting), bytearray()
        return line or None


def _as_lines(messages: Sequence[bytes]) -> bytes:
    return b"\n".join((*messages, b""))


class StdioWire:
    """Lines on two descriptors, which are left as they are: others may share them."""

    waits_for_reader = True

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._lines = Lines()

    async def receive(self) -> bytes | None:
        while (line := self._lines.next_line()) is None:
            data = b"" if self._lines.is_too_long else await self._read()
            if not data:
                return self._lines.rest()
            self._lines.feed(data)
        return line

    async def _read(self) -> bytes:
        try:
            await trio.lowlevel.wait_readable(self._read_fd)
        except OSError:
            # A file, which never blocks, or a descriptor that reading will tell more about.
            await trio.lowlevel.checkpoint()
        try:
            return os.read(self._read_fd, _BLOCK_BYTES)
        except OSError:
            return b""

    async def send(self, messages: Sequence[bytes]) -> None:
        waiting = memoryview(_as_lines(messages))
        while waiting:
            limit = _PIECE_BYTES
            try:
                await trio.lowlevel.wait_writable(self._write_fd)
            except OSError:
                await trio.lowlevel.checkpoint()
                limit = len(waiting)
            try:
                waiting = waiting[os.write(self._write_fd, waiting[:limit]) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise WireClosed from error

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()


class StreamWire:
    """Lines on a stream of trio's, such as a socket."""

    waits_for_reader = False

    def __init__(self, stream: trio.abc.Stream, first: bytes = b"") -> None:
        """`first` is what was read from it already."""
        self._stream = stream
        self._lines = Lines()
        self._lines.feed(first)

    async def receive(self) -> bytes | None:
        while (line := self._lines.next_line()) is None:
            try:
                data = b"" if self._lines.is_too_long else await self._stream.receive_some(_BLOCK_BYTES)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                return None
            if not data:
                return self._lines.rest()
            self._lines.feed(bytes(data))
        return line

    async def send(self, messages: Sequence[bytes]) -> None:
        try:
            await self._stream.send_all(_as_lines(messages))
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            raise WireClosed from error

    async def aclose(self) -> None:
        await trio.aclose_forcefully(self._stream)
