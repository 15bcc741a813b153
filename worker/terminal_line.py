"""Passing the worker's side of a terminal out of the sandbox, over the unix socket that is their line."""

import _socket

_FD_BYTES = 4


def send_fd(line: int, fd: int) -> None:
    """One byte with the descriptor."""
    with _Borrowed(line) as socket:
        socket.sendmsg([b"T"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fd.to_bytes(_FD_BYTES, "little"))])


def receive_fd(line: int) -> int:
    with _Borrowed(line) as socket:
        _, ancillary, _, _ = socket.recvmsg(1, _socket.CMSG_SPACE(_FD_BYTES))
    for level, kind, data in ancillary:
        if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
            return int.from_bytes(data[:_FD_BYTES], "little")
    raise OSError("no descriptor came with the message")


class _Borrowed:
    """A socket object over a descriptor that stays open."""

    def __init__(self, fd: int) -> None:
        self._socket = _socket.socket(fileno=fd)

    def __enter__(self) -> "_socket.socket":
        return self._socket

    def __exit__(self, *_: object) -> None:
        self._socket.detach()
