"""The goal that a session file has kept."""

from pathlib import Path
from typing import Any

import pytest

from pycodex.protocol.events.event import Event
from pycodex.protocol.events.goal import ACTIVE, COMPLETE, GoalCleared, GoalUpdated, ThreadGoal
from pycodex.protocol.rollout import EVENT_MSG, RESPONSE_ITEM, line_now
from pycodex.supervisor.rollout.goals import stored_goal

GOAL = ThreadGoal(thread_id="t", objective="win", status=ACTIVE, token_budget=5, created_at=1, updated_at=2)
TALK = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": '"thread_goal_updated"'}]}


def updated(goal: ThreadGoal = GOAL) -> GoalUpdated:
    return GoalUpdated(thread_id=goal.thread_id, turn_id="1", goal=goal, request_id="r")


def stored(path: Path, *events: Event | dict[str, Any]) -> ThreadGoal | None:
    lines = [
        line_now(EVENT_MSG, each.to_stored()) if isinstance(each, Event) else line_now(RESPONSE_ITEM, each)
        for each in events
    ]
    path.write_bytes(b"".join(line.encode() for line in lines))
    return stored_goal(str(path), "t")


def test_last_word_counts(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    done = GOAL.replace(status=COMPLETE)
    assert stored(path) is None
    assert stored(path, TALK) is None
    assert stored(path, updated(), TALK) == GOAL
    assert stored(path, updated(), updated(done)) == done
    assert stored(path, updated(), GoalCleared(thread_id="t")) is None
    assert stored(path, GoalCleared(thread_id="t"), updated()) == GOAL
    assert b'"r"' not in path.read_bytes()


def test_goal_of_another_thread_is_not_ours(tmp_path: Path) -> None:
    theirs = GOAL.replace(thread_id="origin")
    path = tmp_path / "rollout.jsonl"
    assert stored(path, updated(), updated(theirs), GoalCleared(thread_id="origin")) == GOAL
    assert stored(path, updated(theirs)) is None


@pytest.mark.parametrize("wrong", [None, 1, {}, {"status": "odd"}, {"tokensUsed": "many"}])
def test_what_is_no_goal_is_none(tmp_path: Path, wrong: Any) -> None:
    goal = {**GOAL.to_wire(), **wrong} if isinstance(wrong, dict) and wrong else wrong
    line = line_now(EVENT_MSG, {"type": "thread_goal_updated", "thread_id": "t", "goal": goal})
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(line.encode())
    assert stored_goal(str(path), "t") is None
