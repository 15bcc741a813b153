"""A new process in new namespaces.

The child is cloned straight into its user, mount, pid and ipc (and network) namespaces, so it is pid 1 there from its
first instruction. Only for processes with a single thread: the raw clone skips Python's fork hooks.
"""

import os

from pycodex.linux_sandbox import kernel

_SIGCHLD = 17


_ALL_BUT_NETWORK = kernel.CLONE_NEWUSER | kernel.CLONE_NEWNS | kernel.CLONE_NEWPID | kernel.CLONE_NEWIPC


def clone(*, with_network: bool) -> int:
    """Like os.fork(), but the child is pid 1 of fresh namespaces. `with_network` shares the host's network."""
    return kernel.call("clone", _ALL_BUT_NETWORK | (0 if with_network else kernel.CLONE_NEWNET) | _SIGCHLD)


def clone_sibling(*, with_network: bool) -> int:
    """The same, but the new process is a child of our parent."""
    flags = _ALL_BUT_NETWORK | (0 if with_network else kernel.CLONE_NEWNET)
    return kernel.call("clone", flags | kernel.CLONE_PARENT | _SIGCHLD)


def fork() -> int:
    """Like os.fork(), without its hooks."""
    return kernel.call("clone", _SIGCHLD)


def fork_with_child(*, fresh: bool, with_network: bool) -> "tuple[int, int]":
    """Fork, and in the new process at once again, into fresh namespaces or not.

    Gives the first one's pid and 0 to us, 0 and the second one's pid to the first, 0 and 0 to the second; to the first
    a negative error number if there could be no second. Nothing lies between the two: whatever the first would write to
    before, it would have to copy once more afterwards.
    """
    flags = _SIGCHLD
    if fresh:
        flags |= _ALL_BUT_NETWORK | (0 if with_network else kernel.CLONE_NEWNET)
    call = kernel.call
    pid = call("clone", _SIGCHLD)
    if pid:
        return pid, 0
    try:
        return 0, call("clone", flags)
    except OSError as error:
        return 0, -(error.errno or 1)


def map_own_identity(uid: int, gid: int) -> None:
    """In the child: the same user and group inside as outside, and nobody else."""
    # A non-dumpable process may not write its own maps.
    kernel.prctl(kernel.PR_SET_DUMPABLE, 1)
    for name, text in (
        ("setgroups", b"deny"),
        ("uid_map", b"%d %d 1" % (uid, uid)),
        ("gid_map", b"%d %d 1" % (gid, gid)),
    ):
        fd = os.open(f"/proc/self/{name}", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(fd, text)
        finally:
            os.close(fd)
