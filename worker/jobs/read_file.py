"""A slice of a text file by lines. Bounded in lines, line length and bytes read; never blocks on a FIFO."""

import os
import stat

from pycodex.worker.jobs.errors import JobError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_LINES = 2000
_LINE_BYTES = 500
_CHUNK_BYTES = 1 << 16


def run(arguments: "dict[str, object]") -> object:
    """`path` (absolute), `offset` (first line, from 1), `limit` (lines). Gives the lines, their numbers and `more`."""
    path, offset, limit = arguments.get("path"), arguments.get("offset", 1), arguments.get("limit", _MOST_LINES)
    if type(path) is not str or not os.path.isabs(path):
        raise JobError("file_path must be an absolute path")
    if type(offset) is not int or offset < 1:
        raise JobError("offset must be a 1-indexed line number")
    if type(limit) is not int or limit < 1:
        raise JobError("limit must be greater than zero")
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise JobError(f"{path} is not a regular file")
        return _slice(fd, offset, min(limit, _MOST_LINES))
    finally:
        os.close(fd)


def _slice(fd: int, offset: int, limit: int) -> object:
    lines: list[str] = []
    number = 0
    for line in _lines(fd):
        number += 1
        if number < offset:
            continue
        if len(lines) == limit:
            return {"first_line": offset, "lines": lines, "more": True}
        lines.append(line.decode("utf-8", "replace"))
    if not lines:
        raise JobError(f"offset exceeds file length ({number} lines)")
    return {"first_line": offset, "lines": lines, "more": False}


def _lines(fd: int) -> "Iterator[bytes]":
    """Lines without their ends, cut to what a reader can use; a giant line is never held whole."""
    kept = bytearray()
    started = False
    while chunk := os.read(fd, _CHUNK_BYTES):
        *whole, rest = chunk.split(b"\n")
        for piece in whole:
            kept += piece[: max(0, _LINE_BYTES - len(kept))]
            yield bytes(kept).removesuffix(b"\r")
            kept.clear()
            started = False
        if rest:
            started = True
            kept += rest[: max(0, _LINE_BYTES - len(kept))]
    if started:
        yield bytes(kept)
