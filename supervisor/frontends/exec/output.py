"""Writing to stdout and stderr, completely.

Owns what happens between a text and the descriptor: short writes, descriptors that do not block, readers that are slow
and readers that went away. Text is queued without waiting and written by a flush: the one for trio can be cancelled
while the reader sleeps, and what it had not written stays queued. Knows nothing of what is said.
"""

import errno
import os
from select import select

import trio

from pycodex.protocol.errors import UserFacing

STDOUT = 1
STDERR = 2
_PIECE_BYTES = 4096
"""A pipe that is ready for writing takes at least this much without blocking."""


class ReaderGone(Exception):
    """Nobody reads any more. The run ends quietly, with EXIT_CODE."""

    EXIT_CODE = 141


class Output:
    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._waiting = bytearray()
        self._turn = trio.Lock()
        self._broken = False

    def is_terminal(self) -> bool:
        try:
            return os.isatty(self.fd)
        except OSError:
            return False

    def write(self, text: str) -> None:
        if not self._broken:
            self._waiting += text.encode("utf-8", "replace")

    def write_line(self, text: str) -> None:
        self.write(text + "\n")

    def flush_now(self) -> None:
        """Blocks until everything is written."""
        while self._waiting:
            if not self._write_some(len(self._waiting)):
                select([], [self.fd], [])

    async def flush(self) -> None:
        async with self._turn:
            while self._waiting:
                try:
                    await trio.lowlevel.wait_writable(self.fd)
                except OSError:
                    # A file, which never blocks, or a descriptor that writing will tell more about.
                    self._write_some(len(self._waiting))
                else:
                    self._write_some(_PIECE_BYTES)

    def _write_some(self, limit: int) -> bool:
        """False if the descriptor would have blocked."""
        try:
            written = os.write(self.fd, self._waiting[:limit])
        except BlockingIOError:
            return False
        except OSError as error:
            self._waiting.clear()
            self._fail(error)
            return True
        del self._waiting[:written]
        return True

    def _fail(self, error: OSError) -> None:
        if error.errno == errno.EPIPE:
            raise ReaderGone from None
        if self.fd != STDERR:
            raise UserFacing(f"cannot write to standard output: {error.strerror}") from None
        # There is nobody left to tell; the answer on stdout still counts.
        self._broken = True
