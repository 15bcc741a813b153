"""A ZeroMQ DEALER in a hundred lines: ZMTP 3.0, NULL security, one unix socket.

Speaks to the supervisor's libzmq ROUTER. A worker forks and is forked while it waits, so it can have no threads, and
the library's start-up time and memory would cost more than a call. Sends and receives single-part messages; everything
received is size-capped. Blocking is the caller's choice: `pull` reads what is there, `flush` writes what the socket
takes.
"""

import _socket
import fcntl
import time

_SIGNATURE = b"\xff" + bytes(8) + b"\x7f"
_GREETING = _SIGNATURE + b"\x03\x00" + b"NULL".ljust(20, b"\0") + b"\x00" + bytes(31)
_READY_BODY = b"\x05READY" + b"\x0bSocket-Type" + b"\x00\x00\x00\x06DEALER" + b"\x08Identity" + bytes(4)
_READY = b"\x04" + bytes([len(_READY_BODY)]) + _READY_BODY
_GREETING_BYTES = 64

_MORE = 1
_LONG = 2
_COMMAND = 4

_READ_BYTES = 1 << 16
_SIOCOUTQ = 0x5411
_LINGER_SECONDS = 5.0


class ProtocolError(Exception):
    """The other side does not speak ZMTP, or sent more than it may."""


class Dealer:
    """One connection. `fileno` is for polling; `closed` says that the other side has gone."""

    def __init__(self, path: str, *, max_message_bytes: int) -> None:
        self._max = max_message_bytes
        self._socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        self._in = bytearray()
        self._out = bytearray()
        self.closed = False
        try:
            self._socket.connect(path)
            self._shake_hands()
        except BaseException:
            self.close()
            raise

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def wants_to_write(self) -> bool:
        return bool(self._out)

    @property
    def backlog_bytes(self) -> int:
        return len(self._out)

    def push(self, message: bytes) -> None:
        """Queue one message; `flush` sends it."""
        size = len(message)
        if size < 256:
            self._out += bytes((0, size))
        else:
            self._out += bytes((_LONG,)) + size.to_bytes(8, "big")
        self._out += message

    def flush(self, *, block: bool = False) -> None:
        flags = 0 if block else _socket.MSG_DONTWAIT
        while self._out and not self.closed:
            try:
                sent = self._socket.send(self._out, flags | _socket.MSG_NOSIGNAL)
            except BlockingIOError:
                return
            except OSError:
                self.closed = True
                return
            del self._out[:sent]

    def pull(self) -> list[bytes]:
        """Everything that has arrived, as whole messages."""
        try:
            data = self._socket.recv(_READ_BYTES, _socket.MSG_DONTWAIT)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        if not data:
            self.closed = True
            return []
        self._in += data
        messages = []
        while (message := self._take_frame()) is not None:
            if message:
                messages.append(message)
        return messages

    def linger(self) -> None:
        """Wait until the other side has taken everything: what is left behind at exit may be thrown away."""
        deadline = time.monotonic() + _LINGER_SECONDS
        while not self.closed and time.monotonic() < deadline:
            if not int.from_bytes(fcntl.ioctl(self._socket.fileno(), _SIOCOUTQ, bytes(4)), "little"):
                return
            time.sleep(0.0005)

    def close(self) -> None:
        self._socket.close()

    def _shake_hands(self) -> None:
        """libzmq takes no message before it has sent its own READY, so both sides' are exchanged first."""
        self._socket.sendall(_GREETING + _READY)
        while len(self._in) < _GREETING_BYTES:
            self._receive_more()
        if self._in[0] != 0xFF or self._in[9] != 0x7F or self._in[10] < 3 or self._in[12:16] != b"NULL":
            raise ProtocolError("not a ZMTP 3 greeting")
        del self._in[:_GREETING_BYTES]
        while self._take_frame() is None:
            self._receive_more()

    def _receive_more(self) -> None:
        data = self._socket.recv(_READ_BYTES)
        if not data:
            raise ProtocolError("closed during the handshake")
        self._in += data

    def _take_frame(self) -> bytes | None:
        """The next message, an empty one for a command, None if more bytes are needed."""
        buffer = self._in
        if len(buffer) < 2:
            return None
        flags = buffer[0]
        if flags & _LONG:
            if len(buffer) < 9:
                return None
            size, start = int.from_bytes(buffer[1:9], "big"), 9
        else:
            size, start = buffer[1], 2
        if size > self._max:
            raise ProtocolError(f"message of {size} bytes")
        if flags & _MORE:
            raise ProtocolError("message of several parts")
        if len(buffer) < start + size:
            return None
        body = bytes(buffer[start : start + size])
        del buffer[: start + size]
        return b"" if flags & _COMMAND else body
