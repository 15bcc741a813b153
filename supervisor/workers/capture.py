"""Where a job's output goes in the supervisor, and how little of it can be kept there.

Owns the three ways to hold output: whole until the end, as facts for a reader, and as a buffer that is polled. All of
it came from a worker and is bounded: bytes by the job's allowance, entries by the limits here. Does no I/O.
"""

from collections import deque
from dataclasses import dataclass
from typing import Protocol

from pycodex.protocol.frames import STDERR, STDOUT, Output

# Beyond so many waiting entries the exact interleaving of the two streams is given up to save memory.
MERGE_AT_ENTRIES = 1024
MAX_ENTRIES = 4096


@dataclass(frozen=True, slots=True)
class Captured:
    """One stream: its beginning, how many bytes are missing in the middle, and its end."""

    head: bytes = b""
    dropped_bytes: int = 0
    tail: bytes = b""

    @property
    def data(self) -> bytes:
        """What is there, without a mark where something is missing."""
        return self.head + self.tail if self.tail else self.head


class Sink(Protocol):
    """Takes a job's output. `wakes`: whoever waits for the job wants to know of its start and of each piece."""

    wakes: bool

    def add(self, output: Output) -> bool:
        """False when it is more than an honest worker sends."""
        ...


class _Halves:
    """Bytes before and after a gap. With more than one gap, only what follows the last one is the tail."""

    __slots__ = ("dropped_bytes", "head", "tail")

    def __init__(self) -> None:
        self.head = bytearray()
        self.tail = bytearray()
        self.dropped_bytes = 0

    def add(self, data: bytes, skipped_bytes: int) -> None:
        if skipped_bytes:
            self.dropped_bytes += len(self.tail) + skipped_bytes
            self.tail = bytearray(data)
        elif self.dropped_bytes:
            self.tail += data
        else:
            self.head += data

    def captured(self) -> Captured:
        return Captured(bytes(self.head), self.dropped_bytes, bytes(self.tail))


class Collector:
    """Keeps both streams until the end."""

    wakes = False

    def __init__(self) -> None:
        self._streams = {STDOUT: _Halves(), STDERR: _Halves()}

    def add(self, output: Output) -> bool:
        self._streams[output.stream].add(output.data, output.skipped_bytes)
        return True

    def captured(self, stream: str) -> Captured:
        return self._streams[stream].captured()


class _Piece:
    """Output that waits for its reader, and to which more can be appended."""

    __slots__ = ("data", "first")

    def __init__(self, first: Output) -> None:
        self.first = first
        self.data: bytearray | None = None

    def append(self, data: bytes) -> None:
        if self.data is None:
            self.data = bytearray(self.first.data)
        self.data += data

    def as_output(self) -> Output:
        return self.first if self.data is None else self.first.replace(data=bytes(self.data))


class OutputQueue:
    """Keeps pieces in their order for one reader. What the reader is late for is joined to larger pieces."""

    wakes = True

    def __init__(self) -> None:
        self._pieces: deque[_Piece] = deque()

    def add(self, output: Output) -> bool:
        piece = self._joinable(output)
        if piece is not None:
            piece.append(output.data)
            return True
        self._pieces.append(_Piece(output))
        return len(self._pieces) <= MAX_ENTRIES

    def _joinable(self, output: Output) -> _Piece | None:
        pieces = self._pieces
        if not pieces or output.skipped_bytes:
            return None
        if pieces[-1].first.stream == output.stream:
            return pieces[-1]
        if len(pieces) >= MERGE_AT_ENTRIES and pieces[-2].first.stream == output.stream:
            return pieces[-2]
        return None

    def take(self) -> Output | None:
        return self._pieces.popleft().as_output() if self._pieces else None


class PollBuffer:
    """Keeps both streams as one, oldest first, until they are polled."""

    wakes = True

    def __init__(self) -> None:
        self._queue = OutputQueue()
        self._next: Output | None = None
        self.waiting_bytes = 0

    def add(self, output: Output) -> bool:
        self.waiting_bytes += len(output.data)
        # Which stream it was does not matter to whoever polls, and one stream joins best.
        return self._queue.add(output if output.stream == STDOUT else output.replace(stream=STDOUT))

    @property
    def is_empty(self) -> bool:
        if self._next is None:
            self._next = self._queue.take()
        return self._next is None

    def take(self, max_bytes: int) -> Captured:
        """Up to `max_bytes` of the oldest; a gap inside them separates head and tail."""
        halves = _Halves()
        room = max_bytes
        while not self.is_empty and self._next is not None:
            piece = self._next
            if halves.dropped_bytes and piece.skipped_bytes:
                break
            data = piece.data[:room]
            halves.add(data, piece.skipped_bytes)
            room -= len(data)
            self.waiting_bytes -= len(data)
            rest = piece.data[len(data) :]
            self._next = piece.replace(data=rest, skipped_bytes=0) if rest else None
            if rest:
                break
        return halves.captured()

    def take_rest(self) -> Captured:
        """All of it at once; with more than one gap, what lies between them counts as dropped."""
        halves = _Halves()
        while not self.is_empty and self._next is not None:
            halves.add(self._next.data, self._next.skipped_bytes)
            self._next = None
        self.waiting_bytes = 0
        return halves.captured()
