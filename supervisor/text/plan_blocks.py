"""Telling the plan that a model proposes from what it says around it, while the text comes in.

Owns the two tags, each on a line of its own. Takes pieces of text that may end anywhere, gives what is sure by now: a
line that could still become a tag is kept back. Pure.
"""

from typing import NamedTuple

OPEN = "<proposed_plan>"
CLOSE = "</proposed_plan>"


class Piece(NamedTuple):
    """`text` is empty where a plan begins."""

    text: str
    is_plan: bool


class PlanBlocks:
    def __init__(self) -> None:
        self._held = ""
        self._in_plan = False
        self._at_line_start = True

    def feed(self, text: str) -> list[Piece]:
        pieces: list[Piece] = []
        self._held += text
        while self._held:
            line, end, rest = self._held.partition("\n")
            if not end and self._at_line_start and self._tag.startswith(line.strip()):
                break
            self._held = rest
            if self._at_line_start and line.strip() == self._tag:
                self._turn(pieces)
            else:
                pieces.append(Piece(line + end, self._in_plan))
            self._at_line_start = bool(end)
        return pieces

    def finish(self) -> list[Piece]:
        """No more will come."""
        pieces: list[Piece] = []
        held, self._held = self._held, ""
        if held.strip() == self._tag:
            self._turn(pieces)
        elif held:
            pieces.append(Piece(held, self._in_plan))
        return pieces

    @property
    def _tag(self) -> str:
        return CLOSE if self._in_plan else OPEN

    def _turn(self, pieces: list[Piece]) -> None:
        self._in_plan = not self._in_plan
        if self._in_plan:
            pieces.append(Piece("", is_plan=True))
