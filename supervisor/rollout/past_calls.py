"""The calls of tools that past sessions have recorded, each with the terms that held when it was made.

Owns the way through the files: one line at a time, broken and huge ones passed over, and what a fork repeats of its
origin told once. Knows nothing of what a call asks for. Changes nothing.
"""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pycodex.protocol.items import FUNCTION_CALL, LOCAL_SHELL_CALL
from pycodex.protocol.rollout import (
    RESPONSE_ITEM,
    SESSION_META,
    TURN_CONTEXT,
    RolloutLine,
    SessionMeta,
    decode,
    timestamp_of,
)
from pycodex.supervisor.rollout.files import RolloutFile, newest_first
from pycodex.supervisor.rollout.lines import forwards

# No call of a tool is as long; what is, such as a picture, is not one.
MAX_CALL_LINE_BYTES = 16 << 20
_KINDS = (FUNCTION_CALL, LOCAL_SHELL_CALL)
# Only lines with one of these in them are worth reading: most of a file is text and output.
_MARKS = tuple(f'"{word}"'.encode() for word in (SESSION_META, TURN_CONTEXT, *_KINDS))
_TO_THE_SECOND = len("2026-01-31T00:00:00")


@dataclass(frozen=True, slots=True)
class PastCall:
    """`item` is the call as it was recorded, `terms` the payload of the turn's settings."""

    item: dict[str, Any]
    terms: dict[str, Any]


class PastCalls:
    """Reads file after file. What was met in one is known in the next."""

    def __init__(self, *, since: float) -> None:
        """`since` is in seconds of the epoch."""
        self._since = since
        self._since_text = timestamp_of(since)[:_TO_THE_SECOND]
        self._met: set[int] = set()

    def files(self, codex_home: str) -> list[RolloutFile]:
        """The sessions that were written to since then, the newest first."""
        return [file for file in newest_first(codex_home) if self._is_recent(file.path)]

    def of(self, path: str) -> Iterator[PastCall]:
        """Those that are told for the first time. A file that cannot be read has none."""
        thread_id = ""
        terms: dict[str, Any] | None = None
        times: Counter[int] = Counter()
        for line in _lines(path):
            if line.kind == SESSION_META:
                meta = SessionMeta.from_payload(line.payload)
                # A fork begins with its own head and goes on with those that it comes from: the last is its root.
                thread_id = meta.id if meta is not None else thread_id
            elif line.kind == TURN_CONTEXT:
                terms = line.payload
            elif line.kind == RESPONSE_ITEM and terms is not None and line.payload.get("type") in _KINDS:
                known_by = hash((thread_id, repr(line.payload)))
                times[known_by] += 1
                if self._is_new(hash((known_by, times[known_by]))) and self._is_late_enough(line):
                    yield PastCall(line.payload, terms)

    def _is_new(self, key: int) -> bool:
        is_new = key not in self._met
        self._met.add(key)
        return is_new

    def _is_recent(self, path: str) -> bool:
        try:
            return os.stat(path).st_mtime >= self._since
        except OSError:
            return False

    def _is_late_enough(self, line: RolloutLine) -> bool:
        return not line.timestamp or line.timestamp[:_TO_THE_SECOND] >= self._since_text


def _lines(path: str) -> Iterator[RolloutLine]:
    try:
        with open(path, "rb") as file:
            for data in forwards(file, max_line_bytes=MAX_CALL_LINE_BYTES):
                line = decode(data) if any(mark in data for mark in _MARKS) else None
                if line is not None:
                    yield line
    except OSError:
        return
