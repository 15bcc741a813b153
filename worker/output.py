"""Output of one job on its way up: sent while there is credit, bounded when there is not.

The newest bytes that have no credit wait, half of the job's cap at most for each stream; older ones are dropped and
counted. With a credit of half the cap and no more, that is head and tail of the output. Takes bytes, gives Output
frames; knows no descriptor.
"""

from pycodex.protocol.frames import STDERR, STDOUT, Output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


_FRAME_BYTES = 1 << 20


class _Stream:
    __slots__ = ("sequence", "skipped", "waiting")

    def __init__(self) -> None:
        self.sequence = 0
        self.skipped = 0
        self.waiting = bytearray()


class Outflow:
    """The streams of one job; `send` takes each frame as it becomes due."""

    def __init__(self, job_id: str, *, cap_bytes: int, credit_bytes: int, send: "Callable[[Output], None]") -> None:
        self._job_id = job_id
        self._half = max(1, cap_bytes // 2)
        self._credit = credit_bytes
        self._send = send
        self._streams = {STDOUT: _Stream(), STDERR: _Stream()}
        self.total_bytes = 0
        self.dropped_bytes = 0

    def feed(self, name: str, data: bytes) -> None:
        stream = self._streams[name]
        self.total_bytes += len(data)
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
