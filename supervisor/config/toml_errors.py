"""Where a TOML file is wrong, in the form the reference prints.

Owns positions: `tomllib` gives them for syntax errors only, inside its message, and points behind the culprit. Loaded
only after something went wrong. Pure: text in, error value out.
"""

import re
from collections.abc import Iterator, Sequence

from pycodex.supervisor.config.early import CONFIG_FILE, BadConfig, Layer

Keys = Sequence[str | int]

_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_KEY = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)\s*""")
_STRING = re.compile(
    r"""
    \"{3} (?: [^\\] | \\. )*? \"{3,5} |
    \'{3} .*? \'{3,5} |
    \" (?: [^\"\\\n] | \\. )* \" |
    \' [^\'\n]* \'
    """,
    re.DOTALL | re.VERBOSE,
)
_BARE_VALUE = re.compile(r"[^\s,#\]}]*")
_DUPLICATES = ("Cannot overwrite a value", "Cannot declare", "Duplicate inline table key", "Cannot mutate immutable")


def syntax_error(path: str, text: str, complaint: str, *, kind: str = CONFIG_FILE) -> BadConfig:
    """The error for a file that is no TOML, from the parser's own complaint."""
    place = _PLACE.search(complaint)
    message = complaint[: place.start()] if place else complaint
    if place and place[1]:
        line, column, width = _culprit(text, message, line=int(place[1]), column=int(place[2]))
    elif message.startswith(_DUPLICATES):
        last = text.count("\n") + 1
        line, column, width = _culprit(text, message, line=last, column=len(_line(text, last)) + 1)
    else:
        line, column, width = _end_of(text, message)
    if message.startswith(_DUPLICATES):
        message = "duplicate key"
    frame = _frame(_line(text, line), line=line, column=column, width=width)
    return _framed_error(message, place=(path, line, column), frame=frame, kind=kind)


def value_error(layer: Layer, keys: Keys, message: str, *, kind: str = CONFIG_FILE) -> BadConfig:
    """The error for a value that is wrong as soon as its file is read, shown like one of syntax."""
    offset = _value_offset(layer.text, keys)
    line, column = _place(layer.text, offset)
    source = _line(layer.text, line)
    width = min(_after_value(layer.text, offset) - offset, len(source) - column + 1)
    frame = _frame(source, line=line, column=column, width=max(width, 1))
    return _framed_error(message, place=(layer.path, line, column), frame=frame, kind=kind)


def _framed_error(message: str, *, place: tuple[str, int, int], frame: str, kind: str) -> BadConfig:
    path, line, column = place
    cause = f"TOML parse error at line {line}, column {column}\n{frame}\n{message}"
    if kind != CONFIG_FILE:
        return BadConfig(f"Error parsing {kind} {path}: {cause}\n")
    return BadConfig(message, location=f"{path}:{line}:{column}", frame=frame, cause=cause)


def _line(text: str, number: int) -> str:
    lines = text.split("\n")
    return lines[number - 1].rstrip("\r") if number <= len(lines) else ""


def _frame(source: str, *, line: int, column: int, width: int) -> str:
    gutter = " " * len(str(line))
    return f"{gutter} |\n{line} | {source}\n{gutter} | {' ' * (column - 1)}{'^' * width}"


def _end_of(text: str, message: str) -> tuple[int, int, int]:
    """The reference counts the last line end as part of the last line."""
    at = len(text)
    if message == 'Expected "\'"' and "'" in text:
        # The opening quote is the last one there is; the string should have ended on its line.
        end = text.find("\n", text.rindex("'"))
        at = end if end >= 0 else at
    start = text.rfind("\n", 0, max(at - 1, 0)) + 1
    return text.count("\n", 0, start) + 1, at - start + 1, 1


def _culprit(text: str, message: str, *, line: int, column: int) -> tuple[int, int, int]:
    source = _line(text, line)
    if message.startswith(_DUPLICATES):
        return line, *_last_key(source, inline=message.startswith("Duplicate inline"), before=column)
    if message.startswith("Unescaped"):
        return line, max(column - 1, 1), 1
    if message.startswith("Expected newline"):
        value = _value_start(source)
        if value is not None and source[value : value + 1] not in ('"', "'", "[", "{"):
            return line, value + 1, max(len(source[value:].split("#")[0].rstrip()), 1)
    if message == "Invalid value":
        bare = _BARE_VALUE.match(source, column - 1)
        return line, column, max(len(bare[0]) if bare else 0, 1)
    return line, column, 1


def _value_start(source: str) -> int | None:
    at = 0
    while key := _KEY.match(source, at):
        at = key.end()
        if source[at : at + 1] != ".":
            break
        at += 1
    if source[at : at + 1] != "=":
        return None
    return at + 1 + len(source[at + 1 :]) - len(source[at + 1 :].lstrip())


