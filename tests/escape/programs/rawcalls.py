"""The attackers' tools: system calls by number, a tally of attempts, and the guard against acting on the host.

Knows nothing of pytest or pycodex: everything here runs as the hostile command, in a bare interpreter.
"""

import ctypes
import errno
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

World = Mapping[str, Any]

_X86_64: Final = {
    "ptrace": 101, "add_key": 248, "request_key": 249, "keyctl": 250, "unshare": 272, "setns": 308, "bpf": 321,
    "clone": 56, "perf_event_open": 298, "userfaultfd": 323, "process_vm_readv": 310, "process_vm_writev": 311,
    "kcmp": 312, "name_to_handle_at": 303, "open_by_handle_at": 304, "renameat2": 316, "pivot_root": 155,
    "mount": 165, "umount2": 166, "chroot": 161, "acct": 163, "swapon": 167, "swapoff": 168, "settimeofday": 164,
    "sethostname": 170, "setdomainname": 171, "init_module": 175, "delete_module": 176, "finit_module": 313,
    "quotactl": 179, "syslog": 103, "fanotify_init": 300, "capset": 126, "capget": 125, "prctl": 157,
    "ioprio_set": 251, "ioprio_get": 252, "tgkill": 234, "rt_sigqueueinfo": 129, "setuid": 105, "setgid": 106,
    "setresuid": 117, "setresgid": 119, "shmget": 29, "shmctl": 31, "semget": 64, "semctl": 66,
    "msgget": 68, "msgsnd": 69, "mq_open": 240, "mq_timedsend": 242, "mq_unlink": 241, "seccomp": 317,
    "copy_file_range": 326, "splice": 275, "fallocate": 285, "linkat": 265, "utimensat": 280, "iopl": 172,
    "lookup_dcookie": 212, "setxattr": 188, "sendmmsg": 307, "msgctl": 71,
}  # fmt: skip
_AARCH64: Final = {
    "ptrace": 117, "add_key": 217, "request_key": 218, "keyctl": 219, "unshare": 97, "setns": 268, "bpf": 280,
    "clone": 220, "perf_event_open": 241, "userfaultfd": 282, "process_vm_readv": 270, "process_vm_writev": 271,
    "kcmp": 272, "name_to_handle_at": 264, "open_by_handle_at": 265, "renameat2": 276, "pivot_root": 41,
    "mount": 40, "umount2": 39, "chroot": 51, "acct": 89, "swapon": 224, "swapoff": 225, "settimeofday": 170,
    "sethostname": 161, "setdomainname": 162, "init_module": 105, "delete_module": 106, "finit_module": 273,
    "quotactl": 60, "syslog": 116, "fanotify_init": 262, "capset": 91, "capget": 90, "prctl": 167,
    "ioprio_set": 30, "ioprio_get": 31, "tgkill": 131, "rt_sigqueueinfo": 138, "setuid": 146, "setgid": 144,
    "setresuid": 147, "setresgid": 149, "shmget": 194, "shmctl": 195, "semget": 190, "semctl": 191,
    "msgget": 186, "msgsnd": 189, "mq_open": 180, "mq_timedsend": 182, "mq_unlink": 181, "seccomp": 277,
    "copy_file_range": 285, "splice": 76, "fallocate": 47, "linkat": 37, "utimensat": 88,
    "lookup_dcookie": 18, "setxattr": 5, "sendmmsg": 269, "msgctl": 187,
}  # fmt: skip
# Numbers from 424 on are the same everywhere.
_SHARED: Final = {
    "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "pidfd_open": 434, "clone3": 435, "openat2": 437, "pidfd_getfd": 438, "process_madvise": 440,
    "mount_setattr": 442, "quotactl_fd": 443, "memfd_secret": 447, "process_mrelease": 448, "fchmodat2": 452,
    "open_tree_attr": 467, "setxattrat": 463, "file_setattr": 469,
}  # fmt: skip
_OWN: Final = {"x86_64": _X86_64, "aarch64": _AARCH64}.get(os.uname().machine, {})
NUMBERS: Final = {**_OWN, **_SHARED}

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

NO_EFFECT: Final = 255
AT_FDCWD: Final = -100
AT_EMPTY_PATH: Final = 0x1000
CLONE_NEWUSER: Final = 0x10000000
NAMESPACES: Final = {
    "time": 0x80, "mount": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000,
    "user": CLONE_NEWUSER, "pid": 0x20000000, "net": 0x40000000,
}  # fmt: skip


def syscall(name: str, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    """The raw call; ENOSYS where this architecture never had it."""
    if name not in NUMBERS:
        raise OSError(errno.ENOSYS, name)
    return numbered(NUMBERS[name], *arguments)


def numbered(number: int, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    words = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    ctypes.set_errno(0)
    result: int = libc.syscall(ctypes.c_long(number), *words)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), f"syscall {number}")
    return result


class Tally:
    """Outcome of several attempts at one thing: it counts as achieved when any of them worked."""

    def __init__(self) -> None:
        self.worked: list[str] = []
        self.stopped: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self.worked)

    def plain(self) -> dict[str, object]:
        return {"worked": self.worked, "stopped": self.stopped}


def each(attempts: Mapping[str, Callable[[], object]]) -> Tally:
    """Tries all; an attempt worked unless it raised OSError or returned False."""
    tally = Tally()
    for name, attempt in attempts.items():
        try:
            if attempt() is False:
                tally.stopped[name] = "no effect"
            else:
                tally.worked.append(name)
        except OSError as error:
            tally.stopped[name] = error_name(error)
    return tally


def past_the_gate(attempts: Mapping[str, Callable[[], object]]) -> Tally:
    """For calls made with arguments that cannot work: any answer but a refusal shows that the kernel looked at them."""
    refusals = {"EPERM", "ENOSYS", "EACCES"}
    tally = each(attempts)
    for name, code in list(tally.stopped.items()):
        if code not in refusals:
            tally.worked.append(f"{name}: {code}")
            del tally.stopped[name]
    return tally


def later(action: Callable[..., object], *arguments: object) -> Callable[[], object]:
    """The call, not yet made: binds what a loop variable holds now."""
    return lambda: action(*arguments)


def error_name(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, str(error))


def in_child(action: Callable[[], object]) -> bool:
    """Whether the action worked, done by a fork: what it does to itself, or dies of, stays there."""
    child = os.fork()
    if child == 0:
        code = NO_EFFECT
        try:
            code = NO_EFFECT if action() is False else 0
        except OSError as error:
            code = error.errno or NO_EFFECT
        finally:
            os._exit(code)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if 0 < status < NO_EFFECT:
        raise OSError(status, os.strerror(status))
    return status == 0


def require_sandbox(world: World) -> None:
    """Stops this attacker unless pid, mount and user namespace all differ from the host's: it could do harm there."""
    for kind, host in world["host_namespaces"].items():
        if os.readlink(f"/proc/self/ns/{kind}") == host:
            sys.exit(f"refused to act: still in the host's {kind} namespace")


def write_to(path: str, data: bytes = b"pwned\n", flags: int = os.O_WRONLY | os.O_APPEND) -> bool:
    descriptor = os.open(path, flags, 0o644)
    try:
        return os.write(descriptor, data) == len(data)
    finally:
        os.close(descriptor)


def opens(path: str, flags: int = os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY) -> bool:
    os.close(os.open(path, flags))
    return True
