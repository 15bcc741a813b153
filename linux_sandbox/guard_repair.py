"""Comparing protected paths with what they were, and putting back what differs.

Owns the verdict on every difference and the words for it. Takes nodes of a snapshot; changes nothing outside the
directories that it is given by descriptor. Others may still be at work in the same trees.
"""

import os
import stat

from pycodex.linux_sandbox import guard_paths
from pycodex.linux_sandbox.guard_paths import status_of
from pycodex.linux_sandbox.guard_snapshot import Node, content_of, node_of, open_handle

_MOST_LINES = 20


class Notes:
    """One line for each change, what could not be undone first; bounded, as an attacker decides how many there are."""

    def __init__(self) -> None:
        self._failures: list[str] = []
        self._repairs: list[str] = []
        self._touched: dict[str, int] = {}

    def repaired(self, path: str, change: str, cure: str) -> None:
        self._repairs.append(f"{shown(path)} {change} during the call: {cure}")

    def failed(self, path: str, change: str, why: str) -> None:
        self._failures.append(f"{shown(path)} {change} and could not be restored: {why}")

    def unchecked(self, path: str, why: str) -> None:
        self._failures.append(f"{shown(path)} could not be checked for changes: {why}")

    def touched(self, top: str) -> None:
        self._touched[top] = self._touched.get(top, 0) + 1

    def lines(self) -> "tuple[str, ...]":
        for top, count in self._touched.items():
            self._failures.append(
                f"{shown(top)}: files of which no copy is kept were linked, or written with their times put back"
                f" ({count}): check them, for example with `git fsck`"
            )
        return (*_capped(self._failures), *_capped(self._repairs))


def _capped(lines: "list[str]") -> "list[str]":
    if len(lines) <= _MOST_LINES:
        return lines
    return [*lines[:_MOST_LINES], f"... and {len(lines) - _MOST_LINES} more such changes of protected paths"]


def shown(path: str) -> str:
    """A name may hold anything, also what a terminal would obey."""
    return path if path.isprintable() else repr(path)


