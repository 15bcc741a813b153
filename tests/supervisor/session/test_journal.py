"""The file first, then whoever listens; a file that fails is met by whoever records."""

from pathlib import Path

import pytest

from pycodex.protocol.events.error import WarningEvent
from pycodex.protocol.events.turn import TaskComplete, TaskStarted
from pycodex.protocol.events.union import AnyEvent
from pycodex.protocol.items import input_text, message
from pycodex.protocol.rollout import SessionMeta
from pycodex.supervisor.context.history import History
from pycodex.supervisor.rollout.writer import RolloutUnwritable, RolloutWriter
from pycodex.supervisor.session.journal import Journal
from pycodex.supervisor.session.outbox import Outbox
from support.engine import line_kinds, lines_of
from support.rollouts import STAMP, THREAD_ID
from support.tool_calls import make_turn

TURN = make_turn()
STARTED = TaskStarted(turn_id="t", model_context_window=None)
META = SessionMeta(
    id=THREAD_ID,
    timestamp=STAMP,
    cwd="/w",
    originator="pycodex",
    pycodex="0",
    source="exec",
    model_provider="mock",
    base_instructions="",
)


class Watched(Outbox):
    """Notes how much was in the file when an event went out."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.seen: list[tuple[str, int]] = []

    def put(self, event: AnyEvent) -> None:
        self.seen.append((event._tag, len(lines_of(self.path)) if self.path.exists() else 0))
        super().put(event)


def said(text: str) -> dict[str, object]:
    return message("user", [input_text(text)])


def test_line_is_in_the_file_before_anybody_hears_of_it(tmp_path: Path) -> None:
    path = tmp_path / "a" / "x.jsonl"
    outbox = Watched(path)
    journal = Journal(History(), RolloutWriter.new(str(path), META), outbox)
    journal.tell(STARTED)
    assert not path.exists()
    journal.begin_file()
    journal.tell(WarningEvent(message="not kept"))
    journal.tell(TaskComplete(turn_id="t", last_agent_message=None))
    assert outbox.seen == [("task_started", 0), ("warning", 2), ("task_complete", 3)]
    journal.record([said("a"), said("b")], TURN)
    context = journal.record_turn(TURN)
    assert line_kinds(lines_of(path)) == [
        "session_meta",
        "task_started",
        "task_complete",
        "message:user",
        "message:user",
        "turn_context",
    ]
    assert lines_of(path)[-1]["payload"] == context
    assert journal.history.items == [said("a"), said("b")]


def test_ids_of_items_are_kept_in_memory_only(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    journal = Journal(History(), RolloutWriter.new(str(path), META), Outbox())
    journal.begin_file()
    journal.record([{**said("a"), "id": "msg_1"}], TURN)
    assert journal.history.items[0]["id"] == "msg_1"
    assert "id" not in lines_of(path)[-1]["payload"]


async def test_telling_goes_on_while_the_file_fails_and_recording_does_not(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "x.jsonl"
    (tmp_path / "folder").write_text("in the way")
    outbox = Outbox()
    journal = Journal(History(), RolloutWriter.new(str(path), META), outbox)
    with pytest.raises(RolloutUnwritable, match="cannot write the session file"):
        journal.begin_file()
    journal.tell(STARTED)
    assert await outbox.get() == STARTED
    with pytest.raises(RolloutUnwritable):
        journal.record([said("a"), said("b")], TURN)
    (tmp_path / "folder").unlink()
    journal.record([said("c")], TURN)
    # Nothing was lost, and file and history agree.
    assert line_kinds(lines_of(path)) == ["session_meta", "task_started", *["message:user"] * 3]
    assert journal.history.items == [said("a"), said("b"), said("c")]
    assert [line["payload"] for line in lines_of(path)[2:]] == journal.history.items


def test_without_a_file_only_memory_has_it() -> None:
    journal = Journal(History(), RolloutWriter.ephemeral(), Outbox())
    journal.begin_file()
    journal.record([said("a")], TURN)
    assert journal.history.items == [said("a")]
