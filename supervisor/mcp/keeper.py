"""The process between us and an MCP server that is a program: it sees to it that nothing of the server is left behind.

Owns the server's process and all of its descendants: they end with the server, and when our end of the channel closes,
which it also does when we are killed. Speaks one order and one answer on the channel; the server's standard input,
output and error are its own from the start. Runs as a process by itself and loads next to nothing.
"""

import os
import select
import signal

from pycodex.sandbox.backend import host_backend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

GRACE_S = 1.0
"""How long a server may take to end by itself once it was asked to."""
_BLOCK_BYTES = 64 << 10
_DEFAULT_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD, signal.SIGPIPE)


def main(channel_fd: int) -> None:
    """Until the server, and whatever it has started, is gone."""
    os.set_inheritable(channel_fd, False)
    backend = host_backend()
    backend.become_subreaper()
    order = _order(channel_fd)
    if order is None:
        return
    try:
        pid = _start(order)
    except (OSError, ValueError) as error:
        _tell(channel_fd, {"errno": getattr(error, "errno", 0) or 0, "text": str(error)})
        return
    _tell(channel_fd, {"pid": pid})
    # The server alone holds its ends: whoever reads its output sees when it is gone.
    for fd in (0, 1, 2):
        os.close(fd)
    pidfd = os.pidfd_open(pid)
    _wait(pidfd, channel_fd)
    if not _has_ended(pidfd):
        _ask_to_end(pid)
        select.select([pidfd], [], [], GRACE_S)
    backend.kill_descendants(os.getpid())


def _order(channel_fd: int) -> "dict[str, Any] | None":
    """What is to be started; None if we were gone before we could say."""
    import json

    read = bytearray()
    while not read.endswith(b"\n"):
        block = os.read(channel_fd, _BLOCK_BYTES)
        if not block:
            return None
        read += block
    order: dict[str, Any] = json.loads(read)
    return order


def _tell(channel_fd: int, answer: "dict[str, Any]") -> None:
    import json

    try:
        os.write(channel_fd, json.dumps(answer).encode() + b"\n")
    except OSError:
        # Nobody is there to hear it; the end of the channel is seen next.
        pass


def _start(order: "dict[str, Any]") -> int:
    env = order["env"]
    if order["cwd"] is not None:
        os.chdir(order["cwd"])
    # The program is looked for on the path that it is given itself.
    os.environ.clear()
    os.environ.update(env)
    argv = order["argv"]
    return os.posix_spawnp(argv[0], argv, env, setsid=True, setsigmask=[], setsigdef=_DEFAULT_SIGNALS)


def _wait(pidfd: int, channel_fd: int) -> None:
    """For the end of the server, or of those who wanted it."""
    while True:
        ready, _, _ = select.select([pidfd, channel_fd], [], [])
        if pidfd in ready or not os.read(channel_fd, _BLOCK_BYTES):
            return


def _has_ended(pidfd: int) -> bool:
    return bool(select.select([pidfd], [], [], 0)[0])


def _ask_to_end(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGTERM)
    except OSError:
        # It has ended just now.
        pass
