"""What this kernel lets us do, one ability at a time, found out by doing it in a child.

Owns the single probes behind `pycodex doctor`; the sandbox itself does not use them, it just tries. Reads a few files
of /proc and /sys to say why something is missing. Changes nothing outside the children it forks.
"""

import os

from pycodex.linux_sandbox import kernel
from pycodex.protocol.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_SECCOMP_GET_ACTION_AVAIL = 2
_SECCOMP_RET_ERRNO = (0x00050000).to_bytes(4, "little")
_LANDLOCK_CREATE_RULESET_VERSION = 1
_CGROUP_ROOT = "/sys/fs/cgroup"

NAMESPACES = {
    "user": kernel.CLONE_NEWUSER,
    "mount": kernel.CLONE_NEWNS,
    "pid": kernel.CLONE_NEWPID,
    "network": kernel.CLONE_NEWNET,
    "ipc": kernel.CLONE_NEWIPC,
}


class Probed(Record):
    """Whether an ability is there; `why_not` is the kernel's own word for a missing one."""

    works: "bool"
    why_not: "str" = ""


def in_child(attempt: "Callable[[], None]") -> Probed:
    """Try something that changes the process that does it."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 0
        try:
            attempt()
        except BaseException as error:
            status = 1
            os.write(writer, str(error).encode()[:512])
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        text = stream.read().decode(errors="replace")
    _, status = os.waitpid(pid, 0)
    return Probed(works=status == 0, why_not=text or ("" if status == 0 else f"the probe ended with {status}"))


def namespace(kind: str) -> Probed:
    """Whether an ordinary process may make a namespace of this kind; all but `user` need a user namespace first."""
    return in_child(lambda: _enter(kind))


def _enter(kind: str) -> None:
    uid, gid = os.getuid(), os.getgid()
    if kind == "user":
        kernel.call("unshare", kernel.CLONE_NEWUSER)
        _map_identity(uid, gid)
        return
    kernel.call("unshare", kernel.CLONE_NEWUSER | NAMESPACES[kind])
    _map_identity(uid, gid)
    if kind == "mount":
        # Some hosts allow the namespace and then refuse every mount in it.
        kernel.call("mount", b"none", b"/", None, kernel.MS_REC | kernel.MS_SLAVE, None)
        kernel.call("mount", b"tmpfs", b"/tmp", b"tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, None)


def _map_identity(uid: int, gid: int) -> None:
    from pycodex.linux_sandbox import namespaces

    namespaces.map_own_identity(uid, gid)


def landlock_abi() -> int:
    """The version of Landlock, 0 if there is none."""
    try:
        return kernel.call("landlock_create_ruleset", None, 0, _LANDLOCK_CREATE_RULESET_VERSION)
    except OSError:
        return 0


def seccomp_filters() -> Probed:
    return in_child(_ask_seccomp)


def _ask_seccomp() -> None:
    kernel.call("seccomp", _SECCOMP_GET_ACTION_AVAIL, 0, _SECCOMP_RET_ERRNO)


def delegated_cgroup() -> Probed:
    """Whether this process could make cgroups below its own (version 2 only)."""
    try:
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            own = [line.strip()[3:] for line in file if line.startswith("0::")]
    except OSError as error:
        return Probed(works=False, why_not=str(error))
    if not own or not os.path.exists(f"{_CGROUP_ROOT}/cgroup.controllers"):
        return Probed(works=False, why_not="no cgroup version 2 at /sys/fs/cgroup")
    directory = os.path.normpath(_CGROUP_ROOT + own[0])
    if not os.access(directory, os.W_OK) or not os.access(f"{directory}/cgroup.procs", os.W_OK):
        return Probed(works=False, why_not=f"{directory} is not writable")
    return Probed(works=True)


def sysctl(name: str) -> str:
    """A kernel setting as text; empty if this kernel has none of that name or hides it."""
    try:
        with open("/proc/sys/" + name.replace(".", "/"), encoding="ascii", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""
