"""Showing a command's words so that a person can read them and a shell would split them the same way.

Owns the quoting, which is that of the reference and not `shlex.join`: logs and tools compare these texts. Takes an
argv, gives one line; runs nothing.
"""

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

UNSHOWABLE = "<command included NUL byte>"

# How far each way of quoting reaches. An interactive shell takes `^` for a history substitution anywhere but at the
# start of single quotes.
_BARE = re.compile(r"[A-Za-z0-9+\-./:@\]_]*")
_SINGLE = re.compile(r"\^?[^'\\^]*")
_DOUBLE = re.compile(r"[^`$!^]*")


def shown(argv: "Iterable[str]") -> str:
    """One line; for words that no command line can hold, a text that says so."""
    words = list(argv)
    if any("\0" in word for word in words):
        return UNSHOWABLE
    return " ".join(_quoted(word) for word in words)


def _quoted(word: str) -> str:
    """In pieces, each as long as one way of quoting allows; of those that reach as far, the plainest."""
    if not word:
        return "''"
    pieces = []
    start = 0
    while start < len(word):
        bare, single, double = (_end(pattern, word, start) for pattern in (_BARE, _SINGLE, _DOUBLE))
        end = max(bare, single, double)
        piece = word[start:end]
        if end == bare:
            pieces.append(piece)
        elif end == single:
            pieces.append(f"'{piece}'")
        else:
            escaped = piece.replace("\\", "\\\\").replace('"', '\\"')
            pieces.append(f'"{escaped}"')
        start = end
    return "".join(pieces)


def _end(pattern: re.Pattern[str], word: str, start: int) -> int:
    found = pattern.match(word, start)
    return found.end() if found else start
