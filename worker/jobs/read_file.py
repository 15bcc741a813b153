"""Lines of a text file: a slice, or the block around a line that its indentation makes.

Owns how lines are cut and which of them belong to a block. Bounded in lines and line length: a file is read from its
beginning and never held whole, nor is a giant line. Never blocks on a FIFO.
"""

import errno
import itertools
import os
import stat

from pycodex.worker.jobs.errors import JobError, reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypeGuard

DEFAULT_LINES = 2000
_MOST_LINES = 5000
_SHOWN_BYTES = 500
# Undecoded text never gets shorter by decoding, but a character at the cut needs its last bytes.
_KEPT_BYTES = _SHOWN_BYTES + 4
# As far as the indentation of a line is followed.
_MEASURED_BYTES = 1 << 16
_CHUNK_BYTES = 1 << 16
_TAB_WIDTH = 4
_COMMENT_STARTS = ("#", "//", "--")


def run(arguments: "dict[str, object]") -> object:
    """`path` (absolute), `offset` (first line, from 1), `limit` (lines); with `indentation` (a map), a block instead.

    Gives the lines, the number of the first, and whether there is `more`.
    """
    path, offset, limit = arguments.get("path"), arguments.get("offset", 1), arguments.get("limit", DEFAULT_LINES)
    if not _is_positive(offset):
        raise JobError("offset must be a 1-indexed line number")
    if not _is_positive(limit):
        raise JobError("limit must be greater than zero")
    if type(path) is not str or not os.path.isabs(path):
        raise JobError("file_path must be an absolute path")
    wanted = arguments.get("indentation")
    rules = None if wanted is None else _Rules(wanted, offset, limit)
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            _check_kind(fd)
            return _slice(fd, offset, min(limit, _MOST_LINES)) if rules is None else _block(fd, rules)
        finally:
            os.close(fd)
    except (OSError, ValueError) as error:
        raise JobError(f"failed to read file: {reason(error)}") from None


def _is_positive(value: object) -> "TypeGuard[int]":
    return type(value) is int and value > 0


def _check_kind(fd: int) -> None:
    mode = os.fstat(fd).st_mode
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise JobError("failed to read file: not a regular file")


def _lines(fd: int, kept_bytes: int) -> "Iterator[bytes]":
    """Lines without their ends, cut to what a reader can use; a giant line is never held whole."""
    kept = bytearray()
    started = False
    while chunk := os.read(fd, _CHUNK_BYTES):
        *whole, rest = chunk.split(b"\n")
        for piece in whole:
            kept += piece[: max(0, kept_bytes - len(kept))]
            yield bytes(kept).removesuffix(b"\r")
            kept.clear()
            started = False
        if rest:
            started = True
            kept += rest[: max(0, kept_bytes - len(kept))]
    if started:
        yield bytes(kept)


def _text(line: bytes) -> str:
    decoded = line[:_KEPT_BYTES].decode("utf-8", "replace")
    return decoded.encode()[:_SHOWN_BYTES].decode("utf-8", "ignore")


# A slice


def _slice(fd: int, offset: int, limit: int) -> object:
    lines: list[str] = []
    for number, line in enumerate(_lines(fd, _KEPT_BYTES), start=1):
        if number < offset:
            continue
        if len(lines) == limit:
            return _answer(offset, lines, more=True)
        lines.append(_text(line))
    if not lines:
        raise JobError("offset exceeds file length")
    return _answer(offset, lines, more=False)


def _answer(first_line: int, lines: "list[str]", *, more: bool) -> object:
    return {"first_line": first_line, "lines": lines, "more": more}


# A block


class _Rules:
    """What is asked of a block, checked."""

    def __init__(self, wanted: object, offset: int, limit: int) -> None:
        given: dict[str, object] = wanted if isinstance(wanted, dict) else {}
        anchor, most, levels = (given.get(name) for name in ("anchor_line", "max_lines", "max_levels"))
        if anchor is not None and not _is_positive(anchor):
            raise JobError("anchor_line must be a 1-indexed line number")
        if most is not None and not _is_positive(most):
            raise JobError("max_lines must be greater than zero")
        self.anchor = anchor if type(anchor) is int else offset
        self.most_lines = min(limit, most if type(most) is int else limit, _MOST_LINES)
        self.levels = levels if type(levels) is int else 0
        self.siblings = given.get("include_siblings", False) is True
        self.headers = given.get("include_header", True) is True


