"""Starts the zygote process, and nothing more.

Kept apart from `zygote` so that a front-end can start it before it imports trio and the rest: it then gets ready on
another core meanwhile. Imports next to nothing. Takes nothing from the environment of this process: the zygote gets no
credentials, and its code comes from where ours was loaded, never from a working directory.
"""

import _signal
import _socket
import os
import sys
from fcntl import F_DUPFD_CLOEXEC, fcntl

from pycodex.supervisor.import_root import import_root

CHANNEL_FD = 3
ENVIRONMENT = {"PATH": "/usr/bin:/bin"}
_FIRST_SAFE_FD = 10
_DEFAULT_SIGNALS = [_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGQUIT, _signal.SIGCHLD, _signal.SIGPIPE]
# Whatever this process inherited from its own parent is not for the zygote.
_PREAMBLE = (
    "import os,sys;os.chdir('/');os.closerange(4,1<<20);p=sys.argv.pop(1);p in sys.path or sys.path.insert(0,p)\n"
)


class Launched:
    """A process that was just started, and our end of the channel to it."""

    def __init__(self, pid: int, channel_fd: int) -> None:
        self.pid = pid
        self.channel_fd = channel_fd


def launch() -> Launched:
    return launch_python("from pycodex.worker.__main__ import main;main()")


def launch_python(code: str, *arguments: str) -> Launched:
    """Run `code` in an isolated interpreter and a session of its own, in `/`, with our package importable.

    `sys.argv[1]` is the channel's descriptor. Only standard error is inherited.
    """
    argv = [sys.executable, "-I", "-c", _PREAMBLE + code, import_root(), str(CHANNEL_FD), *arguments]
    ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    channel_fd = theirs_fd = -1
    try:
        # Out of the way of 0 to 3, which may be free here and are set below.
        channel_fd = fcntl(ours.fileno(), F_DUPFD_CLOEXEC, _FIRST_SAFE_FD)
        theirs_fd = fcntl(theirs.fileno(), F_DUPFD_CLOEXEC, _FIRST_SAFE_FD)
        pid = os.posix_spawn(
            argv[0],
            argv,
            ENVIRONMENT,
            file_actions=_file_actions(theirs_fd),
            setsid=True,
            setsigmask=[],
            setsigdef=_DEFAULT_SIGNALS,
        )
    except BaseException:
        if channel_fd >= 0:
            os.close(channel_fd)
        raise
    finally:
        ours.close()
        theirs.close()
        if theirs_fd >= 0:
            os.close(theirs_fd)
    return Launched(pid, channel_fd)


def _file_actions(theirs_fd: int) -> list[tuple[int, ...] | tuple[int, int, str, int, int]]:
    actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_DUP2, theirs_fd, CHANNEL_FD),
    ]
    try:
        os.fstat(2)
    except OSError:
        actions.append((os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0))
    return actions
