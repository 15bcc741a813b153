"""What is known of a thread from its events, and how that is told.

Owns the state that notifications are made from: the running turn, its error, the items that were begun, the status. An
event becomes notices and questions in `notifications`; this module keeps them consistent: one start and one end for
every item, whatever the engine leaves out or says twice.
"""

import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from pycodex.supervisor.frontends.app_server.items import IN_PROGRESS

Json = dict[str, Any]

IDLE: Json = {"type": "idle"}
SYSTEM_ERROR: Json = {"type": "systemError"}
NOT_LOADED: Json = {"type": "notLoaded"}

MAX_KEPT_OUTPUT_CHARS = 4 << 20
"""Of the commands of a running turn, which may be many."""

_COMMAND = "commandExecution"

ON_APPROVAL = "waitingOnApproval"
ON_USER_INPUT = "waitingOnUserInput"


@dataclass(frozen=True, slots=True)
class Notice:
    method: str
    params: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A request to the client. `call_id` is what the engine knows it by."""

    method: str
    params: Json
    call_id: str
    waits_on: str | None
    """The flag of the thread's status while it is open; None: nobody is told that it was resolved."""


Told = Notice | Question
_ItemKey = tuple[str, str]
"""Kind and id: the beginning and the end of a review have the same id."""


@dataclass(slots=True)
class Turn:
    turn_id: str
    started_at: float = field(default_factory=time.time)
    inner_id: str | None = None
    """That of the reviewer's turn, if this is a review: the session file has it by that id."""
    error: Json | None = None
    _items: dict[_ItemKey, Json] = field(default_factory=dict)
    """As they were last told, for those who join later; of the oldest commands without the output."""
    _outputs: deque[tuple[_ItemKey, int]] = field(default_factory=deque)
    _output_chars: int = 0

    @property
    def ids(self) -> tuple[str, ...]:
        return (self.turn_id,) if self.inner_id is None else (self.turn_id, self.inner_id)

    @property
    def items(self) -> list[Json]:
        return list(self._items.values())

    def keep(self, item: Json) -> None:
        key = item["type"], item["id"]
        had_output = bool(self._items.get(key, {}).get("aggregatedOutput"))
        self._items[key] = item
        size = len(item.get("aggregatedOutput") or "")
        if size and not had_output:
            self._outputs.append((key, size))
            self._output_chars += size
        while self._output_chars > MAX_KEPT_OUTPUT_CHARS:
            key, size = self._outputs.popleft()
            self._output_chars -= size
            self._items[key] = {**self._items[key], "aggregatedOutput": None}

    def told(self, status: str, items: list[Json] | None = None) -> Json:
        told: Json = {
            "id": self.turn_id,
            "items": items or [],
            "itemsView": "full",
            "status": status,
            "error": self.error,
            "startedAt": int(self.started_at),
        }
        if status != IN_PROGRESS:
            ended_at = time.time()
            told["completedAt"] = int(ended_at)
            told["durationMs"] = int((ended_at - self.started_at) * 1000)
        return told


class Telling:
    """Of one thread, from its first event to its last."""

    def __init__(self, thread_id: str) -> None:
        self.thread_id = thread_id
        self.status = IDLE
        self.turn: Turn | None = None
        self.is_reviewing = False
        """Whether the running turn is a review."""
        self.goal: Json | None = None
        """As it was last told."""
        self.failed_calls: set[str] = set()
        """Calls whose question the client could not answer: their items end as failed."""
        self._begun: set[tuple[str, _ItemKey]] = set()
        """By turn: the items that have begun and not ended."""
        self._ended: set[tuple[str, _ItemKey]] = set()
        self._turn_of: dict[str, str] = {}
        self._turn_id = ""

    @property
    def turn_id(self) -> str:
        """Of the running turn, or else of the last; empty before the first."""
        return self._turn_id

    def notice(self, method: str, params: Json, *, turn_id: str | None = None) -> Notice:
        """About something in a turn, the running one unless another is named."""
        return Notice(
            method,
            {"threadId": self.thread_id, "turnId": self.turn_id if turn_id is None else turn_id, **params},
        )

    def status_change(self, status: Json) -> list[Notice]:
        """Nothing if it stays as it is."""
        if status == self.status:
            return []
        self.status = status
        return [Notice("thread/status/changed", {"threadId": self.thread_id, "status": status})]

    def item_started(self, item: Json, *, turn_id: str | None = None) -> list[Notice]:
        turn_id = self.turn_id if turn_id is None else turn_id
        key = turn_id, (item["type"], item["id"])
        if key in self._begun or key in self._ended:
            return []
        self._begun.add(key)
        self._turn_of[item["id"]] = turn_id
        self._keep(item, turn_id)
        return [self.notice("item/started", {"item": item, "startedAtMs": _now_ms()}, turn_id=turn_id)]

    def item_completed(self, item: Json, *, before: Json | None = None, turn_id: str | None = None) -> list[Notice]:
        """`before` is the item as it starts, for one that nobody was told of until now."""
        turn_id = self.turn_id if turn_id is None else turn_id
        key = turn_id, (item["type"], item["id"])
        if key in self._ended:
            return []
        notices = self.item_started(before or item, turn_id=turn_id)
        self._begun.remove(key)
        self._turn_of.pop(item["id"], None)
        self._ended.add(key)
        self._keep(item, turn_id)
        return [
            *notices,
            self.notice("item/completed", {"item": item, "completedAtMs": _now_ms()}, turn_id=turn_id),
        ]

    def turn_of(self, item_id: str) -> str:
        """The turn in which the item was begun; it may have ended before the item does."""
        return self._turn_of.get(item_id, self.turn_id)

    def is_open(self, kind: str, item_id: str) -> bool:
        """Whether an item of that kind was begun and has not ended."""
        return (self.turn_of(item_id), (kind, item_id)) in self._begun

    def turn_started(self, turn_id: str) -> Turn:
        self.turn = Turn(turn_id)
        self.is_reviewing = False
        self._turn_id = turn_id
        self._ended.clear()
        return self.turn

    def turn_ended(self) -> None:
        """Only commands go on after their turn."""
        self.turn = None
        self.is_reviewing = False
        self.failed_calls.clear()
        for key in [(turn_id, (kind, item_id)) for turn_id, (kind, item_id) in self._begun if kind != _COMMAND]:
            self._begun.remove(key)
            self._turn_of.pop(key[1][1], None)

    def _keep(self, item: Json, turn_id: str) -> None:
        if self.turn is not None and self.turn.turn_id == turn_id:
            self.turn.keep(item)


def _now_ms() -> int:
    return int(time.time() * 1000)