class _Line:
    """`indent` of a blank line is that of the line before it."""

    __slots__ = ("indent", "is_blank", "text")

    def __init__(self, line: bytes, indent_before: int) -> None:
        self.text = _text(line)
        self.is_blank = not self.text.strip() and (len(line) <= _KEPT_BYTES or not line.strip())
        self.indent = indent_before if self.is_blank else _indent(line)

    @property
    def is_comment(self) -> bool:
        return self.text.lstrip().startswith(_COMMENT_STARTS)


def _indent(line: bytes) -> int:
    leading = line[: len(line) - len(line.lstrip(b" \t"))]
    return len(leading) + (_TAB_WIDTH - 1) * leading.count(b"\t")


def _measured(fd: int) -> "Iterator[_Line]":
    indent = 0
    for raw in _lines(fd, _MEASURED_BYTES):
        line = _Line(raw, indent)
        indent = line.indent
        yield line


def _block(fd: int, rules: _Rules) -> object:
    lines = _measured(fd)
    before = _latest(lines, rules.anchor - 1, rules.most_lines)
    anchor = next(lines, None)
    if anchor is None:
        raise JobError("anchor_line exceeds file length")
    least = max(0, anchor.indent - _TAB_WIDTH * rules.levels) if rules.levels else 0
    after = list(itertools.islice(lines, 1))
    # One line was asked for, or there is no other: it is shown even if it is blank.
    if rules.most_lines == 1 or not (before or after):
        return _answer(rules.anchor, [anchor.text], more=False)
    above, below = _alternately(
        _side(reversed(before), least, siblings=rules.siblings, headers=rules.headers),
        _side(itertools.chain(after, lines), least, siblings=rules.siblings, headers=False),
        rules.most_lines - 1,
    )
    block = [*reversed(above), anchor, *below]
    more = len(block) == _MOST_LINES
    first_line = rules.anchor - len(above) + _strip_blank(block)
    return _answer(first_line, [line.text for line in block], more=more)


def _latest(lines: "Iterator[_Line]", count: int, kept: int) -> "list[_Line]":
    """Pass over so many lines, and keep the last of them."""
    latest: list[_Line] = []
    for _ in range(count):
        line = next(lines, None)
        if line is None:
            break
        latest.append(line)
        if len(latest) > 2 * kept:
            del latest[:-kept]
    return latest[-kept:]


def _side(lines: "Iterable[_Line]", least: int, *, siblings: bool, headers: bool) -> "Iterator[_Line]":
    """The lines on one side of the anchor, nearest first, up to where another block begins."""
    outermost_seen = False
    for line in lines:
        if line.indent < least:
            return
        if line.indent == least and not siblings:
            if outermost_seen and not (headers and line.is_comment):
                return
            outermost_seen = True
        yield line


def _alternately(above: "Iterator[_Line]", below: "Iterator[_Line]", room: int) -> "tuple[list[_Line], list[_Line]]":
    """One line of each side in turn, while there is room and either side goes on."""
    taken: tuple[list[_Line], list[_Line]] = [], []
    open_sides = [(above, taken[0]), (below, taken[1])]
    while open_sides:
        for side in list(open_sides):
            if room == 0:
                return taken
            line = next(side[0], None)
            if line is None:
                open_sides.remove(side)
            else:
                side[1].append(line)
                room -= 1
    return taken


def _strip_blank(block: "list[_Line]") -> int:
    """Drop blank lines at both ends; gives how many there were at the first."""
    while block and block[-1].is_blank:
        block.pop()
    leading = 0
    while leading < len(block) and block[leading].is_blank:
        leading += 1
    del block[:leading]
    return leading