def _last_key(source: str, *, inline: bool, before: int) -> tuple[int, int]:
    """Column and width of the last part of the key on a line: of its header, its statement or the inline pair."""
    if inline:
        equals = source.rfind("=", 0, before)
        at = max(source.rfind(",", 0, equals), source.rfind("{", 0, equals)) + 1
    else:
        at = len(source) - len(source.lstrip().lstrip("["))
    column, width = at + 1, 1
    while key := _KEY.match(source, at):
        column, width = key.start(1) + 1, len(key[1])
        if source[key.end() : key.end() + 1] != ".":
            break
        at = key.end() + 1
    return column, width


# Values in a file that parses


def value_position(text: str, keys: Keys) -> tuple[int, int]:
    """Line and column of the value that a valid file gives to a key; of the table's header if it has no value."""
    return _place(text, _value_offset(text, keys))


def key_lines(text: str) -> dict[tuple[str | int, ...], int]:
    """The line of every table and every value of a valid file."""
    lines: dict[tuple[str | int, ...], int] = {}
    counted, line = 0, 1
    for path, offset in _statements(text):
        line += text.count("\n", counted, offset)
        counted = offset
        for length in range(1, len(path) + 1):
            lines.setdefault(path[:length], line)
    return lines


def _place(text: str, offset: int) -> tuple[int, int]:
    start = text.rfind("\n", 0, offset) + 1
    return text.count("\n", 0, start) + 1, offset - start + 1


def _value_offset(text: str, keys: Keys) -> int:
    best = 0, 0
    for path, offset in _statements(text):
        shared = path[: len(keys)]
        if shared == tuple(keys[: len(shared)]) and len(shared) > best[0]:
            best = len(shared), offset
    return best[1]


def _statements(text: str) -> Iterator[tuple[tuple[str | int, ...], int]]:
    """Every header and every key with the offset of its value, what is inside inline values included."""
    table: tuple[str | int, ...] = ()
    arrays: dict[tuple[str | int, ...], int] = {}
    at = 0
    while at < len(text):
        at = _skip_blank(text, at)
        if at >= len(text):
            return
        if text[at] == "[":
            start = at
            is_item = text.startswith("[[", at)
            path, at = _dotted(text, at + (2 if is_item else 1))
            table = _with_indexes(path, arrays, is_item=is_item)
            yield table, start
            at = _end_of_line(text, at)
            continue
        path, at = _dotted(text, at)
        value = _skip_blank(text, at + 1)
        yield (*table, *path), value
        yield from _inline(text, value, (*table, *path))
        at = _end_of_line(text, _after_value(text, value))


def _with_indexes(
    path: tuple[str, ...], arrays: dict[tuple[str | int, ...], int], *, is_item: bool
) -> tuple[str | int, ...]:
    """The path of a header, with the number of the item wherever it goes through an array of tables."""
    found: tuple[str | int, ...] = ()
    for depth, key in enumerate(path):
        found = (*found, key)
        if is_item and depth == len(path) - 1:
            arrays[found] = arrays.get(found, -1) + 1
        if found in arrays:
            found = (*found, arrays[found])
    return found


def _inline(text: str, at: int, prefix: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], int]]:
    """The pairs of an inline table, the items of an array."""
    opening = text[at : at + 1]
    if opening not in ("{", "["):
        return
    end = _after_value(text, at) - 1
    at = _skip_blank(text, at + 1)
    count = 0
    while at < end:
        path: tuple[str | int, ...] = (count,)
        if opening == "{":
            path, at = _dotted(text, at)
            at = _skip_blank(text, at + 1)
        yield (*prefix, *path), at
        yield from _inline(text, at, (*prefix, *path))
        at = _skip_blank(text, _after_value(text, at))
        at = _skip_blank(text, at + 1)
        count += 1


def _dotted(text: str, at: int) -> tuple[tuple[str, ...], int]:
    parts: list[str] = []
    while key := _KEY.match(text, at):
        word = key[1]
        parts.append(word[1:-1] if word[0] in "\"'" else word)
        at = key.end()
        if text[at : at + 1] != ".":
            break
        at += 1
    return tuple(parts), at


def _skip_blank(text: str, at: int) -> int:
    while at < len(text) and (text[at].isspace() or text[at] == "#"):
        at = _end_of_line(text, at) if text[at] == "#" else at + 1
    return at


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def _after_value(text: str, at: int) -> int:
    """The offset behind one value, which may span lines."""
    if string := _STRING.match(text, at):
        return string.end()
    if text[at : at + 1] not in ("[", "{"):
        while at < len(text) and text[at] not in ",#]}\n":
            at += 1
        return at
    at = _skip_blank(text, at + 1)
    while at < len(text) and text[at] not in "]}":
        string = _STRING.match(text, at)
        if string:
            at = string.end()
        elif text[at] in "[{":
            at = _after_value(text, at)
        else:
            at += 1
        at = _skip_blank(text, at)
    return at + 1
