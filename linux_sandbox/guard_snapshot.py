"""What lies at and below protected paths, as values that can be compared and put back.

Owns the walk: bounded in entries, depth and bytes, shallow things first, relative to descriptors, following no link.
Gives nodes; changes nothing. The trees may be an attacker's work, so everything in them can be odd, huge or changing.
"""

import os
import stat

from pycodex.linux_sandbox.guard_paths import open_below, status_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_ENTRIES = 20_000
MOST_FILE_BYTES = 256 * 1024
MOST_BYTES = 16 * 1024 * 1024
MOST_LEVELS = 64

_READ_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Node:
    """One file, directory or link as it was. `why` tells what is not known about it: content, or what is inside."""

    __slots__ = ("children", "content", "status", "target", "why")

    def __init__(self, status: "tuple[int, ...]") -> None:
        self.status = status
        """Device, inode, mode, owner, group, number of names, size, times of change of content and of status."""
        self.content: bytes | None = None
        self.target = ""
        self.children: dict[str, Node] | None = None
        self.why = ""

    @property
    def identity(self) -> "tuple[int, ...]":
        return self.status[:2]

    @property
    def mode(self) -> int:
        return self.status[2]

    @property
    def owner(self) -> "tuple[int, ...]":
        return self.status[3:5]

    @property
    def names(self) -> int:
        return self.status[5]

    @property
    def body(self) -> "tuple[int, ...]":
        """What tells an ordinary change of a file whose content is not kept: device, inode, size, time."""
        return (*self.status[:2], *self.status[6:8])

    @property
    def is_directory(self) -> bool:
        return stat.S_ISDIR(self.mode)

    def to_plain(self) -> "tuple[object, ...]":
        children = None if self.children is None else {name: node.to_plain() for name, node in self.children.items()}
        return self.status, self.content, self.target, children, self.why

    @classmethod
    def from_plain(cls, plain: "tuple[Any, ...]") -> "Node":
        status, content, target, children, why = plain
        node = cls(status)
        node.content, node.target, node.why = content, target, why
        if isinstance(children, dict):
            node.children = {name: cls.from_plain(child) for name, child in children.items()}
        return node


def node_of(status: os.stat_result) -> Node:
    return Node(
        (
            status.st_dev,
            status.st_ino,
            status.st_mode,
            status.st_uid,
            status.st_gid,
            status.st_nlink,
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
        )
    )


class Walk:
    """One walk over several trees with one budget. `excluded` are absolute paths that are not looked at."""

    def __init__(self, excluded: "frozenset[str]") -> None:
        self._excluded = excluded
        self._entries_left = MOST_ENTRIES
        self._bytes_left = MOST_BYTES
        self._queue: list[tuple[str, str, Node, int]] = []
        self._stores: list[tuple[str, str, Node, int]] = []

    def add(self, parent_fd: int, path: str) -> "Node | None":
        """The top of a tree; what is inside follows with `finish`. None: there is nothing."""
        name = os.path.basename(path)
        status = status_of(parent_fd, name)
        if status is None:
            return None
        self._entries_left -= 1
        node = self._look(parent_fd, name, status, keep=True)
        if node.is_directory:
            self._queue.append((path, "", node, 0))
        return node

    def finish(self) -> None:
        """Level by level; the object stores of repositories, which can be large, come last and by signature only."""
        for queue, keep in ((self._queue, True), (self._stores, False)):
            at = 0
            while at < len(queue):
                self._open_and_list(*queue[at], keep=keep)
                at += 1

    def _open_and_list(self, top: str, inside: str, node: Node, level: int, *, keep: bool) -> None:
        if level >= MOST_LEVELS:
            node.why = f"more than {MOST_LEVELS} levels of directories"
            return
        try:
            fd = open_below(top, inside, os.O_RDONLY)
        except OSError as error:
            node.why = os.strerror(error.errno or 0)
            return
        try:
            self._list(fd, (top, inside, node, level), keep=keep)
        except OSError as error:
            node.children, node.why = None, os.strerror(error.errno or 0)
        finally:
            os.close(fd)

    def _list(self, fd: int, place: "tuple[str, str, Node, int]", *, keep: bool) -> None:
        top, inside, node, level = place
        names = self._names(fd)
        if names is None:
            node.why = f"more than {MOST_ENTRIES} entries"
            return
        self._entries_left -= len(names)
        found: dict[str, Node] = {}
        for name in names:
            below = f"{inside}/{name}" if inside else name
            status = status_of(fd, name)
            if status is None or f"{top}/{below}" in self._excluded:
                continue
            found[name] = child = self._look(fd, name, status, keep=keep)
            if child.is_directory:
                is_store = name == "objects" and "HEAD" in names
                queue = self._stores if is_store or not keep else self._queue
                queue.append((top, below, child, level + 1))
        node.children = found

    def _names(self, fd: int) -> "list[str] | None":
        names: list[str] = []
        with os.scandir(fd) as found:
            for entry in found:
                if len(names) >= self._entries_left:
                    return None
                names.append(entry.name)
        return names

    def _look(self, parent_fd: int, name: str, status: os.stat_result, *, keep: bool) -> Node:
        node = node_of(status)
        if stat.S_ISLNK(node.mode):
            node.target = os.readlink(name, dir_fd=parent_fd)
        elif stat.S_ISREG(node.mode):
            if not keep:
                node.why = "objects of repositories are not kept"
            elif status.st_size > MOST_FILE_BYTES:
                node.why = f"it is larger than {MOST_FILE_BYTES // 1024} KiB"
            elif status.st_size > self._bytes_left:
                node.why = f"more than {MOST_BYTES >> 20} MiB would have to be kept"
            else:
                self._read(parent_fd, name, node)
        return node

    def _read(self, parent_fd: int, name: str, node: Node) -> None:
        try:
            content = content_of(parent_fd, name, node.identity)
        except OSError as error:
            node.why = os.strerror(error.errno or 0)
            return
        if content is None:
            node.why = "it was changing"
            return
        node.content = content
        self._bytes_left -= len(content)


def content_of(parent_fd: int, name: str, identity: "tuple[int, ...]") -> "bytes | None":
    """The content of a regular file, None if it is another file than expected or too large to be kept."""
    fd = os.open(name, _READ_FILE, dir_fd=parent_fd)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or (status.st_dev, status.st_ino) != identity:
            return None
        parts: list[bytes] = []
        size = 0
        while size <= MOST_FILE_BYTES and (part := os.read(fd, MOST_FILE_BYTES + 1 - size)):
            parts.append(part)
            size += len(part)
        return b"".join(parts) if size <= MOST_FILE_BYTES else None
    finally:
        os.close(fd)


def open_handle(parent_fd: int, name: str) -> int:
    """A descriptor that keeps hold of the thing itself, wherever it is moved."""
    return os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent_fd)
