"""Raw system calls, the only place that uses ctypes.

Owns the syscall numbers and flag values of the two supported architectures. Every call raises OSError with the name of
the call. The library is opened as PyDLL: the interpreter lock stays held, which makes a raw `clone` safe in a process
with a single thread.
"""

import ctypes
import errno
import os

_MACHINE = os.uname().machine
_IS_ARM = _MACHINE in ("aarch64", "arm64")

_NUMBERS_X86_64 = {
    "clone": 56,
    "exit_group": 231,
    "wait4": 61,
    "capset": 126,
    "pivot_root": 155,
    "prctl": 157,
    "mount": 165,
    "umount2": 166,
    "unshare": 272,
    "prlimit64": 302,
    "setns": 308,
    "seccomp": 317,
}
_NUMBERS_AARCH64 = {
    "clone": 220,
    "exit_group": 94,
    "wait4": 260,
    "capset": 91,
    "pivot_root": 41,
    "prctl": 167,
    "mount": 40,
    "umount2": 39,
    "unshare": 97,
    "prlimit64": 261,
    "setns": 268,
    "seccomp": 277,
}
_NUMBERS_SHARED = {
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "pidfd_open": 434,
    "close_range": 436,
    "openat2": 437,
    "mount_setattr": 442,
    "landlock_create_ruleset": 444,
    "landlock_add_rule": 445,
    "landlock_restrict_self": 446,
}
NUMBERS = {**(_NUMBERS_AARCH64 if _IS_ARM else _NUMBERS_X86_64), **_NUMBERS_SHARED}

CLONE_PARENT = 0x00008000
CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_REC = 0x4000
MS_PRIVATE = 1 << 18
MS_SLAVE = 1 << 19
MNT_DETACH = 2

MOUNT_ATTR_RDONLY = 1
MOUNT_ATTR_NOSUID = 2
MOUNT_ATTR_NODEV = 4

AT_FDCWD = -100
AT_SYMLINK_NOFOLLOW = 0x100
AT_NO_AUTOMOUNT = 0x800
AT_EMPTY_PATH = 0x1000
AT_RECURSIVE = 0x8000
OPEN_TREE_CLONE = 1
MOVE_MOUNT_F_EMPTY_PATH = 0x04
MOVE_MOUNT_T_EMPTY_PATH = 0x40
CLOSE_RANGE_CLOEXEC = 4
RESOLVE_NO_SYMLINKS = 0x04

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECUREBITS = 28
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4

_libc = ctypes.PyDLL(None, use_errno=True)
_syscall = _libc.syscall
_syscall.restype = ctypes.c_long
_syscall.argtypes = (ctypes.c_long,) + (ctypes.c_void_p,) * 6
# Made once: ctypes makes a new type for each length that is asked for.
_status = ctypes.create_string_buffer(4)
_usage = ctypes.create_string_buffer(144)


def call(name: str, *arguments: "int | bytes | None") -> int:
    """Make one system call. Integers, byte strings (passed by address) and None are the only arguments."""
    result: int = _syscall(NUMBERS[name], *arguments, *(0,) * (6 - len(arguments)))
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


def address_of(data: bytes) -> int:
    """Where these bytes are, for as long as somebody holds them."""
    address = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value
    assert address is not None
    return address


def prctl(option: int, value: int = 0, third: int = 0) -> int:
    return call("prctl", option, value, third, 0, 0)


def no_new_privileges() -> None:
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def become_subreaper() -> None:
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def end_process(status: int) -> None:
    """os._exit, which every box would have to look up in the C library for itself."""
    call("exit_group", status)


def close_on_exec_from(first_fd: int) -> None:
    call("close_range", first_fd, 0xFFFFFFFF, CLOSE_RANGE_CLOEXEC)


def wait_for_any_child() -> "tuple[int, int, bytes]":
    """Pid, raw status and the start of `struct rusage`. os.wait4 would import a module, which init may no longer do."""
    pid = call("wait4", -1, ctypes.addressof(_status), 0, ctypes.addressof(_usage))
    return pid, int.from_bytes(_status.raw, "little"), _usage.raw


def open_without_links(path: str, flags: int) -> int:
    """Open exactly this path: no component of it may be a symbolic link, or with O_PATH|O_NOFOLLOW only the last."""
    how = (flags | os.O_CLOEXEC).to_bytes(8, "little") + bytes(8) + RESOLVE_NO_SYMLINKS.to_bytes(8, "little")
    try:
        return call("openat2", AT_FDCWD, os.fsencode(path), how, len(how))
    except OSError as error:
        # In a sandbox of our own there is no such call.
        if error.errno != errno.ENOSYS:
            raise
    return _open_step_by_step(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC)


def _open_step_by_step(path: str, flags: int) -> int:
    *folders, last = [name for name in path.split("/") if name] or ["."]
    fd = os.open("/", os.O_PATH | os.O_CLOEXEC)
    for name in folders:
        try:
            following = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
        finally:
            os.close(fd)
        fd = following
    try:
        return os.open(last, flags, dir_fd=fd)
    finally:
        os.close(fd)
