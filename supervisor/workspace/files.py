"""Files of the host, read and changed for somebody who may do all that the user may.

Owns what each operation does with links, directories and special files, and its bounds: nothing here waits for the
other end of a pipe. Blocking: for threads. Raises OSError as the system does, Unsupported for what is not done.
"""

import os
import shutil
from collections.abc import Iterator
from errno import EISDIR
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import NamedTuple

MAX_READ_BYTES = 64 << 20
MAX_ENTRIES = 100_000
_CHUNK_BYTES = 1 << 20
_NEVER_WAITING = os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class Unsupported(Exception):
    """An operation that is not done, whatever the system would say."""


class Facts(NamedTuple):
    is_directory: bool
    is_file: bool
    modified_at_ms: int


class Entry(NamedTuple):
    name: str
    is_directory: bool
    is_file: bool


def read_file(path: str) -> bytes:
    """All of it, as far as it goes: files of /proc do not tell their size."""
    descriptor = os.open(path, os.O_RDONLY | _NEVER_WAITING)
    try:
        mode = os.fstat(descriptor).st_mode
        if S_ISDIR(mode):
            raise OSError(EISDIR, os.strerror(EISDIR))
        if not S_ISREG(mode):
            raise Unsupported("fs/readFile only supports regular files")
        data = bytearray()
        while part := os.read(descriptor, _CHUNK_BYTES):
            data += part
            if len(data) > MAX_READ_BYTES:
                raise Unsupported(f"file is too large to read: limit is {MAX_READ_BYTES} bytes")
        return bytes(data)
    finally:
        os.close(descriptor)


def write_file(path: str, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | _NEVER_WAITING, 0o666)
    try:
        if not S_ISREG(os.fstat(descriptor).st_mode):
            raise Unsupported("fs/writeFile only supports regular files")
        os.ftruncate(descriptor, 0)
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
    finally:
        os.close(descriptor)


def create_directory(path: str, *, recursive: bool) -> None:
    if recursive:
        os.makedirs(path, exist_ok=True)
    else:
        os.mkdir(path)


def facts_of(path: str) -> Facts:
    """Of what a link leads to."""
    status = os.stat(path)
    return Facts(S_ISDIR(status.st_mode), S_ISREG(status.st_mode), max(0, status.st_mtime_ns // 1_000_000))


def read_directory(path: str) -> list[Entry]:
    """By name. A link that leads nowhere is neither file nor directory."""
    entries: list[Entry] = []
    with os.scandir(path) as found:
        for entry in found:
            if len(entries) >= MAX_ENTRIES:
                raise Unsupported(f"directory is too large to read: limit is {MAX_ENTRIES} entries")
            entries.append(Entry(entry.name, entry.is_dir(), entry.is_file()))
    return sorted(entries)


def remove(path: str, *, recursive: bool, force: bool) -> None:
    """Links are removed, not what they lead to. `force`: nothing there is fine too."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        if force:
            return
        raise
    if not S_ISDIR(mode):
        os.unlink(path)
    elif recursive:
        shutil.rmtree(path)
    else:
        os.rmdir(path)


def copy(source: str, destination: str, *, recursive: bool) -> None:
    """Links are copied as links; what is special inside of a directory is passed over."""
    mode = os.lstat(source).st_mode
    if S_ISDIR(mode):
        if not recursive:
            raise Unsupported("fs/copy requires recursive: true when sourcePath is a directory")
        if _is_inside(destination, source):
            raise Unsupported("fs/copy cannot copy a directory to itself or one of its descendants")
        for one, other in _tree(source, destination):
            _copy_one(one, other)
    elif S_ISLNK(mode) or S_ISREG(mode):
        _copy_one(source, destination)
    else:
        raise Unsupported("fs/copy only supports regular files, directories, and symlinks")


def _is_inside(path: str, directory: str) -> bool:
    real, top = os.path.realpath(path), os.path.realpath(directory)
    return real == top or real.startswith(f"{top.rstrip('/')}/")


def _tree(source: str, destination: str) -> Iterator[tuple[str, str]]:
    """Each thing below with its place; a directory is made before what is in it."""
    waiting = [(source, destination)]
    while waiting:
        from_dir, to_dir = waiting.pop()
        os.makedirs(to_dir, exist_ok=True)
        with os.scandir(from_dir) as found:
            for entry in found:
                target = os.path.join(to_dir, entry.name)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((entry.path, target))
                elif entry.is_symlink() or entry.is_file(follow_symlinks=False):
                    yield entry.path, target


def _copy_one(source: str, destination: str) -> None:
    if os.path.islink(source):
        os.symlink(os.readlink(source), destination)
        return
    # The rights go along, as with the reference.
    reader = os.open(source, os.O_RDONLY | _NEVER_WAITING)
    try:
        writer = os.open(destination, os.O_WRONLY | os.O_CREAT | _NEVER_WAITING, 0o666)
        try:
            if not S_ISREG(os.fstat(reader).st_mode) or not S_ISREG(os.fstat(writer).st_mode):
                raise Unsupported("fs/copy only supports regular files, directories, and symlinks")
            if os.path.sameopenfile(reader, writer):
                return
            os.ftruncate(writer, 0)
            while part := os.read(reader, _CHUNK_BYTES):
                view = memoryview(part)
                while view:
                    view = view[os.write(writer, view) :]
            os.fchmod(writer, os.fstat(reader).st_mode & 0o7777)
        finally:
            os.close(writer)
    finally:
        os.close(reader)
