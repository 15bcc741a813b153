"""Server-sent events, cut anywhere.

Owns the framing and nothing above it: bytes in as they arrive, the `data` of whole events out. Other fields are of no
use to us. Does no I/O.
"""

_BOM = b"\xef\xbb\xbf"
MOST_EVENT_BYTES = 64 << 20


class EventTooLarge(ValueError):
    """One event exceeds the cap."""


class SseDecoder:
    def __init__(self, most_event_bytes: int = MOST_EVENT_BYTES) -> None:
        self._most = most_event_bytes
        self._line = bytearray()
        """The beginning of a line whose end has not come yet."""
        self._data: bytearray | None = None
        """The `data` lines of the event so far; None before the first. In one piece: even empty ones take room."""
        self._after_cr = False
        self._at_start = True

    def feed(self, chunk: bytes) -> list[str]:
        """The data of the events that end in this chunk."""
        if self._after_cr and chunk:
            # The other half of a CRLF that was cut in two.
            chunk = chunk[1:] if chunk[:1] == b"\n" else chunk
            self._after_cr = False
        if not chunk:
            return []
        lines = chunk.splitlines(keepends=True)
        unfinished = lines.pop() if lines[-1][-1:] not in (b"\n", b"\r") else b""
        events: list[str] = []
        if lines:
            if self._line:
                lines[0] = bytes(self._line) + lines[0]
                self._line.clear()
            self._after_cr = lines[-1].endswith(b"\r")
            for line in lines:
                self._take(line.rstrip(b"\r\n"), events)
        self._line += unfinished
        if len(self._line) + len(self._data or b"") > self._most:
            raise EventTooLarge(f"an event of the stream is larger than {self._most} bytes")
        return events

    def finish(self) -> list[str]:
        """The event that the end of the stream left without its blank line, if any."""
        events: list[str] = []
        self._take(bytes(self._line), events)
        self._line.clear()
        self._take(b"", events)
        return events

    def _take(self, line: bytes, events: list[str]) -> None:
        if self._at_start and line:
            line = line.removeprefix(_BOM)
            self._at_start = False
        if not line:
            if self._data is not None:
                events.append(self._data.decode("utf-8", "replace"))
                self._data = None
        elif line.startswith(b"data:"):
            self._hold(line[6:] if line[5:6] == b" " else line[5:])
        elif line == b"data":
            self._hold(b"")

    def _hold(self, value: bytes) -> None:
        if self._data is None:
            self._data = bytearray(value)
        else:
            self._data += b"\n" + value
