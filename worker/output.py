"""Output of one job on its way up: sent while there is credit, bounded when there is not.

The newest bytes that have no credit wait, half of the job's cap at most for each stream; older ones are dropped and
counted. With a credit of half the cap and no more, that is head and tail of the output. Of the first so many bytes
nothing has to be dropped: whoever feeds them can see that there is no credit, and wait. Where only the head of each
stream is wanted, the rest is counted and never sent. Takes bytes, gives Output frames; knows no descriptor.
"""

from pycodex.protocol.frames import STDERR, STDOUT, Output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


_FRAME_BYTES = 1 << 20


class _Stream:
    __slots__ = ("room", "sequence", "skipped", "waiting")

    def __init__(self, room: int | None) -> None:
        self.room = room
        self.sequence = 0
        self.skipped = 0
        self.waiting = bytearray()


class Outflow:
    """The streams of one job; `send` takes each frame as it becomes due."""

    def __init__(
        self,
        job_id: str,
        *,
        cap_bytes: int,
        credit_bytes: int,
        send: "Callable[[Output], None]",
        lossless_bytes: int = 0,
        head_bytes: int | None = None,
    ) -> None:
        self._job_id = job_id
        self._lossless_bytes = lossless_bytes
        self._half = max(1, cap_bytes // 2)
        self._credit = credit_bytes
        self._send = send
        self._streams = {STDOUT: _Stream(head_bytes), STDERR: _Stream(head_bytes)}
        self.total_bytes = 0
        self.dropped_bytes = 0

    def feed(self, name: str, data: bytes) -> None:
        stream = self._streams[name]
        self.total_bytes += len(data)
        if stream.room is not None:
            data = self._head_of(data, stream, stream.room)
            if not data:
                return
        if not stream.waiting and len(data) <= self._credit:
            self._credit -= len(data)
            self._emit(name, stream, data)
            return
        stream.waiting += data
        self._spend()
        excess = len(stream.waiting) - self._half
        if excess > 0:
            del stream.waiting[:excess]
            stream.skipped += excess
            self.dropped_bytes += excess

    def _head_of(self, data: bytes, stream: _Stream, room: int) -> bytes:
        kept = data[:room]
        stream.room = room - len(kept)
        self.dropped_bytes += len(data) - len(kept)
        return kept

    @property
    def is_congested(self) -> bool:
        """Whether more should wait, so that nothing is dropped that was to be kept."""
        waiting = sum(len(stream.waiting) for stream in self._streams.values())
        return waiting > 0 and self.total_bytes - waiting < self._lossless_bytes

    def grant(self, size_bytes: int) -> None:
        self._credit += max(0, size_bytes)
        self._spend()

    def finish(self) -> None:
        """Send what still waits; it is bounded, so no credit is asked for."""
        for name, stream in self._streams.items():
            if stream.waiting or stream.skipped:
                self._emit(name, stream, bytes(stream.waiting))
                stream.waiting.clear()

    def _spend(self) -> None:
        for name, stream in self._streams.items():
            size = min(self._credit, len(stream.waiting))
            if size > 0:
                self._credit -= size
                self._emit(name, stream, bytes(stream.waiting[:size]))
                del stream.waiting[:size]

    def _emit(self, name: str, stream: _Stream, data: bytes) -> None:
        """One frame, or several of a size that always fits."""
        for start in range(0, max(1, len(data)), _FRAME_BYTES):
            self._emit_frame(name, stream, data[start : start + _FRAME_BYTES])

    def _emit_frame(self, name: str, stream: _Stream, data: bytes) -> None:
        self._send(
            Output(job_id=self._job_id, stream=name, sequence=stream.sequence, data=data, skipped_bytes=stream.skipped)
        )
        stream.sequence += 1
        stream.skipped = 0
