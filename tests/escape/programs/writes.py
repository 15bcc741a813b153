"""Attempts to change `world["target"]`, a directory that must not be writable, from `world["staging"]`, prepared files.

Staging holds: `staged` (a file), `link` (to target/file), `dirlink` (to target), `folder`. Target holds: `file`,
`full` (a directory with a file), `empty` (a directory).
"""

import ctypes
import fcntl
import mmap
import os
import socket
import stat
import struct
import threading

from escape.programs.rawcalls import (
    AT_EMPTY_PATH,
    AT_FDCWD,
    World,
    each,
    later,
    opens,
    require_sandbox,
    syscall,
    write_to,
)

CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL
RENAME_EXCHANGE, RENAME_WHITEOUT = 2, 4
FS_IOC_GETFLAGS, FS_IOC_SETFLAGS, FS_NODUMP = 0x80086601, 0x40086602, 0x40
NO_SUCH_DEVICE = (1 << 20) - 1


def _file(world: World) -> str:
    return os.path.join(world["target"], "file")


def _new(world: World) -> str:
    return os.path.join(world["target"], "new")


def _staged(world: World, name: str = "staged") -> str:
    return os.path.join(world["staging"], name)


def create(world: World) -> object:
    return write_to(_new(world), flags=CREATE)


def write_existing(world: World) -> object:
    return each(
        {
            "append": lambda: write_to(_file(world)),
            "read-write": lambda: write_to(_file(world), flags=os.O_RDWR),
            "create": lambda: write_to(_file(world), flags=os.O_WRONLY | os.O_CREAT),
            "openat2": lambda: _write_with_openat2(_file(world)),
        }
    )


def _write_with_openat2(path: str) -> bool:
    descriptor = syscall("openat2", AT_FDCWD, path.encode(), struct.pack("QQQ", os.O_WRONLY, 0, 0), 24)
    return os.write(descriptor, b"pwned\n") > 0


def through_symlink(world: World) -> object:
    return write_to(_staged(world, "link"))


def create_through_directory_symlink(world: World) -> object:
    return write_to(_staged(world, "dirlink/new"), flags=CREATE)


def through_path_aliases(world: World) -> object:
    root, name = "/proc/self/root", _file(world)
    dots = os.path.relpath(name, os.getcwd())
    return each(
        {
            "/proc/self/root": lambda: write_to(root + name),
            "/proc/thread-self/root": lambda: write_to("/proc/thread-self/root" + name),
            "/proc/self/cwd": lambda: write_to("/proc/self/cwd/" + dots),
            "dots": lambda: write_to(dots),
            "double slash": lambda: write_to("/" + name),
            "/dev/fd": lambda: write_to(f"/dev/fd/{os.open(world['target'], os.O_RDONLY)}/file"),
        }
    )


def through_init_root(world: World) -> object:
    require_sandbox(world)
    return each({path: later(write_to, f"/proc/1/{path}{_file(world)}") for path in ("root", "cwd/..")})


def hardlink_in_and_write(world: World) -> object:
    os.link(_file(world), _staged(world, "folder/x"))
    return write_to(_staged(world, "folder/x"))


def hardlink_by_descriptor(world: World) -> object:
    descriptor = os.open(_file(world), os.O_RDONLY)
    path = os.open(_file(world), os.O_PATH)
    by_proc = f"/proc/self/fd/{descriptor}".encode()
    return each(
        {
            "/proc/self/fd": lambda: syscall(
                "linkat", AT_FDCWD, by_proc, AT_FDCWD, _staged(world, "folder/a").encode(), 0x400
            ),
            "empty path": lambda: syscall(
                "linkat", path, b"", AT_FDCWD, _staged(world, "folder/b").encode(), AT_EMPTY_PATH
            ),
        }
    )


def hardlink_out(world: World) -> object:
    os.link(_staged(world), _new(world))
    return True


def rename_out(world: World) -> object:
    os.rename(_staged(world), _new(world))
    return True


def rename_over(world: World) -> object:
    os.rename(_staged(world), _file(world))
    return True


def rename_in(world: World) -> object:
    os.rename(_file(world), _staged(world, "folder/x"))
    return True


def rename_exchange(world: World) -> object:
    syscall("renameat2", AT_FDCWD, _staged(world).encode(), AT_FDCWD, _file(world).encode(), RENAME_EXCHANGE)
    return True


def rename_whiteout(world: World) -> object:
    syscall("renameat2", AT_FDCWD, _file(world).encode(), AT_FDCWD, _new(world).encode(), RENAME_WHITEOUT)
    return True


def rename_directory(world: World) -> object:
    os.rename(world["target"], world["target"] + ".moved")
    return True


def rename_ancestor(world: World) -> object:
    parent = os.path.dirname(world["target"])
    os.rename(parent, parent + ".moved")
    return True


