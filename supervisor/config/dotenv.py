"""`CODEX_HOME/.env`: variables that count as if the caller had set them.

Owns the file's syntax and which names it may set. Reads one file, changes nothing. A line that cannot be understood
sets nothing, as in the reference; the others still count.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_BYTES = 1 << 20
_OURS = "CODEX_"
"""Names that begin so, in any case, are ours: no file may set them."""
_ESCAPES = {"n": "\n", "\\": "\\", '"': '"', "'": "'", "$": "$", " ": " "}
_BLANKS = " \t\r"


def read_dotenv(codex_home: str, env: "Mapping[str, str] | None" = None) -> "dict[str, str]":
    """What the file sets. `env` is where `$NAME` is looked up if the file does not set it itself."""
    try:
        fd = os.open(os.path.join(codex_home, ".env"), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return {}
    try:
        data = os.read(fd, _MOST_BYTES)
    except OSError:
        return {}
    finally:
        os.close(fd)
    found = parse(data.decode("utf-8", "replace"), env or {})
    return {name: value for name, value in found.items() if not name.upper().startswith(_OURS)}


def with_dotenv(env: "Mapping[str, str]", codex_home: str) -> "dict[str, str]":
    """The environment after the file, which beats what the caller set."""
    return {**env, **read_dotenv(codex_home, env)}


def parse(text: str, env: "Mapping[str, str]") -> "dict[str, str]":
    found: "dict[str, str]" = {}
    at = 0
    while at < len(text):
        end = _end_of_statement(text, at)
        pair = _pair(text[at:end], {**env, **found})
        if pair is not None:
            found[pair[0]] = pair[1]
        at = end + 1
    return found


def _end_of_statement(text: str, at: int) -> int:
    """The line's end; one inside of quotes is part of the value."""
    quote = ""
    started = False
    while at < len(text):
        char = text[at]
        if char == "\\" and quote != "'" and (quote or text[at + 1 : at + 2] != "\n"):
            at += 1
        elif quote:
            quote = "" if char == quote else quote
        elif char == "\n":
            return at
        elif char in "\"'":
            quote = char
        elif char == "#" and (not started or text[at - 1] in " \t=\n"):
            end = text.find("\n", at)
            return len(text) if end < 0 else end
        started = started or char not in " \t"
        at += 1
    return len(text)


def _pair(statement: str, known: "Mapping[str, str]") -> "tuple[str, str] | None":
    key, equals, raw = statement.partition("=")
    key = key.strip()
    if key.startswith(("export ", "export\t")):
        key = key[7:].strip()
    if not equals or not _is_name(key):
        return None
    value = _value(raw.lstrip(" \t"), known)
    return None if value is None or "\0" in value or "�" in value else (key, value)


def _is_name(text: str) -> bool:
    """Letters, digits, `_` and `.`, and no digit or dot first."""
    return bool(text) and text.isascii() and text.replace(".", "_").isidentifier() and text[0] != "."


def _value(raw: str, known: "Mapping[str, str]") -> "str | None":
    """The value without its quotes; None if it makes no sense."""
    out: "list[str]" = []
    at, quote, after_name = 0, "", False
    while at < len(raw):
        char = raw[at]
        at += 1
        if quote and char == quote:
            quote = ""
        elif quote == "'":
            out.append(char)
        elif char == "\\":
            if at < len(raw):
                if raw[at] not in _ESCAPES:
                    return None
                out.append(_ESCAPES[raw[at]])
                at += 1
        elif char == "$":
            replaced = _replaced(raw, at, known)
            if replaced is None:
                return None
            text, at = replaced
            out.append(text)
            after_name = True
            continue
        elif quote:
            out.append(char)
        elif char in "\"'":
            quote = char
        elif char in _BLANKS:
            rest = raw[at:].strip(_BLANKS)
            if not rest or rest.startswith("#"):
                break
            if not after_name:
                return None
            out.append(char)
        elif char == "#" and at == 1:
            break
        else:
            out.append(char)
        after_name = False
    return None if quote else "".join(out)


def _replaced(raw: str, at: int, known: "Mapping[str, str]") -> "tuple[str, int] | None":
    """The value of the variable named at a place, and where its name ends."""
    if raw[at : at + 1] == "{":
        end = raw.find("}", at)
        return None if end < 0 else (known.get(raw[at + 1 : end], ""), end + 1)
    end = at
    while end < len(raw) and raw[end].isalnum():
        end += 1
    return known.get(raw[at:end], ""), end
