"""The private line between a worker and its confined child: length-prefixed marshal, and descriptors.

Both ends are our own code from the same fork, so marshal is safe towards the child. Towards the worker only the child's
state before it starts the command can speak; the line closes itself when the command is executed.
"""

import _socket
import marshal
import os

_HEADER_BYTES = 4
_FD_BYTES = 4


def pair() -> "tuple[_socket.socket, _socket.socket]":
    return _socket_pair()


def _socket_pair() -> "tuple[_socket.socket, _socket.socket]":
    left, right = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
    return left, right


def send(line: "_socket.socket", message: object, fd: int | None = None) -> None:
    data = marshal.dumps(message)
    data = len(data).to_bytes(_HEADER_BYTES, "little") + data
    if fd is not None:
        rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fd.to_bytes(_FD_BYTES, "little"))]
        sent = line.sendmsg([data], rights)
        data = data[sent:]
    line.sendall(data)


def receive(line: "_socket.socket") -> "tuple[object, int | None] | None":
    """The next message and the descriptor that came with it; None when the line is closed."""
    header, ancillary, _, _ = line.recvmsg(_HEADER_BYTES, _socket.CMSG_SPACE(_FD_BYTES))
    fd = None
    for level, kind, data in ancillary:
        if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
            fd = int.from_bytes(data[:_FD_BYTES], "little")
            os.set_inheritable(fd, False)
    if len(header) < _HEADER_BYTES:
        return None
    wanted = int.from_bytes(header, "little")
    body = bytearray()
    while len(body) < wanted:
        part = line.recv(wanted - len(body))
        if not part:
            return None
        body += part
    return marshal.loads(bytes(body)), fd
