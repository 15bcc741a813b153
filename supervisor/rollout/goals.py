"""The goal that a session file has kept.

Owns how it is found: the last word about it counts, and only what was said of this very thread, because a fork begins
with all that its origin had. Most files never speak of one, so lines are looked at before they are read.
"""

import json

from pycodex.protocol.events.goal import GoalCleared, GoalUpdated, ThreadGoal
from pycodex.protocol.rollout import decode
from pycodex.supervisor.rollout.lines import backwards

_MARKS = tuple(json.dumps(kind._tag).encode() for kind in (GoalUpdated, GoalCleared))


def stored_goal(path: str, thread_id: str) -> ThreadGoal | None:
    """None if it has none, or has none any more. Raises OSError."""
    with open(path, "rb") as file:
        for data in backwards(file, end=file.seek(0, 2)):
            line = decode(data) if any(mark in data for mark in _MARKS) else None
            if line is None or line.payload.get("thread_id") != thread_id:
                continue
            if line.event == GoalCleared._tag:
                return None
            if line.event == GoalUpdated._tag:
                return ThreadGoal.from_wire(line.payload.get("goal"))
    return None