def truncate(world: World) -> object:
    return each(
        {
            "truncate": lambda: os.truncate(_file(world), 1),
            "O_TRUNC": lambda: opens(_file(world), os.O_RDONLY | os.O_TRUNC),
        }
    )


def mapped_write(world: World) -> object:
    descriptor = os.open(_file(world), os.O_RDWR)
    with mmap.mmap(descriptor, 1) as memory:
        memory[0] = ord("X")
    return True


def through_read_only_descriptor(world: World) -> object:
    """Never works anywhere; here to show that the sandbox does not open a way that was closed."""
    descriptor = os.open(_file(world), os.O_RDONLY)
    return each(
        {
            "mmap": lambda: mmap.mmap(descriptor, 1, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE),
            "ftruncate": lambda: os.ftruncate(descriptor, 0),
            "fallocate": lambda: syscall("fallocate", descriptor, 0, 0, 4096),
            "write": lambda: os.write(descriptor, b"pwned"),
        }
    )


def reopen_descriptor(world: World) -> object:
    read_only = os.open(_file(world), os.O_RDONLY)
    path_only = os.open(_file(world), os.O_PATH)
    return each(
        {
            "read-only": lambda: write_to(f"/proc/self/fd/{read_only}", flags=os.O_RDWR),
            "O_PATH": lambda: write_to(f"/proc/self/fd/{path_only}", flags=os.O_RDWR),
            "/dev/fd": lambda: write_to(f"/dev/fd/{read_only}", flags=os.O_RDWR),
            "/dev/stdin": lambda: os.dup2(read_only, 0) == 0 and write_to("/dev/stdin", flags=os.O_RDWR),
        }
    )


def change_mode(world: World) -> object:
    name = _file(world)
    descriptor, path = os.open(name, os.O_RDONLY), os.open(name, os.O_PATH)
    return each(
        {
            "chmod": lambda: os.chmod(name, 0o777),
            "fchmod": lambda: os.fchmod(descriptor, 0o776),
            "/proc/self/fd": lambda: os.chmod(f"/proc/self/fd/{path}", 0o775),
            "fchmodat2": lambda: syscall("fchmodat2", path, b"", 0o774, AT_EMPTY_PATH),
            "directory": lambda: os.chmod(world["target"], 0o777),
        }
    )


def change_owner(world: World) -> object:
    name, owner = _file(world), (os.getuid(), os.getgid())
    descriptor, path = os.open(name, os.O_RDONLY), os.open(name, os.O_PATH)
    return each(
        {
            "chown": lambda: os.chown(name, *owner),
            "fchown": lambda: os.fchown(descriptor, *owner),
            "lchown": lambda: os.lchown(name, *owner),
            "/proc/self/fd": lambda: os.chown(f"/proc/self/fd/{path}", *owner),
        }
    )


def change_times(world: World) -> object:
    name = _file(world)
    descriptor, path = os.open(name, os.O_RDONLY), os.open(name, os.O_PATH)
    return each(
        {
            "utime": lambda: os.utime(name, (1, 1)),
            "now": lambda: os.utime(name),
            "futimens": lambda: os.utime(descriptor, (2, 2)),
            "/proc/self/fd": lambda: os.utime(f"/proc/self/fd/{path}", (3, 3)),
            "empty path": lambda: syscall("utimensat", path, b"", struct.pack("qqqq", 4, 0, 4, 0), AT_EMPTY_PATH),
        }
    )


def change_attributes(world: World) -> object:
    name = _file(world)
    descriptor, path = os.open(name, os.O_RDONLY), os.open(name, os.O_PATH)
    value = ctypes.create_string_buffer(b"pwned")
    arguments = struct.pack("QII", ctypes.addressof(value), 5, 0)
    return each(
        {
            "setxattr": lambda: os.setxattr(name, "user.a", b"pwned"),
            "fsetxattr": lambda: os.setxattr(descriptor, "user.b", b"pwned"),
            "/proc/self/fd": lambda: os.setxattr(f"/proc/self/fd/{path}", "user.c", b"pwned"),
            "setxattrat": lambda: syscall("setxattrat", descriptor, b"", AT_EMPTY_PATH, b"user.d", arguments, 16),
            "removexattr": lambda: os.removexattr(name, "user.kept"),
        }
    )


def change_inode_flags(world: World) -> object:
    descriptor = os.open(_file(world), os.O_RDONLY)
    flags = bytearray(8)
    fcntl.ioctl(descriptor, FS_IOC_GETFLAGS, flags)
    wanted = struct.unpack("q", flags)[0] | FS_NODUMP
    fcntl.ioctl(descriptor, FS_IOC_SETFLAGS, struct.pack("q", wanted))
    return True


