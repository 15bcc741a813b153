"""A copy of the worker from before its first call, from which all further boxes are made.

It is told nothing but "one more", so no box ever holds anything of an earlier call, be it in memory or as a descriptor.
The boxes are children of the worker, not its own. Dies with the worker.
"""

import _socket
import os
import sys

from pycodex.sandbox.backend import host_backend
from pycodex.worker.ends import Links, close_all_but

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from pycodex.worker.ends import Birth

    BeBox = Callable[[Birth, tuple[int, int, int, int]], None]

_SIGKILL = 9
_FD_BYTES = 4
_PID_BYTES = 8
_LINKS = 4
_ONE_MORE = b"one more"


class Template:
    """The worker's handle on it. `be_box` is the life of a box's first process, which never returns."""

    def __init__(self, birth: "Birth", be_box: "BeBox") -> None:
        self._channel, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        self._pid = host_backend().fork()
        if self._pid == 0:
            _serve(theirs, birth, be_box)
        theirs.close()

    def fileno(self) -> int:
        return self._channel.fileno()

    def open_box(self, links: Links) -> int:
        """Make a box and give it its ends of the links; its pid. Raises OSError if the template is gone."""
        fds = b"".join(fd.to_bytes(_FD_BYTES, sys.byteorder) for fd in links.of_box())
        self._channel.sendmsg([_ONE_MORE], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fds)], _socket.MSG_NOSIGNAL)
        answer = self._channel.recv(_PID_BYTES)
        if not answer:
            raise BrokenPipeError("the template of this worker ended")
        pid = int.from_bytes(answer, sys.byteorder, signed=True)
        if pid < 0:
            raise host_backend().forbidden(-pid)
        return pid

    def end(self) -> None:
        self._channel.close()
        os.kill(self._pid, _SIGKILL)
        os.waitpid(self._pid, 0)


def _serve(channel: "_socket.socket", birth: "Birth", be_box: "BeBox") -> None:
    """The template's own life; never returns."""
    try:
        host_backend().die_with_parent()
        close_all_but(channel.fileno())
        while (fds := _receive_fds(channel)) is not None:
            pid = _clone(birth)
            if pid == 0:
                be_box(birth, fds)
            for fd in fds:
                os.close(fd)
            channel.send(pid.to_bytes(_PID_BYTES, sys.byteorder, signed=True), _socket.MSG_NOSIGNAL)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(0)


def _receive_fds(channel: "_socket.socket") -> "tuple[int, int, int, int] | None":
    """The box's ends of its links; None when the worker has gone."""
    data, ancillary, _, _ = channel.recvmsg(len(_ONE_MORE), _socket.CMSG_SPACE(_LINKS * _FD_BYTES))
    if not data:
        return None
    packed = ancillary[0][2]
    line, stdin, stdout, stderr = (
        int.from_bytes(packed[at : at + _FD_BYTES], sys.byteorder) for at in range(0, len(packed), _FD_BYTES)
    )
    return line, stdin, stdout, stderr


def _clone(birth: "Birth") -> int:
    try:
        return host_backend().clone_sibling(network=birth.network)
    except OSError as error:
        return -(error.errno or 1)
