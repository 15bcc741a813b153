"""Events about what a thread works towards by itself.

Owns the goal as session files and newer clients write it: in camel case, like no other record of ours.
"""

from pycodex.protocol.events.event import Event
from pycodex.protocol.record import BadRecord, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ACTIVE = "active"
PAUSED = "paused"
BLOCKED = "blocked"
USAGE_LIMITED = "usageLimited"
BUDGET_LIMITED = "budgetLimited"
COMPLETE = "complete"
STATUSES = (ACTIVE, PAUSED, BLOCKED, USAGE_LIMITED, BUDGET_LIMITED, COMPLETE)


class ThreadGoal(Record):
    """Moments are in seconds since 1970."""

    thread_id: "str"
    objective: "str"
    status: "str"
    token_budget: "int | None" = None
    tokens_used: "int" = 0
    time_used_seconds: "int" = 0
    created_at: "int"
    updated_at: "int"

    def to_wire(self) -> "dict[str, Any]":
        return {_camel(name): value for name, value in self.to_plain().items()}

    @classmethod
    def from_wire(cls, stored: object) -> "ThreadGoal | None":
        """From a session file; None unless it is a goal."""
        if not isinstance(stored, dict):
            return None
        known = {_camel(name): name for name in cls._fields}
        try:
            goal = cls.from_plain({known[name]: value for name, value in stored.items() if name in known})
        except BadRecord:
            return None
        return goal if goal.status in STATUSES else None


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)


class GoalUpdated(Event):
    """`turn_id`: the turn that has changed it. `request_id`: the wish that this answers."""

    _tag = "thread_goal_updated"
    _optional = ("turn_id",)
    _persisted = True

    thread_id: "str"
    turn_id: "str | None" = None
    goal: "ThreadGoal"
    request_id: "str | None" = None

    def to_wire(self) -> "dict[str, Any]":
        wire = {**super().to_wire(), "goal": self.goal.to_wire()}
        del wire["request_id"]
        return wire


class GoalRestored(GoalUpdated):
    """The goal of a thread that goes on, as its session file has it already."""

    _persisted = False


class GoalCleared(Event):
    """There is none any more."""

    _tag = "thread_goal_cleared"
    _persisted = True

    thread_id: "str"
    request_id: "str | None" = None

    def to_wire(self) -> "dict[str, Any]":
        return {"type": self._tag, "thread_id": self.thread_id}


class GoalRefused(Event):
    """What was wished for a goal cannot be; to clear one where there is none, too."""

    _tag = "thread_goal_refused"

    message: "str"
    request_id: "str | None" = None
