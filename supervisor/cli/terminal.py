"""Writing to the person's terminal.

Owns the two streams of the command line and the decision whether to colour. Writes straight to the descriptors, so
nothing waits in a buffer when the process ends. Knows nothing of what is said.
"""

import os
import sys

from pycodex.protocol.errors import UserFacing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

STDOUT = 1
STDERR = 2


def _write(fd: int, text: str) -> None:
    stream = sys.stdout if fd == STDOUT else sys.stderr
    encoding = getattr(stream, "encoding", None) or "utf-8"
    data = memoryview(text.encode(encoding, "backslashreplace"))
    while data:
        data = data[os.write(fd, data) :]


def say(text: str) -> None:
    """The answer: one text and a newline on stdout. A reader that went away raises BrokenPipeError."""
    try:
        _write(STDOUT, text + "\n")
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UserFacing(f"cannot write to standard output: {error.strerror}") from None


def complain(text: str) -> None:
    """A message on stderr. There is nobody left to tell if that fails."""
    # Names in it may be an attacker's: they must not speak to the terminal.
    text = "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)
    try:
        _write(STDERR, text + "\n")
    except OSError:
        pass


def printable(text: str) -> str:
    """A name or a value may be anybody's: it must not speak to the terminal."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def prefers_ascii(fd: int = STDOUT) -> bool:
    stream = sys.stdout if fd == STDOUT else sys.stderr
    encoding = getattr(stream, "encoding", None) or "ascii"
    return not encoding.lower().replace("-", "").startswith("utf")


def prefers_colour(env: "Mapping[str, str]", fd: int = STDOUT) -> bool:
    """Only on a terminal that can show it, and never against NO_COLOR."""
    if env.get("NO_COLOR") or env.get("TERM", "dumb") == "dumb":
        return False
    try:
        return os.isatty(fd)
    except OSError:
        return False


class Palette:
    """Styles by meaning. A palette without colour gives every text back as it is."""

    def __init__(self, *, colour: bool) -> None:
        self._colour = colour

    def _style(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour else text

    def strong(self, text: str) -> str:
        return self._style("1", text)

    def faint(self, text: str) -> str:
        return self._style("2", text)

    def good(self, text: str) -> str:
        return self._style("32", text)

    def doubtful(self, text: str) -> str:
        return self._style("33", text)

    def bad(self, text: str) -> str:
        return self._style("31", text)
