"""A process tree that can be ended as one: an init, and the process that will run the work.

`open_box` makes both at once, while nobody waits for them. The init is pid 1 of fresh namespaces (level `full`) or an
ordinary collector of orphans (other levels). The second process runs `body`, which never returns. The caller is their
trusted parent: it reads the report pipe and may kill the init at any time, which ends the rest.
"""

import os

from pycodex.linux_sandbox import init, kernel, namespaces
from pycodex.protocol.confinement import FULL, Unenforceable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_BORN = b"B"
_SIGKILL = 9


class Box:
    """Handle of an open box. `report_fd` yields one init.REPORT, or end of file if the init was killed."""

    __slots__ = ("pid", "report_fd")

    def __init__(self, pid: int, report_fd: int) -> None:
        self.pid = pid
        self.report_fd = report_fd


def open_box(level: str, *, network: bool, body: "Callable[[], None]") -> Box:
    """Raises Unenforceable if the namespaces of level `full` cannot be had."""
    identity = os.getuid(), os.getgid()
    report_fd, report_to = os.pipe()
    try:
        pid = namespaces.clone(with_network=network) if level == FULL else os.fork()
    except OSError as error:
        os.close(report_fd)
        os.close(report_to)
        raise Unenforceable(f"this host forbids user namespaces ({error.strerror})") from None
    if pid == 0:
        _run_init(level, identity, report_to, body)
    os.close(report_to)
    answer = os.read(report_fd, 1)
    if answer != _BORN:
        text = os.read(report_fd, 4096).decode(errors="replace")
        os.close(report_fd)
        os.waitpid(pid, 0)
        raise Unenforceable(f"this host does not let us set up namespaces ({text or 'the first process was killed'})")
    return Box(pid, report_fd)


def _run_init(level: str, identity: "tuple[int, int]", report_to: int, body: "Callable[[], None]") -> None:
    """Never returns."""
    try:
        kernel.prctl(kernel.PR_SET_PDEATHSIG, _SIGKILL)
        if level == FULL:
            namespaces.map_own_identity(*identity)
        else:
            kernel.become_subreaper()
        # Fails if the parent was gone before the death signal was armed.
        os.write(report_to, _BORN)
    except BaseException as error:
        os.write(report_to, b"F" + str(error).encode())
        os._exit(1)
    command = os.fork()
    if command == 0:
        try:
            kernel.prctl(kernel.PR_SET_PDEATHSIG, _SIGKILL)
            os.close(report_to)
            body()
        finally:
            os._exit(1)
    init.serve_as_init(command, report_to)
