"""The syntax of git's configuration files, as far as it takes to find settings in them.

Owns the reading of text and nothing else. The files may have been written by anybody: whatever cannot be understood is
skipped. Follows no include, opens no file.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_SPACES = " \t"
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


def settings(text: str) -> "Iterator[tuple[str, str, str, str]]":
    """Section, subsection, key and value of each setting, in order; names that git takes in any case in lower case."""
    section = subsection = ""
    lines = iter(text.split("\n"))
    for raw in lines:
        line = raw.strip(_SPACES + "\r")
        if line.startswith("["):
            section, subsection, line = _header(line)
        if not line or line[0] in "#;":
            continue
        key, _, value = line.partition("=")
        while value.endswith("\\") and not value.endswith("\\\\"):
            value = value[:-1] + next(lines, "").rstrip("\r")
        yield section, subsection, key.strip(_SPACES).lower(), _value(value.strip(_SPACES))


def _header(line: str) -> "tuple[str, str, str]":
    """Section, subsection and what follows on the same line; nothing of these if the header has no end."""
    name, quote, rest = line[1:].partition('"')
    if not quote or "]" in name:
        name, bracket, after = line[1:].partition("]")
        section, _, subsection = name.strip(_SPACES).partition(".")
        subsection = subsection.lower()
    else:
        section = name.strip(_SPACES)
        subsection, rest = _quoted(rest)
        _, bracket, after = rest.partition("]")
    return (section.lower(), subsection, after.strip(_SPACES)) if bracket else ("", "", "")


def _quoted(text: str) -> "tuple[str, str]":
    """The text up to the closing quote, and what comes after it."""
    taken = []
    position = 0
    while position < len(text) and text[position] != '"':
        if text[position] == "\\":
            position += 1
        taken.append(text[position : position + 1])
        position += 1
    return "".join(taken), text[position + 1 :]


def _value(text: str) -> str:
    """Without quotes, escapes and comments."""
    taken: "list[str]" = []
    kept = 0
    quoted = False
    position = 0
    while position < len(text):
        character = text[position]
        if character == "\\":
            position += 1
            escaped = text[position : position + 1]
            taken.append(_ESCAPES.get(escaped, escaped))
            kept = len(taken)
        elif character == '"':
            quoted = not quoted
        elif character in "#;" and not quoted:
            break
        else:
            taken.append(character)
            if quoted or character not in _SPACES:
                kept = len(taken)
        position += 1
    return "".join(taken[:kept])
