"""Attempts to get a namespace, a mount or a root of one's own, or to use those of another process."""

import ctypes
import mmap
import os
import signal
import struct

from escape.programs.rawcalls import (
    AT_FDCWD,
    CLONE_NEWUSER,
    NAMESPACES,
    NUMBERS,
    World,
    each,
    in_child,
    later,
    libc,
    opens,
    past_the_gate,
    require_sandbox,
    syscall,
    write_to,
)

MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18


def unshare_user_and_remount(world: World) -> object:
    """In a mount namespace of its own, so harmless; makes / writable and writes to the target if that worked."""

    def remount() -> bool:
        syscall("unshare", CLONE_NEWUSER | NAMESPACES["mount"])
        try:
            syscall("mount", None, b"/", None, MS_REMOUNT | MS_BIND, None)
        except OSError:
            pass
        return write_to(os.path.join(world["target"], "file"))

    return in_child(remount)


def unshare_each(world: World) -> object:
    return each(
        {name: later(in_child, later(syscall, "unshare", CLONE_NEWUSER | flag)) for name, flag in NAMESPACES.items()}
    )


def unshare_each_alone(world: World) -> object:
    """Without a user namespace these take privilege: for root, that is."""
    return each(
        {name: later(in_child, later(syscall, "unshare", flag)) for name, flag in NAMESPACES.items() if name != "user"}
    )


