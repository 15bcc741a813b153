"""What a process has said: kept within bounds, and cut into pieces for those who watch.

Owns the two halves that are kept of a long output, and where output is cut so that pieces are text as far as the
output is. Does no I/O.
"""

import base64
from collections.abc import Iterator

from pycodex.supervisor.workers.capture import Captured

HALF_BYTES = 512 << 10
MAX_PIECE_BYTES = 8192
MAX_PIECES = 10_000
# A character takes no more, so so many bytes cannot all be the beginning of one.
_CHARACTER_BYTES = 4


class Transcript:
    """The beginning and the end of what was said; what does not fit between them is dropped without a mark."""

    __slots__ = ("_head", "_tail", "has_gap")

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self.has_gap = False
        """Whether anything was dropped."""

    def add(self, data: bytes) -> None:
        self.has_gap = self.has_gap or not self.fits(data)
        room = HALF_BYTES - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail += data[-HALF_BYTES:]
            del self._tail[: max(0, len(self._tail) - HALF_BYTES)]

    def fits(self, data: bytes) -> bool:
        """Whether nothing will have to be dropped for it."""
        return len(self._head) + len(self._tail) + len(data) <= 2 * HALF_BYTES

    @property
    def data(self) -> bytes:
        return bytes(self._head + self._tail)

    def text(self) -> str:
        """As UTF-8; what is none becomes U+FFFD."""
        return (self._head + self._tail).decode("utf-8", "replace")

    def take(self) -> str:
        """The text so far, which is then forgotten."""
        text = self.text()
        self._head.clear()
        self._tail.clear()
        self.has_gap = False
        return text


class Pieces:
    """Cuts output between characters. A byte that belongs to none is a piece of its own."""

    __slots__ = ("_left", "_pending")

    def __init__(self) -> None:
        self._pending = b""
        self._left = MAX_PIECES

    def cut(self, output: Captured) -> Iterator[str]:
        """Pieces in base64. What may still become a character waits for what comes next."""
        if self._left:
            self._pending += output.data
            yield from self._pieces(final=False)

    def rest(self) -> Iterator[str]:
        yield from self._pieces(final=True)

    def _pieces(self, *, final: bool) -> Iterator[str]:
        data = self._pending
        at = 0
        while at < len(data) and self._left:
            size = _whole_characters(data[at : at + MAX_PIECE_BYTES])
            if not size:
                if not final and _is_unfinished(data[at : at + _CHARACTER_BYTES]):
                    break
                size = 1
            yield base64.b64encode(data[at : at + size]).decode("ascii")
            at += size
            self._left -= 1
        self._pending = data[at:] if self._left else b""


def _whole_characters(data: bytes) -> int:
    """How many bytes from the beginning are text."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return len(data)


def _is_unfinished(data: bytes) -> bool:
    """Whether these bytes are the beginning of a character."""
    if len(data) >= _CHARACTER_BYTES:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return False
