"""What lies in a directory, down to a depth, in the order of the paths.

Owns the layout of the list. Bounded in entries that are looked at and in those that are shown. Links are named, not
followed, so there are no loops; a directory further down that cannot be read is named without what is in it.
"""

import os
import stat

from pycodex.protocol.confinement import PLACEHOLDER_MODE
from pycodex.worker.jobs.errors import JobError, reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Entry = tuple[bytes, str]
    """The path below the directory that is listed, and the mark of its kind."""

_MOST_ENTRIES = 300_000
_MOST_SHOWN = 5000
_NAME_BYTES = 500
_INDENT = "  "


def run(arguments: "dict[str, object]") -> object:
    """`path` (absolute), `offset` (first entry, from 1), `limit` (entries), `depth`. Gives the list as text."""
    path = arguments.get("path")
    offset, limit, depth = (arguments.get(name, 1) for name in ("offset", "limit", "depth"))
    if type(offset) is not int or offset < 1:
        raise JobError("offset must be a 1-indexed entry number")
    if type(limit) is not int or limit < 1:
        raise JobError("limit must be greater than zero")
    if type(depth) is not int or depth < 1:
        raise JobError("depth must be greater than zero")
    if type(path) is not str or not os.path.isabs(path):
        raise JobError("dir_path must be an absolute path")
    try:
        entries = sorted(_entries(os.fsencode(path), depth))
    except (OSError, ValueError) as error:
        raise JobError(f"failed to read directory: {reason(error)}") from None
    if entries and offset > len(entries):
        raise JobError("offset exceeds directory entry count")
    shown = entries[offset - 1 :][: min(limit, _MOST_SHOWN)]
    lines = [f"Absolute path: {path}", *map(_line, shown)]
    if offset - 1 + len(shown) < len(entries):
        lines.append(f"More than {len(shown)} entries found")
    return "\n".join(lines)


def _entries(top: bytes, depth: int) -> "Iterator[Entry]":
    """All of them, level by level."""
    count = 0
    level = [b""]
    for _ in range(depth):
        next_level: list[bytes] = []
        for folder in level:
            for path, mark in _entries_of(top, folder):
                count += 1
                if count > _MOST_ENTRIES:
                    raise JobError(
                        f"failed to read directory: more than {_MOST_ENTRIES} entries; take a smaller depth, or a "
                        "directory further down"
                    )
                if mark == "/":
                    next_level.append(path)
                yield path, mark
        level = next_level
        if not level:
            return


def _entries_of(top: bytes, folder: bytes) -> "Iterator[Entry]":
    try:
        found = os.scandir(os.path.join(top, folder))
    except OSError:
        if not folder:
            raise
        return
    with found:
        for entry in found:
            mark = _mark(entry)
            if mark != "/" or not _is_placeholder(entry):
                yield os.path.join(folder, entry.name), mark


def _mark(entry: "os.DirEntry[bytes]") -> str:
    try:
        if entry.is_symlink():
            return "@"
        if entry.is_dir(follow_symlinks=False):
            return "/"
        return "" if entry.is_file(follow_symlinks=False) else "?"
    except OSError:
        return "?"


def _is_placeholder(entry: "os.DirEntry[bytes]") -> bool:
    """Made by the sandbox for the time of some other call, so not there for anybody who asks."""
    try:
        return stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode) == PLACEHOLDER_MODE
    except OSError:
        return False


def _line(entry: "Entry") -> str:
    path, mark = entry
    name = path.rpartition(b"/")[2].decode("utf-8", "replace").encode()[:_NAME_BYTES].decode("utf-8", "ignore")
    return f"{_INDENT * path.count(b'/')}{name}{mark}"
