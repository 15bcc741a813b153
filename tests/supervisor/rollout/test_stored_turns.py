"""Where turns begin and end in a session file, and what became of them."""

from typing import Any

from pycodex.protocol.rollout import COMPACTED, EVENT_MSG, RESPONSE_ITEM, RolloutLine
from pycodex.supervisor.frontends.app_server import turn_views
from pycodex.supervisor.rollout.stored_turns import SHOWN_EVENTS, StoredTurn, turns_of


def event(kind: str, **fields: Any) -> RolloutLine:
    return RolloutLine("", EVENT_MSG, {"type": kind, **fields})


def begin(turn_id: str) -> RolloutLine:
    return event("task_started", turn_id=turn_id)


def end(turn_id: str) -> RolloutLine:
    return event("task_complete", turn_id=turn_id)


def shape(turns: list[StoredTurn]) -> list[tuple[str, str, list[str]]]:
    return [(turn.turn_id, turn.status, [each["type"] for each in turn.events]) for turn in turns]


def test_named_turns_hold_what_is_said_in_them() -> None:
    lines = [
        begin("t1"),
        event("user_message", message="a"),
        event("user_message", message="more"),
        event("agent_message", message="b"),
        event("token_count", info=None),
        end("t1"),
        begin("t2"),
        event("user_message", message="c"),
        event("turn_aborted", turn_id="t2", reason="interrupted"),
        begin("t3"),
        event("user_message", message="d"),
    ]
    assert shape(turns_of(lines)) == [
        ("t1", "completed", ["user_message", "user_message", "agent_message"]),
        ("t2", "interrupted", ["user_message"]),
        ("t3", "open", ["user_message"]),
    ]


def test_unnamed_turns_begin_with_each_message_of_the_person() -> None:
    lines = [
        event("user_message", message="a"),
        event("agent_message", message="b"),
        event("user_message", message="c"),
        RolloutLine("", RESPONSE_ITEM, {"type": "message"}),
    ]
    assert [(status, kinds) for _, status, kinds in shape(turns_of(lines))] == [
        ("completed", ["user_message", "agent_message"]),
        ("completed", ["user_message"]),
    ]


def test_taken_back_turns_are_gone() -> None:
    lines = [line for turn_id in ("t1", "t2", "t3") for line in (begin(turn_id), end(turn_id))]
    lines += [event("thread_rolled_back", num_turns=2), begin("t4"), end("t4")]
    assert [turn.turn_id for turn in turns_of(lines)] == ["t1", "t4"]
    assert turns_of([*lines, event("thread_rolled_back", num_turns=9)]) == []
    assert len(turns_of([*lines, event("thread_rolled_back", num_turns="odd")])) == 2


def test_error_makes_a_turn_fail_whatever_ends_it() -> None:
    (turn,) = turns_of([begin("t1"), event("error", message="no"), end("t1")])
    assert turn.status == "failed"
    assert turn.error is not None
    assert turn.error["message"] == "no"


def test_late_end_of_a_command_belongs_to_its_turn() -> None:
    lines = [begin("t1"), end("t1"), begin("t2"), event("exec_command_end", turn_id="t1"), end("t2")]
    assert [len(turn.events) for turn in turns_of(lines)] == [1, 0]


def test_compaction_between_turns_is_a_turn_and_odd_events_are_none() -> None:
    lines = [event("no_such_event"), RolloutLine("", COMPACTED, {"message": "x"}), begin("t1"), end("t1")]
    assert [(turn.holds_compaction, turn.is_named) for turn in turns_of(lines)] == [(True, False), (False, True)]
    assert turns_of([event("no_such_event"), event("task_complete", turn_id="t9")]) == []


def test_whatever_is_kept_can_be_shown() -> None:
    assert SHOWN_EVENTS | {"user_message"} == turn_views._READERS.keys()


def review_lines(*, asked: int = 2) -> list[RolloutLine]:
    """As files have it: under the id of the reviewer's turn, and ended under that of the review."""
    return [
        event("entered_review_mode", user_facing_hint="x"),
        begin("inner"),
        *(event("user_message", message="look") for _ in range(asked)),
        event("exited_review_mode", review_output=None),
        event("agent_message", message="b"),
        end("review"),
    ]


REVIEW_EVENTS = ["entered_review_mode", "user_message", "exited_review_mode", "agent_message"]


def test_beginning_of_a_review_belongs_to_its_turn() -> None:
    lines = [begin("t1"), event("user_message", message="a"), end("t1"), *review_lines(), begin("t2"), end("t2")]
    assert shape(turns_of(lines)) == [
        ("t1", "completed", ["user_message"]),
        ("inner", "completed", REVIEW_EVENTS),
        ("t2", "completed", []),
    ]
    taken_back = turns_of([*lines, event("thread_rolled_back", num_turns=2)])
    assert shape(taken_back) == [("t1", "completed", ["user_message"])]


def test_only_what_is_told_again_is_left_out() -> None:
    assert shape(turns_of(review_lines(asked=1)))[0][2] == REVIEW_EVENTS
    other = [*review_lines()[:4], event("user_message", message="other"), event("user_message", message="other")]
    assert shape(turns_of(other))[0][2] == ["entered_review_mode", *["user_message"] * 3]
    twice = [begin("t"), event("user_message", message="a"), event("user_message", message="a")]
    assert shape(turns_of(twice))[0][2] == ["user_message", "user_message"]


def test_review_that_never_began_its_turn_is_still_there() -> None:
    lines = [begin("t1"), event("user_message", message="a"), review_lines()[0]]
    assert [(status, kinds) for _, status, kinds in shape(turns_of(lines))] == [
        ("open", ["user_message"]),
        ("completed", ["entered_review_mode"]),
    ]


def test_review_of_a_file_that_names_no_turns() -> None:
    lines = [each for each in review_lines() if not each.payload["type"].startswith("task_")]
    assert [kinds for _, _, kinds in shape(turns_of(lines))] == [REVIEW_EVENTS]