def lock(world: World) -> object:
    fcntl.flock(os.open(_file(world), os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
    return True


def make_fifo(world: World) -> object:
    os.mkfifo(_new(world))
    return True


def make_directory(world: World) -> object:
    os.mkdir(_new(world))
    return True


def make_symlink(world: World) -> object:
    os.symlink("/nowhere", _new(world))
    return True


def bind_socket(world: World) -> object:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(_new(world))
    return True


def remove_file(world: World) -> object:
    os.unlink(_file(world))
    return True


def remove_directory(world: World) -> object:
    os.rmdir(os.path.join(world["target"], "empty"))
    return True


def unnamed_file_given_a_name(world: World) -> object:
    def publish(folder: str) -> None:
        descriptor = os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o644)
        os.write(descriptor, b"pwned\n")
        name = f"{_new(world)}-from-{os.path.basename(folder)}".encode()
        syscall("linkat", AT_FDCWD, f"/proc/self/fd/{descriptor}".encode(), AT_FDCWD, name, 0x400)

    return each({"target": lambda: publish(world["target"]), "staging": lambda: publish(world["staging"])})


def kernel_copies(world: World) -> object:
    source = os.open(_staged(world), os.O_RDONLY)

    def target() -> int:
        return os.open(_file(world), os.O_WRONLY)

    def spliced() -> None:
        reader, writer = os.pipe()
        os.write(writer, b"pwned")
        os.splice(reader, target(), 5)

    return each(
        {
            "copy_file_range": lambda: os.copy_file_range(source, target(), 4, 0, 0),
            "sendfile": lambda: os.sendfile(target(), source, 0, 4),
            "splice": spliced,
            "reflink": lambda: fcntl.ioctl(target(), 0x40049409, source),
        }
    )


def by_file_handle(world: World) -> object:
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0), 136)
    mount_id = ctypes.create_string_buffer(8)
    syscall("name_to_handle_at", AT_FDCWD, _file(world).encode(), handle, mount_id, 0)
    folder = os.open(world["target"], os.O_RDONLY)
    descriptor = syscall("open_by_handle_at", folder, handle, os.O_WRONLY)
    return os.write(descriptor, b"pwned\n") > 0


def swapped_symlink_race(world: World) -> object:
    """Two hundred opens while another thread turns a directory into a link to the target and back."""
    spot, plain = _staged(world, "flip"), _staged(world, "plain")
    os.mkdir(plain)
    stop = threading.Event()

    def flip() -> None:
        while not stop.is_set():
            os.symlink(world["target"], spot)
            os.unlink(spot)
            os.rename(plain, spot)
            os.rename(spot, plain)

    thread = threading.Thread(target=flip)
    thread.start()
    worked = 0
    for number in range(200):
        try:
            worked += write_to(f"{spot}/raced-{number}", flags=CREATE) and os.path.exists(
                f"{world['target']}/raced-{number}"
            )
        except OSError:
            continue
    stop.set()
    thread.join()
    os.symlink(world["target"], spot)
    return write_to(f"{spot}/raced", flags=CREATE) or worked


def device_nodes(world: World) -> object:
    """Numbers that no device has, so that even a success opens nothing."""
    kinds = {"block": stat.S_IFBLK, "char": stat.S_IFCHR}
    places = {"staging": _staged(world, "folder"), "/tmp": world["scratch"], "target": world["target"]}
    device = os.makedev(511, NO_SUCH_DEVICE)
    return each(
        {
            f"{kind} in {place}": later(os.mknod, f"{folder}/{mode:o}", mode | 0o666, device)
            for kind, mode in kinds.items()
            for place, folder in places.items()
        }
    )


def whiteout_node(world: World) -> object:
    os.mknod(_new(world), stat.S_IFCHR, 0)
    return True


def system_directories(world: World) -> object:
    require_sandbox(world)
    return each(
        {
            folder: later(write_to, os.path.join(folder, world["token"]), b"", CREATE)
            for folder in world["system_directories"]
        }
    )


def places_that_look_writable(world: World) -> object:
    """Asks about every directory and file near the root; nothing is written. Landlock is not asked, only mounts."""
    roots = [world["ws"], "/tmp", "/dev", *world.get("also_writable", [])]
    found: list[str] = []
    pending, looked = ["/"], 0
    while pending and looked < 20_000:
        folder = pending.pop(0)
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        for entry in entries:
            looked += 1
            if entry.is_symlink() or entry.path in roots or (folder == "/proc" and entry.name.isdigit()):
                continue
            if os.access(entry.path, os.W_OK, follow_symlinks=False):
                found.append(entry.path)
            if entry.is_dir(follow_symlinks=False) and entry.path.count("/") < 4:
                pending.append(entry.path)
    return found[:20]
