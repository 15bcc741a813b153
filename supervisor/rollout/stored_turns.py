"""The turns that a session file tells of, for those who show them.

Owns where a turn begins and ends in a file, what became of it, and which were taken back. Gives the events of each as
they were written; what a front-end makes of them is its own business. Older files do not say where turns begin: there
each message of the person begins one.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pycodex.protocol.ids import new_turn_id
from pycodex.protocol.rollout import COMPACTED, RolloutLine, plain_event
from pycodex.supervisor.rollout.reader import read_lines

OPEN = "open"
COMPLETED = "completed"
INTERRUPTED = "interrupted"
FAILED = "failed"

_BEGINNINGS = ("task_started", "turn_started")
_ENDS = ("task_complete", "turn_complete")
_REVIEW = "entered_review_mode"
# What a turn consists of, besides the messages of the person.
SHOWN_EVENTS = frozenset(
    (
        "agent_message",
        "agent_reasoning",
        "agent_reasoning_raw_content",
        "context_compacted",
        "dynamic_tool_call_request",
        "dynamic_tool_call_response",
        "entered_review_mode",
        "exec_command_end",
        "exited_review_mode",
        "item_completed",
        "mcp_tool_call_end",
        "patch_apply_end",
        "view_image_tool_call",
        "web_search_end",
    )
)


@dataclass(slots=True)
class StoredTurn:
    turn_id: str = field(default_factory=new_turn_id)
    is_named: bool = False
    """Whether the file says where it begins."""
    status: str = COMPLETED
    error: dict[str, Any] | None = None
    events: list[dict[str, Any]] = field(default_factory=list)
    holds_compaction: bool = False
    started_at: str | None = None
    """When the file says that it began, and ended, in the form of the file."""
    ended_at: str | None = None

    @property
    def counts(self) -> bool:
        return self.is_named or self.holds_compaction or bool(self.events)


def turns_of_file(path: str) -> list[StoredTurn]:
    """Raises RolloutUnreadable."""
    return turns_of(read_lines(path))


def turns_of(lines: Iterable[RolloutLine]) -> list[StoredTurn]:
    """One whose end the file does not tell is open."""
    reading = _Reading()
    for line in lines:
        reading.moment = line.timestamp
        if line.kind == COMPACTED:
            reading.compaction()
        elif line.event is not None:
            reading.take(plain_event(line.payload))
    return reading.finished()


class _Reading:
    def __init__(self) -> None:
        self.moment: str | None = None
        """Of the line that is being read."""
        self._turns: list[StoredTurn] = []
        self._current: StoredTurn | None = None
        self._entered: dict[str, Any] | None = None
        """The beginning of a review, which stands before that of its turn."""

    def finished(self) -> list[StoredTurn]:
        if self._entered is not None:
            self._close()
            self._opened()
        self._close()
        return self._turns

    def compaction(self) -> None:
        self._opened().holds_compaction = True

    def take(self, event: dict[str, Any]) -> None:
        kind = event["type"]
        if kind in _BEGINNINGS:
            self._begin(event.get("turn_id"))
        elif kind in _ENDS:
            self._end(event.get("turn_id"), COMPLETED)
        elif kind == "turn_aborted":
            self._end(event.get("turn_id"), INTERRUPTED)
        elif kind == "thread_rolled_back":
            self._take_back(event.get("num_turns"))
        elif kind == "error":
            turn = self._opened()
            turn.status, turn.error = FAILED, event
        elif kind == _REVIEW:
            self._close()
            self._entered = event
        elif kind == "user_message":
            if self._is_told_again(event):
                return
            if self._current is not None and not self._current.is_named:
                self._close()
            self._opened().events.append(event)
        elif kind in SHOWN_EVENTS:
            self._turn_of(event).events.append(event)

    def _begin(self, turn_id: object) -> None:
        self._close()
        self._current = self._new(is_named=True, status=OPEN)
        if type(turn_id) is str:
            self._current.turn_id = turn_id

    def _end(self, turn_id: object, status: str) -> None:
        turn = self._named(turn_id) or self._current
        if turn is None:
            return
        turn.ended_at = self.moment
        if turn.status != FAILED:
            turn.status = status
        if turn is self._current:
            self._close()

    def _take_back(self, turns: object) -> None:
        self._close()
        if type(turns) is int and turns > 0:
            del self._turns[max(0, len(self._turns) - turns) :]

    def _turn_of(self, event: dict[str, Any]) -> StoredTurn:
        """What a command tells at its end belongs to the turn that began it."""
        return self._named(event.get("turn_id")) or self._opened()

    def _named(self, turn_id: object) -> StoredTurn | None:
        if type(turn_id) is not str:
            return None
        known = (*reversed(self._turns), *((self._current,) if self._current is not None else ()))
        return next((turn for turn in known if turn.turn_id == turn_id), None)

    def _opened(self) -> StoredTurn:
        if self._current is None:
            self._current = self._new(is_named=False, status=COMPLETED)
        return self._current

    def _new(self, *, is_named: bool, status: str) -> StoredTurn:
        entered, self._entered = self._entered, None
        events = [] if entered is None else [entered]
        return StoredTurn(is_named=is_named, status=status, events=events, started_at=self.moment if is_named else None)

    def _is_told_again(self, event: dict[str, Any]) -> bool:
        """Files have what a reviewer is asked twice."""
        events = self._current.events if self._current is not None else []
        return len(events) > 1 and events[0]["type"] == _REVIEW and events[1:] == [event]

    def _close(self) -> None:
        turn, self._current = self._current, None
        if turn is not None and turn.counts:
            self._turns.append(turn)