def _clone(flags: int) -> bool:
    child = syscall("clone", flags | signal.SIGCHLD, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return True


def clone_each(world: World) -> object:
    flags = {name: flag for name, flag in NAMESPACES.items() if name != "time"}
    return each({name: later(_clone, CLONE_NEWUSER | flag) for name, flag in flags.items()})


def clone_each_alone(world: World) -> object:
    flags = {name: flag for name, flag in NAMESPACES.items() if name not in {"time", "user"}}
    return each({name: later(_clone, flag) for name, flag in flags.items()})


def clone3_each(world: World) -> object:
    def clone3(flags: int) -> bool:
        child = syscall("clone3", struct.pack("8Q", flags, 0, 0, 0, signal.SIGCHLD, 0, 0, 0), 64)
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        return True

    return each({name: later(clone3, CLONE_NEWUSER | flag) for name, flag in NAMESPACES.items()})


def flags_in_upper_half(world: World) -> object:
    """A filter that compares 64 bits where the kernel looks at 32 misses these."""
    return _clone((1 << 32) | CLONE_NEWUSER)


def change_root(world: World) -> object:
    return in_child(lambda: os.chroot(world["ws"]))


def mounts(world: World) -> object:
    require_sandbox(world)
    here, other = world["ws"].encode(), world["target"].encode()
    attributes = struct.pack("QQQQ", 0, 1, 0, 0)
    return past_the_gate(
        {
            "tmpfs": lambda: syscall("mount", b"none", here, b"tmpfs", 0, None),
            "proc": lambda: syscall("mount", b"proc", here, b"proc", 0, None),
            "sysfs": lambda: syscall("mount", b"sysfs", here, b"sysfs", 0, None),
            "devpts": lambda: syscall("mount", b"devpts", here, b"devpts", 0, None),
            "overlay": lambda: syscall("mount", b"overlay", here, b"overlay", 0, b"lowerdir=/"),
            "bind": lambda: syscall("mount", other, here, None, MS_BIND, None),
            "remount root": lambda: syscall("mount", None, b"/", None, MS_REMOUNT | MS_BIND, None),
            "remount target": lambda: syscall("mount", None, other, None, MS_REMOUNT | MS_BIND, None),
            "private": lambda: syscall("mount", None, b"/", None, MS_REC | MS_PRIVATE, None),
            "umount": lambda: syscall("umount2", b"/proc", 2),
            "umount workspace": lambda: syscall("umount2", here, 2),
            "mount_setattr": lambda: syscall("mount_setattr", AT_FDCWD, b"/", 0x8000, attributes, 32),
            "open_tree": lambda: syscall("open_tree", AT_FDCWD, other, 1),
            "open_tree_attr": lambda: syscall("open_tree_attr", AT_FDCWD, other, 1, attributes, 32),
            "move_mount": lambda: syscall("move_mount", AT_FDCWD, here, AT_FDCWD, other, 0),
            "fsopen": lambda: syscall("fsopen", b"tmpfs", 0),
            "fspick": lambda: syscall("fspick", AT_FDCWD, b"/", 0),
            "fsmount": lambda: syscall("fsmount", 0, 0, 0),
            "fsconfig": lambda: syscall("fsconfig", 0, 6, None, None, 0),
            "pivot_root": lambda: syscall("pivot_root", here, here),
            "chroot": lambda: syscall("chroot", here),
        }
    )


def identity_maps(world: World) -> object:
    require_sandbox(world)
    lines = {"setgroups": b"allow", "uid_map": b"0 0 4294967295", "gid_map": b"0 0 4294967295"}
    return each({name: later(write_to, f"/proc/self/{name}", line, os.O_WRONLY) for name, line in lines.items()})


def join_victim(world: World) -> object:
    def by_pidfd() -> None:
        syscall("setns", syscall("pidfd_open", world["victim"], 0), NAMESPACES["mount"])

    def by_path() -> None:
        syscall("setns", os.open(f"/proc/{world['victim']}/ns/mnt", os.O_RDONLY), 0)

    return each({"path": lambda: in_child(by_path), "pidfd": lambda: in_child(by_pidfd)})


def join_own_and_init(world: World) -> object:
    require_sandbox(world)

    def join(path: str) -> None:
        syscall("setns", os.open(path, os.O_RDONLY), 0)

    kinds = ("mnt", "pid", "net", "ipc", "uts", "cgroup", "user", "pid_for_children")
    paths = [f"/proc/{who}/ns/{kind}" for who in ("self", "1") for kind in kinds]
    return past_the_gate({path: later(in_child, later(join, path)) for path in paths})


def through_victim_links(world: World) -> object:
    base = f"/proc/{world['victim']}"
    return each(
        {
            "root": lambda: write_to(f"{base}/root{world['target']}/file"),
            "cwd": lambda: write_to(f"{base}/cwd/file"),
            "fd": lambda: write_to(f"{base}/fd/{world['victim_descriptor']}", flags=os.O_WRONLY),
            "task": lambda: write_to(f"{base}/task/{world['victim']}/cwd/file"),
            "map_files": lambda: bool(os.listdir(f"{base}/map_files")),
        }
    )


def through_init_links(world: World) -> object:
    require_sandbox(world)
    return each(
        {
            "root": lambda: os.readlink("/proc/1/root"),
            "root listing": lambda: os.listdir("/proc/1/root"),
            "cwd": lambda: os.readlink("/proc/1/cwd"),
            "exe": lambda: os.readlink("/proc/1/exe"),
            "fd": lambda: [os.readlink(f"/proc/1/fd/{number}") for number in os.listdir("/proc/1/fd") or range(3)],
            "environ": lambda: opens("/proc/1/environ", os.O_RDONLY),
            "maps": lambda: opens("/proc/1/maps", os.O_RDONLY),
            "mem": lambda: opens("/proc/1/mem", os.O_RDWR),
            "mem read": lambda: opens("/proc/1/mem", os.O_RDONLY),
            "map_files": lambda: os.listdir("/proc/1/map_files"),
            "write root": lambda: write_to(f"/proc/1/root{world['target']}/file"),
        }
    )


def foreign_abi(world: World) -> object:
    """unshare(CLONE_NEWUSER) by the 32-bit gate, and by the x32 numbers of the 64-bit one."""
    return each(
        {
            "int 0x80": lambda: in_child(_unshare_by_int80),
            "x32": lambda: in_child(_unshare_by_x32),
        }
    )


def _unshare_by_x32() -> bool:
    ctypes.set_errno(0)
    result: int = libc.syscall(ctypes.c_long(0x40000000 | NUMBERS["unshare"]), ctypes.c_long(CLONE_NEWUSER))
    if result:
        raise OSError(ctypes.get_errno(), "x32")
    return True


def _unshare_by_int80() -> bool:
    # push rbx; mov eax, 310; mov ebx, CLONE_NEWUSER; int 0x80; pop rbx; ret
    code = b"\x53\xb8" + struct.pack("<I", 310) + b"\xbb" + struct.pack("<I", CLONE_NEWUSER) + b"\xcd\x80\x5b\xc3"
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(code)
    function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
    result = function()
    if result < 0:
        raise OSError(-result, "int 0x80")
    return True
