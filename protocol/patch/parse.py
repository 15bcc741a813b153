"""The patch language: from text to hunks.

Owns the syntax and the words for what is wrong with it. Forgiving exactly where the language is: space around the whole
and around headers, a here-document around the patch, a first chunk without its marker. Knows no file. Takes text, gives
a Patch.
"""

from pycodex.protocol.record import Record

WHITESPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""What Unicode calls white space; `str.strip` by itself also takes the four separators from U+001C on."""

CONTEXT, ADDED, REMOVED = " ", "+", "-"

_BEGIN, _END = "*** Begin Patch", "*** End Patch"
_ADD, _DELETE, _UPDATE = "*** Add File: ", "*** Delete File: ", "*** Update File: "
_MOVE = "*** Move to: "
_END_OF_FILE = "*** End of File"
_ANY_MARKER = "***"
_CHUNK, _CHUNK_WITH_CONTEXT = "@@", "@@ "
_DOCUMENT_STARTS = ("<<EOF", "<<'EOF'", '<<"EOF"')
_DOCUMENT_END = "EOF"
_SHORTEST_DOCUMENT = 4


class PatchSyntaxError(ValueError):
    """`line` counts from 1, which is the line that begins the patch; None if the patch as a whole is meant."""

    def __init__(self, message: str, line: "int | None" = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line

    def for_tool(self) -> str:
        if self.line is None:
            return f"invalid patch: {self.message}"
        return f"invalid hunk at line {self.line}, {self.message}"

    def for_executable(self) -> str:
        if self.line is None:
            return f"Invalid patch: {self.message}"
        return f"Invalid patch hunk on line {self.line}: {self.message}"


class Chunk(Record):
    """One change within a file. Each line starts with its mark: CONTEXT, ADDED or REMOVED."""

    context: "str | None"
    """A line after which the chunk is to be looked for."""
    lines: "tuple[str, ...]"
    at_end: "bool"


class AddFile(Record):
    path: "str"
    text: "str"


class DeleteFile(Record):
    path: "str"


class UpdateFile(Record):
    path: "str"
    move_path: "str | None"
    chunks: "tuple[Chunk, ...]"


TYPE_CHECKING = False
if TYPE_CHECKING:
    Hunk = AddFile | DeleteFile | UpdateFile


class Patch:
    __slots__ = ("hunks",)

    def __init__(self, hunks: "tuple[Hunk, ...]") -> None:
        self.hunks = hunks


def parse_patch(text: str) -> Patch:
    """Raises PatchSyntaxError, and nothing else. A patch may have no hunks."""
    lines = _unwrapped(_lines(text.strip(WHITESPACE)))
    hunks: "list[Hunk]" = []
    index = 1
    while index < len(lines):
        hunk, index = _hunk(lines, index)
        hunks.append(hunk)
    return Patch(tuple(hunks))


def _lines(text: str) -> "list[str]":
    lines = text.split("\n") if text else []
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


def _unwrapped(lines: "list[str]") -> "list[str]":
    """From the line that begins the patch up to the last one before its end."""
    wrong = _wrong_frame(lines)
    if wrong is not None and _is_document(lines):
        lines = lines[1:-1]
        wrong = _wrong_frame(lines)
    if wrong is not None:
        raise PatchSyntaxError(wrong)
    return lines[:-1]


def _is_document(lines: "list[str]") -> bool:
    """Whether it looks like what a shell would have unwrapped."""
    return len(lines) >= _SHORTEST_DOCUMENT and lines[0] in _DOCUMENT_STARTS and lines[-1].endswith(_DOCUMENT_END)


def _wrong_frame(lines: "list[str]") -> "str | None":
    if lines and lines[0].strip(WHITESPACE) != _BEGIN:
        return f"The first line of the patch must be '{_BEGIN}'"
    if not lines or lines[-1].strip(WHITESPACE) != _END:
        return f"The last line of the patch must be '{_END}'"
    return None


def _hunk(lines: "list[str]", index: int) -> "tuple[Hunk, int]":
    """The hunk whose header is at `index`, and the index after it."""
    header = lines[index].strip(WHITESPACE)
    if header.startswith(_ADD):
        text, end = _added_text(lines, index + 1)
        return AddFile(path=header[len(_ADD) :], text=text), end
    if header.startswith(_DELETE):
        return DeleteFile(path=header[len(_DELETE) :]), index + 1
    if header.startswith(_UPDATE):
        return _update(header[len(_UPDATE) :], lines, index)
    raise PatchSyntaxError(
        f"'{header}' is not a valid hunk header. Valid hunk headers: "
        f"'{_ADD}{{path}}', '{_DELETE}{{path}}', '{_UPDATE}{{path}}'",
        index + 1,
    )


def _added_text(lines: "list[str]", start: int) -> "tuple[str, int]":
    end = start
    while end < len(lines) and lines[end].startswith(ADDED):
        end += 1
    return "".join([f"{line[1:]}\n" for line in lines[start:end]]), end


def _update(path: str, lines: "list[str]", header: int) -> "tuple[UpdateFile, int]":
    index = header + 1
    move_path = None
    if index < len(lines) and lines[index].startswith(_MOVE):
        move_path = lines[index][len(_MOVE) :]
        index += 1
    chunks: list[Chunk] = []
    while index < len(lines) and not lines[index].startswith(_ANY_MARKER):
        if not lines[index].strip(WHITESPACE):
            index += 1
            continue
        chunk, index = _chunk(lines, index, may_lack_marker=not chunks)
        chunks.append(chunk)
    if not chunks:
        raise PatchSyntaxError(f"Update file hunk for path '{path}' is empty", header + 1)
    return UpdateFile(path=path, move_path=move_path, chunks=tuple(chunks)), index


def _chunk(lines: "list[str]", start: int, *, may_lack_marker: bool) -> "tuple[Chunk, int]":
    marker = lines[start]
    context = marker[len(_CHUNK_WITH_CONTEXT) :] if marker.startswith(_CHUNK_WITH_CONTEXT) else None
    if context is not None or marker == _CHUNK:
        first = start + 1
    elif may_lack_marker:
        first = start
    else:
        raise PatchSyntaxError(f"Expected update hunk to start with a @@ context marker, got: '{marker}'", start + 1)
    end = first
    while end < len(lines) and lines[end][:1] in (CONTEXT, ADDED, REMOVED, ""):
        end += 1
    at_end = end < len(lines) and lines[end] == _END_OF_FILE
    if end == first:
        # The line after the marker is named, even where the marker itself is missing.
        raise PatchSyntaxError(_wrong_chunk(lines, end, at_end=at_end), start + 2)
    body = tuple([line or CONTEXT for line in lines[first:end]])
    return Chunk(context=context, lines=body, at_end=at_end), end + at_end


def _wrong_chunk(lines: "list[str]", index: int, *, at_end: bool) -> str:
    if at_end or index == len(lines):
        return "Update hunk does not contain any lines"
    return (
        f"Unexpected line found in update hunk: '{lines[index]}'. Every line should start with "
        "' ' (context line), '+' (added line), or '-' (removed line)"
    )