class Repair:
    """`wanted` is what a path should be, `seen` what it was when this call began; see `guard` for why they differ."""

    def __init__(self, notes: Notes, excluded: "frozenset[str]") -> None:
        self._notes = notes
        self._excluded = excluded
        self._top = ""

    def settle_top(self, parent_fd: int, path: str, wanted: "Node | None", seen: "Node | None") -> None:
        self._top = path
        self._settle(parent_fd, path, wanted, seen)

    def _settle(self, parent_fd: int, path: str, wanted: "Node | None", seen: "Node | None") -> None:
        name = os.path.basename(path)
        try:
            status = status_of(parent_fd, name)
            now = None if status is None else node_of(status)
            if now is not None and now.is_directory:
                # Inodes are used again: the same number need not be the same thing.
                same = seen if seen is not None and seen.is_directory and seen.identity == now.identity else None
                target = wanted if wanted is not None and wanted.is_directory else None
                if same is not None or target is not None:
                    self._settle_directory(parent_fd, path, target, same)
                    return
            elif now is not None and any(node is not None and node.status == now.status for node in (seen, wanted)):
                return
            self._put_right(parent_fd, path, now, wanted)
        except OSError as error:
            self._notes.failed(path, "was changed", _reason(error))

    def _settle_directory(self, parent_fd: int, path: str, wanted: "Node | None", seen: "Node | None") -> None:
        handle = os.open(os.path.basename(path), guard_paths.DIRECTORY, dir_fd=parent_fd)
        try:
            now = node_of(os.fstat(handle))
            if wanted is not None and wanted.children is None:
                self._restore_mode(handle, path, now, wanted, seen)
                return
            names_are_seen = seen is not None and seen.status == now.status
            guard_paths.allow_owner(handle)
            fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=handle)
            try:
                self._settle_content(fd, path, (wanted, seen), names_are_seen=names_are_seen)
            finally:
                os.close(fd)
            self._restore_mode(handle, path, now, wanted or seen, seen)
        finally:
            os.close(handle)

    def _settle_content(
        self, fd: int, path: str, nodes: "tuple[Node | None, Node | None]", *, names_are_seen: bool
    ) -> None:
        wanted, seen = ((node.children if node is not None else None) or {} for node in nodes)
        present = set(os.listdir(fd))
        # What is new goes first: it may be what fills the disk.
        for name in sorted(present, key=lambda name: (name in wanted, name)):
            below = f"{path}/{name}"
            if below not in self._excluded:
                self._settle(fd, below, wanted.get(name), seen.get(name))
        if not names_are_seen:
            for name in wanted.keys() - present:
                self._settle(fd, f"{path}/{name}", wanted[name], seen.get(name))

    def _restore_mode(self, handle: int, path: str, now: Node, wanted: "Node | None", seen: "Node | None") -> None:
        """Also takes back what we opened up for ourselves; a mode that was there when the call began is left."""
        if wanted is None:
            return
        target = seen if seen is not None and seen.mode == now.mode else wanted
        if (now.mode, now.owner) != (target.mode, target.owner):
            self._set_status(handle, target)
            self._notes.repaired(path, "got another mode or owner", "restored")
        elif os.fstat(handle).st_mode != target.mode:
            guard_paths.set_mode(handle, target.mode)

    def _set_status(self, handle: int, wanted: Node) -> None:
        if node_of(os.fstat(handle)).owner != wanted.owner:
            guard_paths.set_owner(handle, wanted.owner)
        guard_paths.set_mode(handle, wanted.mode)

    def _put_right(self, parent_fd: int, path: str, now: "Node | None", wanted: "Node | None") -> None:
        name = os.path.basename(path)
        if wanted is None:
            if now is not None:
                guard_paths.remove(parent_fd, name)
                self._notes.repaired(path, "was created", "removed")
        elif now is None:
            self._recreate(parent_fd, path, wanted, "was removed")
        elif stat.S_IFMT(now.mode) != stat.S_IFMT(wanted.mode):
            guard_paths.remove(parent_fd, name)
            self._recreate(parent_fd, path, wanted, "was replaced")
        elif stat.S_ISREG(wanted.mode):
            self._restore_file(parent_fd, path, now, wanted)
        elif stat.S_ISLNK(wanted.mode):
            if os.readlink(name, dir_fd=parent_fd) != wanted.target:
                self._recreate(parent_fd, path, wanted, "was changed")
        elif now.identity != wanted.identity:
            self._recreate(parent_fd, path, wanted, "was replaced")

    def _restore_file(self, parent_fd: int, path: str, now: Node, wanted: Node) -> None:
        name = os.path.basename(path)
        if wanted.content is None and now.body != wanted.body:
            self._notes.failed(path, "was changed", wanted.why)
            return
        if wanted.content is None:
            self._notes.touched(self._top)
        elif content_of(parent_fd, name, now.identity) != wanted.content:
            self._recreate(parent_fd, path, wanted, "was changed")
            return
        elif now.names > wanted.names:
            # Through the other name it could be changed later, by somebody who means that other file.
            self._recreate(parent_fd, path, wanted, "got another name")
            return
        if (now.mode, now.owner) != (wanted.mode, wanted.owner):
            handle = open_handle(parent_fd, name)
            try:
                self._set_status(handle, wanted)
            finally:
                os.close(handle)
            self._notes.repaired(path, "got another mode or owner", "restored")

    def _recreate(self, parent_fd: int, path: str, node: Node, change: str) -> None:
        if self._make(parent_fd, path, node, change):
            self._notes.repaired(path, change, "restored")

    def _make(self, parent_fd: int, path: str, node: Node, change: str) -> bool:
        name = os.path.basename(path)
        try:
            if node.is_directory:
                self._make_directory(parent_fd, path, node)
            elif stat.S_ISLNK(node.mode):
                guard_paths.write_link(parent_fd, name, node.target)
            elif node.content is not None:
                guard_paths.write_file(
                    parent_fd,
                    name,
                    node.content,
                    mode=node.mode,
                    owner=node.owner,
                    mtime_ns=node.status[7],
                )
            else:
                self._notes.failed(path, change, node.why or "it was no ordinary file")
                return False
        except OSError as error:
            self._notes.failed(path, change, _reason(error))
            return False
        return True

    def _make_directory(self, parent_fd: int, path: str, node: Node) -> None:
        name = os.path.basename(path)
        os.mkdir(name, 0o700, dir_fd=parent_fd)
        fd = guard_paths.open_forced(parent_fd, name)
        try:
            for inner, child in (node.children or {}).items():
                self._make(fd, f"{path}/{inner}", child, "was removed")
            if node.children is None:
                self._notes.failed(path, "was removed", node.why or "what was in it is not known")
            self._set_status(fd, node)
        finally:
            os.close(fd)


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
