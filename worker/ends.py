"""What a worker holds: the facts of its birth, and its side of the box."""

import _socket
import os
import time

from pycodex.protocol.confinement import FULL, NO_LEVEL, UNCONFINED, Enforced
from pycodex.sandbox.backend import host_backend

CONFINED = "confined"
NETWORK = "network"

_SIGKILL = 9
_FIRST_PRIVATE_FD = 3
_FD_LIMIT = 1 << 20
_BURIAL_SECONDS = 1.0


class Birth:
    """What a worker is born with: how to prove itself, what it is for, and its lifelines."""

    __slots__ = ("flavour", "identity", "level", "liveness_fd", "network", "socket_path", "spare_fd", "token")

    def __init__(self, token: str, flavour: str, level: str) -> None:
        self.token = token
        self.flavour = flavour
        self.level = level if flavour in (CONFINED, NETWORK) else UNCONFINED
        self.network = flavour != CONFINED
        self.identity = os.getuid(), os.getgid()
        self.socket_path = ""
        self.liveness_fd = -1
        self.spare_fd = -1


class Links:
    """The line and the pipes between a worker and its box, both ends of each; made before either process is."""

    __slots__ = ("line", "stderr", "stdin", "stdout")

    def __init__(self) -> None:
        ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
        self.line = ours.detach(), theirs.detach()
        self.stdin, self.stdout, self.stderr = os.pipe(), os.pipe(), os.pipe()

    def of_worker(self) -> "tuple[int, int, int, int]":
        return self.line[0], self.stdin[1], self.stdout[0], self.stderr[0]

    def of_box(self) -> "tuple[int, int, int, int]":
        return self.line[1], self.stdin[0], self.stdout[1], self.stderr[1]

    def close(self) -> None:
        for fd in (*self.of_worker(), *self.of_box()):
            os.close(fd)


def close_all_but(*kept: int) -> None:
    """Keep these descriptors and the standard ones; whatever else was inherited is not for this process."""
    first = _FIRST_PRIVATE_FD
    for fd in sorted(kept):
        os.closerange(first, fd)
        first = fd + 1
    os.closerange(first, _FD_LIMIT)


class Ends:
    """The worker's side of an open box."""

    __slots__ = ("enforced", "line", "pid", "stderr", "stdin", "stdout")

    def __init__(self) -> None:
        self.line = self.stdin = self.stdout = self.stderr = -1
        self.pid = 0
        self.enforced = Enforced(level=NO_LEVEL)


def end(ends: Ends) -> None:
    """Kill the box and everything in it."""
    if not ends.pid:
        return
    os.kill(ends.pid, _SIGKILL)
    os.waitpid(ends.pid, 0)
    ends.pid = 0
    if ends.enforced.level != FULL:
        host_backend().kill_descendants(os.getpid())
        _reap_everybody()


def _reap_everybody() -> None:
    """The dead come to us one by one, as their parents die; whom we leave, our own parent has to bury."""
    deadline = time.monotonic() + _BURIAL_SECONDS
    while time.monotonic() < deadline:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            time.sleep(0.001)
