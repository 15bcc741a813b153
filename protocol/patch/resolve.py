"""Where the chunks of a patch fit into a text, and the text that results.

Owns the search for a chunk's lines and the splicing. Lines that fit only if white space or punctuation is overlooked
get the patch's wording; line endings are always those of the text. Reads no file. Takes text and chunks, gives text.
"""

from pycodex.protocol.patch.parse import ADDED, CONTEXT, REMOVED, WHITESPACE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pycodex.protocol.patch.parse import Chunk

    Lines = list[str]

_HYPHENS = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_SINGLE_QUOTES = "\u2018\u2019\u201a\u201b"
_DOUBLE_QUOTES = "\u201c\u201d\u201e\u201f"
_SPACES = "\xa0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_PLAINER = (("-", _HYPHENS), ("'", _SINGLE_QUOTES), ('"', _DOUBLE_QUOTES), (" ", _SPACES))
_CR = "\r"


class Unmatched(Exception):
    """A chunk fits nowhere."""


def resolve(text: str, chunks: "Sequence[Chunk]", *, path: str) -> str:
    """The text with all chunks applied. `path` is only named. Raises Unmatched."""
    target = _Target(text)
    for chunk in chunks:
        target.place(chunk, path)
    return target.result()


class _Target:
    """One text on its way. Chunks come in the order of the lines that they are about."""

    def __init__(self, text: str) -> None:
        newline = text.find("\n")
        self._ending = _CR if newline > 0 and text[newline - 1] == _CR else ""
        if text and not text.endswith("\n"):
            text += self._ending + "\n"
        # A line's ending, without the newline, counts as the end of the raw line.
        self._raw = text.split("\n")[:-1]
        self._plain = text.replace("\r\n", "\n").split("\n")[:-1] if "\r\n" in text else self._raw
        self._layers: "list[_Layer]" = []
        self._cursor = 0
        self._replaced_to = 0
        self._splices: "list[tuple[int, int, Lines]]" = []

    def place(self, chunk: "Chunk", path: str) -> None:
        if chunk.context is not None:
            found = self._seek([chunk.context])
            if found is None:
                raise Unmatched(f"Failed to find context '{chunk.context}' in {path}")
            self._cursor = found + 1
        old = [line[1:] for line in chunk.lines if line[0] != ADDED]
        if not old:
            self._insert_at_end(chunk.lines)
            return
        lines: "Sequence[str]" = chunk.lines
        start = self._seek(old, at_end=chunk.at_end)
        size = len(old)
        if start is None and not old[-1]:
            # The blank line may be the patch's own, from before its next header.
            lines = _without_last_blank(lines)
            size -= 1
            start = self._seek(old[:-1], at_end=chunk.at_end)
        if start is None:
            raise Unmatched(f"Failed to find expected lines in {path}:\n" + "\n".join(old))
        self._splices.append((start, size, self._written(lines, start)))
        self._cursor = self._replaced_to = start + size

    def result(self) -> str:
        lines: "Lines" = []
        position = 0
        for start, size, written in sorted(self._splices, key=_start_of):
            # An insertion at the end may point into lines that a later chunk replaced.
            lines += self._raw[position:start]
            lines += written
            position = max(position, start + size)
        lines += self._raw[position:]
        lines.append("")
        return "\n".join(lines)

    def _insert_at_end(self, lines: "Sequence[str]") -> None:
        count = len(self._raw)
        before_blank = count > 0 and not self._plain[-1]
        written = [line[1:] + self._ending for line in lines]
        self._splices.append((count - 1 if before_blank else count, 0, written))

    def _seek(self, wanted: "Lines", *, at_end: bool = False) -> "int | None":
        """Where the lines are, from the cursor on. A closer fit further down is better than a looser one nearby."""
        last = len(self._plain) - len(wanted)
        if not wanted:
            return self._cursor
        if last < 0:
            return None
        if at_end:
            tail = self._plain[last:]
            fits = any(loosen(tail) == loosen(wanted) for loosen in _PASSES)
            return last if fits and last >= self._replaced_to else None
        for number, loosen in enumerate(_PASSES):
            if number == len(self._layers):
                self._layers.append(_Layer(loosen(self._plain)))
            found = self._layers[number].find(loosen(wanted), self._cursor)
            if found is not None:
                return found
        return None

    def _written(self, lines: "Sequence[str]", start: int) -> "Lines":
        """The new lines, with the endings of those that they replace or stand beside."""
        matched = start
        # The first removed line whose place no added line has taken yet.
        free = start
        written: "Lines" = []
        for line in lines:
            mark, text = line[0], line[1:]
            if mark == ADDED:
                if free < matched:
                    ending = self._ending_of(free)
                    free += 1
                else:
                    ending = self._ending_of(matched - 1 if matched > start else matched)
                written.append(text + ending)
                continue
            if mark == CONTEXT:
                written.append(text + self._ending_of(matched))
                free = matched + 1
            matched += 1
        return written

    def _ending_of(self, line: int) -> str:
        if line >= len(self._raw):
            return self._ending
        return self._raw[line][len(self._plain[line]) :]


class _Layer:
    """The lines of a text as one of the passes sees them, to be searched downwards."""

    __slots__ = ("_line", "_lines", "_offset", "_text")

    def __init__(self, lines: "Lines") -> None:
        self._lines = lines
        self._text = "\n" + "\n".join(lines) + "\n"
        # A line, and the offset of the newline before it: searches only move down, so nothing is counted twice.
        self._line = 0
        self._offset = 0

    def find(self, wanted: "Lines", first: int) -> "int | None":
        self._offset += sum(map(len, self._lines[self._line : first])) + first - self._line
        self._line = first
        # A newline at either end makes whole lines of it.
        found = self._text.find("\n" + "\n".join(wanted) + "\n", self._offset)
        return None if found < 0 else first + self._text.count("\n", self._offset, found)


def _exactly(lines: "Lines") -> "Lines":
    return lines


def _without_tails(lines: "Lines") -> "Lines":
    return [line.rstrip(WHITESPACE) for line in lines]


def _trimmed(lines: "Lines") -> "Lines":
    return [line.strip(WHITESPACE) for line in lines]


def _plainly(lines: "Lines") -> "Lines":
    text = "\n".join(lines)
    if not text.isascii():
        for plain, fancy in _PLAINER:
            for character in fancy:
                text = text.replace(character, plain)
    return _trimmed(text.split("\n"))


_PASSES: "tuple[Callable[[Lines], Lines], ...]" = (_exactly, _without_tails, _trimmed, _plainly)


def _start_of(splice: "tuple[int, int, Lines]") -> int:
    return splice[0]


def _without_last_blank(lines: "Sequence[str]") -> "Lines":
    """The chunk without the blank line that ends its old lines, and without one that ends its new lines."""
    kept = list(lines)
    last_old = max(index for index, line in enumerate(kept) if line[0] != ADDED)
    if kept[last_old][0] == CONTEXT:
        kept[last_old] = ADDED
    else:
        del kept[last_old]
    last_new = max((index for index, line in enumerate(kept) if line[0] != REMOVED), default=None)
    if last_new is not None and len(kept[last_new]) == 1:
        if kept[last_new][0] == CONTEXT:
            kept[last_new] = REMOVED
        else:
            del kept[last_new]
    return kept
