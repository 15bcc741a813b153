"""A new process in new namespaces.

The child is cloned straight into its user, mount, pid and ipc (and network) namespaces, so it is pid 1 there from its
first instruction. Only for processes with a single thread: the raw clone skips Python's fork hooks.
"""

import os

from pycodex.linux_sandbox import kernel

_SIGCHLD = 17


def clone(*, with_network: bool) -> int:
    """Like os.fork(), but the child is pid 1 of fresh namespaces. `with_network` shares the host's network."""
    flags = kernel.CLONE_NEWUSER | kernel.CLONE_NEWNS | kernel.CLONE_NEWPID | kernel.CLONE_NEWIPC
    if not with_network:
        flags |= kernel.CLONE_NEWNET
    return kernel.call("clone", flags | _SIGCHLD)


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
