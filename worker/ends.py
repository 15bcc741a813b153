"""What a worker holds: the facts of its birth, and its side of the box."""

import os
import time

from pycodex.protocol.confinement import FULL, NO_LEVEL, UNCONFINED, Enforced
from pycodex.sandbox.backend import host_backend

CONFINED = "confined"
NETWORK = "network"

_SIGKILL = 9
_BURIAL_SECONDS = 1.0


class Birth:
    """What a worker is born with: how to prove itself, what it is for, and its lifelines."""

    __slots__ = ("flavour", "level", "liveness_fd", "socket_path", "spare_fd", "token")

    def __init__(self, token: str, flavour: str, level: str) -> None:
        self.token = token
        self.flavour = flavour
        self.level = level if flavour in (CONFINED, NETWORK) else UNCONFINED
        self.socket_path = ""
        self.liveness_fd = -1
        self.spare_fd = -1


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
