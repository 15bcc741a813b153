"""Attempts to leave a program behind that lends this user's, or this group's, identity to whoever runs it outside."""

import ctypes
import os
import stat
import struct
from collections.abc import Callable

from escape.programs.rawcalls import AT_EMPTY_PATH, AT_FDCWD, World, each, later, numbered, syscall

AT_SYMLINK_FOLLOW = 0x400
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_BY_NAME = {"x86_64": {"open": 2, "creat": 85, "chmod": 90, "mknod": 133}}.get(os.uname().machine, {})


def set_user_id(world: World) -> object:
    return _each_way(world, stat.S_ISUID)


def set_group_id(world: World) -> object:
    return _each_way(world, stat.S_ISGID)


def _each_way(world: World, bit: int) -> object:
    mode = 0o755 | bit
    ways: dict[str, Callable[[str], object]] = {
        "chmod": later_on_file(lambda path: os.chmod(path, mode)),
        "fchmod": later_on_file(lambda path: _through_descriptor(path, os.O_RDONLY, lambda fd: os.fchmod(fd, mode))),
        "fchmodat2": later_on_file(lambda path: syscall("fchmodat2", AT_FDCWD, path.encode(), mode, 0)),
        "fchmodat2 by descriptor": later_on_file(
            lambda path: _through_descriptor(
                path, os.O_PATH, lambda fd: syscall("fchmodat2", fd, b"", mode, AT_EMPTY_PATH)
            )
        ),
        "open": lambda path: os.close(os.open(path, CREATE, mode)),
        "openat2": lambda path: os.close(_openat2(path, mode)),
        "mknod": lambda path: os.mknod(path, mode | stat.S_IFREG),
        "unnamed": lambda path: _unnamed(path, mode),
        "renamed": lambda path: _renamed(path, mode),
    }
    for name, number in _BY_NAME.items():
        arguments = (CREATE, mode) if name == "open" else (mode | stat.S_IFREG if name == "mknod" else mode,)
        way = _numbered(number, *arguments)
        ways[f"raw {name}"] = later_on_file(way) if name == "chmod" else way
    folder = os.path.join(world["ws"], "left")
    os.mkdir(folder)
    os.umask(0)
    return each({name: later(_carries, way, os.path.join(folder, name), bit) for name, way in ways.items()})


def _carries(way: Callable[[str], object], path: str, bit: int) -> bool:
    way(path)
    return bool(os.lstat(path).st_mode & bit)


def _numbered(number: int, *arguments: int) -> Callable[[str], object]:
    return lambda path: numbered(number, path.encode(), *arguments)


def later_on_file(change: Callable[[str], object]) -> Callable[[str], object]:
    def made_and_changed(path: str) -> None:
        os.close(os.open(path, CREATE, 0o755))
        change(path)

    return made_and_changed


def _through_descriptor(path: str, flags: int, change: Callable[[int], object]) -> None:
    descriptor = os.open(path, flags)
    try:
        change(descriptor)
    finally:
        os.close(descriptor)


def _openat2(path: str, mode: int) -> int:
    how = struct.pack("=QQQ", CREATE, mode, 0)
    return syscall("openat2", AT_FDCWD, path.encode(), ctypes.create_string_buffer(how, len(how)), len(how))


def _unnamed(path: str, mode: int) -> None:
    descriptor = os.open(os.path.dirname(path), os.O_TMPFILE | os.O_WRONLY, mode)
    source = f"/proc/self/fd/{descriptor}".encode()
    syscall("linkat", AT_FDCWD, source, AT_FDCWD, path.encode(), AT_SYMLINK_FOLLOW)


def _renamed(path: str, mode: int) -> None:
    """A directory of that mode is harmless; what replaces it is not."""
    os.mkdir(path + ".dir", 0o755)
    os.chmod(path + ".dir", mode)
    os.close(os.open(path, CREATE, os.stat(path + ".dir").st_mode & 0o7777))
