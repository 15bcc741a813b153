"""A sign of life on a terminal while nothing else is said.

Owns a short text right of the cursor, which stays where the next output belongs: drawing goes one way and back, erasing
is one sequence, so that the text never gets between what others write. It comes only after a moment of silence, and not
where it would have to be broken at the edge of the screen.
"""

import os
import re
import unicodedata
from collections.abc import Mapping

import trio

from pycodex.supervisor.frontends.exec.output import Output

_QUIET_SECONDS = 0.5
_FRAME_SECONDS = 0.1
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_ERASE = "\x1b[K"
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def wants_progress(env: Mapping[str, str], *, is_terminal: bool) -> bool:
    return is_terminal and env.get("TERM", "dumb") != "dumb"


class Progress:
    """Stands before the Output: all text for the terminal goes through `write`. `run` is a task of its own."""

    def __init__(self, output: Output, *, faint: bool) -> None:
        self._output = output
        self._faint = faint
        self._column: int | None = 0
        """Where the cursor stands; None when that cannot be known."""
        self._drawn = False
        self._started_at = self._quiet_since = trio.current_time()
        self._stopped = False

    def write(self, text: str) -> None:
        self._erase()
        self._output.write(text)
        self._column = column_after(text, self._column)
        self._quiet_since = trio.current_time()

    async def run(self) -> None:
        """Until it is cancelled or stopped."""
        frame = 0
        while not self._stopped:
            await trio.sleep(_FRAME_SECONDS)
            now = trio.current_time()
            if not self._stopped and now - self._quiet_since >= _QUIET_SECONDS:
                self._draw(f" {_FRAMES[frame % len(_FRAMES)]} {shown_elapsed(now - self._started_at)}")
                frame += 1
                await self._output.flush()

    def stop(self) -> None:
        self._stopped = True
        self._erase()

    def _draw(self, text: str) -> None:
        self._erase()
        if self._column is None or self._column + len(text) >= self._width():
            return
        shown = f"\x1b[2m{text}\x1b[0m" if self._faint else text
        self._output.write(f"{shown}\x1b[{len(text)}D")
        self._drawn = True

    def _erase(self) -> None:
        if self._drawn:
            self._drawn = False
            self._output.write(_ERASE)

    def _width(self) -> int:
        try:
            return os.get_terminal_size(self._output.fd).columns
        except OSError:
            return 0


def shown_elapsed(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole}s" if whole < 60 else f"{whole // 60}m {whole % 60:02}s"


def column_after(text: str, column: int | None) -> int | None:
    """Where the cursor stands after a text. Colours take no place; other control characters make it unknown."""
    _, newline, line = text.rpartition("\n")
    if newline:
        column = 0
    width = _width_of(_COLOUR.sub("", line))
    return None if column is None or width is None else column + width


def _width_of(text: str) -> int | None:
    if not text.isprintable():
        return None
    if text.isascii():
        return len(text)
    return sum(_cells(character) for character in text)


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
