"""Wishes about the goals of threads that do not run."""

from pathlib import Path

import pytest

from pycodex.protocol.events.goal import GoalCleared, GoalRefused, GoalUpdated
from pycodex.protocol.ops import ClearGoal, SetGoal
from pycodex.supervisor.rollout.goals import stored_goal
from pycodex.supervisor.rollout.writer import RolloutUnwritable
from pycodex.supervisor.session.goals_on_disk import record_wish
from support.rollouts import THREAD_ID, meta, said_by_user, write


def content(path: str) -> bytes:
    return Path(path).read_bytes()


async def test_every_wish_is_one_line_that_the_next_reader_finds(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", [meta(), *said_by_user("hello")])
    before = content(path)
    event = await record_wish(path, THREAD_ID, SetGoal(request_id="1", objective="win"), stored=None)
    assert isinstance(event, GoalUpdated)
    assert event.request_id == "1"
    assert content(path).removeprefix(before).count(b"\n") == 1
    stored = stored_goal(path, THREAD_ID)
    assert stored == event.goal
    event = await record_wish(path, THREAD_ID, ClearGoal(request_id="2"), stored=stored)
    assert isinstance(event, GoalCleared)
    assert stored_goal(path, THREAD_ID) is None


async def test_refusal_changes_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "session.jsonl", [meta()])
    before = content(path)
    event = await record_wish(path, THREAD_ID, SetGoal(request_id="1", objective=" "), stored=None)
    assert event == GoalRefused(message="goal objective must not be empty", request_id="1")
    assert content(path) == before


async def test_what_the_file_does_not_take_was_not_recorded(tmp_path: Path) -> None:
    with pytest.raises(RolloutUnwritable):
        await record_wish(str(tmp_path), THREAD_ID, SetGoal(request_id="1", objective="win"), stored=None)
