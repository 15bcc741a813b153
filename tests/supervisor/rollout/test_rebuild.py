"""Taken-back turns, compactions and what the model was last told."""

from collections.abc import Iterable
from typing import Any

import pytest

from pycodex.protocol.rollout import RolloutLine
from pycodex.supervisor.rollout.rebuild import Rebuild
from support.rollouts import (
    Item,
    Line,
    call,
    compacted,
    complete,
    event,
    item,
    line,
    message,
    output,
    rolled_back,
    said_by_agent,
    said_by_user,
    started,
    texts,
    turn,
    turn_context,
)

ONE = turn("1", "one", "a1")
TWO = turn("2", "two", "a2")
THREE = turn("3", "three", "a3")
SAID_ONE = ["user: one", "assistant: a1"]
SAID_TWO = ["user: two", "assistant: a2"]
SAID_THREE = ["user: three", "assistant: a3"]
CONTEXT = [item(message("developer", "rules")), item(message("user", "<environment_context></environment_context>"))]
SAID_CONTEXT = ["developer: rules", "user: <environment_context></environment_context>"]
KEPT = [message("user", "kept"), message("user", "summary")]
SAID_KEPT = ["user: kept", "user: summary"]


def rebuilt(lines: Iterable[Line]) -> tuple[list[Item], dict[str, Any] | None, Rebuild]:
    """As the reader does it, but without stopping early: what is older must not change anything."""
    rebuild = Rebuild()
    for each in reversed(list(lines)):
        rebuild.take(RolloutLine(each["timestamp"], each["type"], each["payload"]))
    items, baseline = rebuild.finish()
    return items, baseline, rebuild


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], []),
        ([*ONE, *TWO], [*SAID_ONE, *SAID_TWO]),
        ([*ONE, *TWO, rolled_back(1)], SAID_ONE),
        ([*ONE, *TWO, rolled_back(0)], [*SAID_ONE, *SAID_TWO]),
        ([*ONE, *TWO, rolled_back(1), *THREE], [*SAID_ONE, *SAID_THREE]),
        ([*ONE, *TWO, rolled_back(1), *THREE, rolled_back(1)], SAID_ONE),
        ([*ONE, *TWO, *THREE, rolled_back(1), rolled_back(1)], SAID_ONE),
        ([*CONTEXT, *ONE, rolled_back(9)], SAID_CONTEXT),
        ([*CONTEXT, *ONE, rolled_back(9), *CONTEXT, *TWO], [*SAID_CONTEXT, *SAID_CONTEXT, *SAID_TWO]),
        ([*ONE, rolled_back(1), compacted("summary", KEPT)], SAID_KEPT),
        # No beginnings of turns are told: one segment, cut all the same.
        ([*said_by_user("one"), *said_by_agent("a1"), *said_by_user("two"), rolled_back(1)], SAID_ONE),
        ([*ONE, compacted("summary", KEPT), *TWO], [*SAID_KEPT, *SAID_TWO]),
        ([*ONE, compacted("old", [message("user", "old")]), *TWO, compacted("summary", KEPT)], SAID_KEPT),
        ([*ONE, compacted("summary", KEPT), *TWO, rolled_back(1)], SAID_KEPT),
        ([*ONE, compacted("summary", KEPT), *TWO, *THREE, rolled_back(2)], SAID_KEPT),
        # Within a turn.
        ([*ONE, *turn("2", "two", "a2", compacted("summary", KEPT))], [*SAID_KEPT, "assistant: a2"]),
        # A compaction goes with the turn that it was part of, or that came before it.
        ([*ONE, *turn("2", "two", "a2", compacted("summary", KEPT)), rolled_back(1)], SAID_ONE),
        ([*ONE, *turn("2", "two", "a2", compacted("summary")), rolled_back(1)], SAID_ONE),
        (
            [*ONE, *TWO, started("c"), compacted("summary", KEPT), complete("c"), *THREE, rolled_back(2)],
            SAID_ONE,
        ),
        # An older one is not brought back by it.
        (
            [*ONE, compacted("summary", KEPT), *turn("2", "two", "a2", compacted("x", [])), rolled_back(1)],
            SAID_KEPT,
        ),
        # Without telling what was kept, as older versions did.
        ([*CONTEXT, *ONE, *TWO, compacted("S"), *THREE], ["user: one", "user: two", "user: S", *SAID_THREE]),
        ([*ONE, compacted("S"), *TWO, compacted("S2")], ["user: one", "user: two", "user: S2"]),
        ([*ONE, *TWO, rolled_back(1), compacted("S"), *THREE], ["user: one", "user: S", *SAID_THREE]),
        ([*ONE, compacted(""), *TWO], ["user: one", "user: (no summary available)", *SAID_TWO]),
    ],
)
def test_what_was_said(lines: list[Line], said: list[str]) -> None:
    assert texts(rebuilt(lines)[0]) == said


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([], None),
        ([*ONE, *TWO], "2"),
        ([*ONE, *TWO, rolled_back(1)], "1"),
        ([*ONE, rolled_back(1)], None),
        ([*ONE, *TWO, compacted("s", KEPT)], None),
        ([*ONE, *TWO, compacted("s")], None),
        ([*ONE, compacted("s", KEPT), *TWO], "2"),
        ([*ONE, compacted("s"), *TWO], None),
        ([*ONE, *TWO, compacted("s", KEPT), *THREE, rolled_back(1)], None),
        ([*said_by_user("one"), rolled_back(1), turn_context("2"), *said_by_user("two")], "2"),
        # Told again right after a compaction within a turn.
        ([*ONE, *turn("2", "two", "a2", compacted("s", KEPT), turn_context("2", cwd="/after"))], "2"),
        ([*ONE, *turn("2", "two", "a2", compacted("s", KEPT))], None),
        # Not a turn of the person's.
        ([*ONE, started("r"), turn_context("r"), complete("r")], "1"),
        # Settings of another turn, in a form that is not known, or not the newest.
        ([*ONE, started("2"), *said_by_user("two"), turn_context("x"), complete("2")], "1"),
        ([*ONE, started("2"), line("turn_context", {"turn_id": "2"}), *said_by_user("two"), complete("2")], "1"),
        ([turn_context(None, model="a"), *said_by_user("one"), turn_context(None, model="b")], None),
    ],
)
def test_what_the_model_was_last_told(lines: list[Line], told: str | None) -> None:
    baseline = rebuilt(lines)[1]
    assert (baseline or {}).get("turn_id") == told


def test_newest_settings_of_a_turn_count() -> None:
    middle = [compacted("s", KEPT), turn_context("2", cwd="/after")]
    _, baseline, _ = rebuilt([*ONE, *turn("2", "two", "a2", *middle)])
    assert baseline is not None
    assert baseline["cwd"] == "/after"


def test_settings_without_turns_are_those_of_the_only_turn() -> None:
    lines = [turn_context(None, model="a"), *said_by_user("one"), turn_context(None, model="b"), *said_by_user("two")]
    _, baseline, rebuild = rebuilt(lines)
    assert baseline is not None
    assert (baseline["model"], rebuild.previous_model) == ("b", "b")


def test_model_of_the_newest_turn_that_stands_is_known_beyond_a_compaction() -> None:
    lines = [*turn("1", "one", "a1"), *TWO, rolled_back(1), compacted("s", KEPT)]
    lines[1] = turn_context("1", model="other")
    assert rebuilt(lines)[2].previous_model == "other"


def test_last_known_usage_is_kept() -> None:
    usage = {"total_token_usage": {"total_tokens": 7}}
    lines = [
        event("token_count", info={"old": True}, rate_limits=None),
        event("token_count", info=usage, rate_limits=None),
        event("token_count", info=None, rate_limits=None),
    ]
    assert rebuilt(lines)[2].token_info == usage


def test_calls_and_outputs_are_part_of_it_and_strange_items_are_not() -> None:
    items = [call("c"), output("c", "x"), {"type": "new_kind"}, {"type": "message"}, {"type": "ghost_snapshot"}]
    kept, _, _ = rebuilt([*said_by_user("one"), *map(item, items)])
    assert kept == [message("user", "one"), call("c"), output("c", "x")]


def test_later_versions_tell_the_persons_words_as_items() -> None:
    spoken = event("item_completed", item={"type": "UserMessage", "content": [{"type": "text", "text": "two"}]})
    lines = [*ONE, started("2"), turn_context("2"), item(message("user", "two")), spoken, complete("2")]
    assert (rebuilt(lines)[1] or {}).get("turn_id") == "2"
    items, baseline, _ = rebuilt([*lines, rolled_back(1)])
    assert texts(items) == SAID_ONE
    assert (baseline or {}).get("turn_id") == "1"


@pytest.mark.parametrize(
    "left",
    [
        [event("error", message="cannot"), complete("review")],
        [
            item(message("user", "no report")),
            event("exited_review_mode", review_output=None),
            event("turn_aborted", turn_id="review", reason="interrupted"),
        ],
    ],
)
def test_review_without_a_reviewer_is_no_part_of_the_turn_before(left: list[Line]) -> None:
    lines = [*ONE, *TWO, event("entered_review_mode", target={"type": "custom"}), *left]
    _, baseline, rebuild = rebuilt(lines)
    assert (baseline or {}).get("turn_id") == "2"
    assert rebuild.previous_model == "gpt-5.4"


@pytest.mark.parametrize(
    "odd",
    [
        rolled_back(-1),
        event("thread_rolled_back", num_turns="1"),
        event("thread_rolled_back"),
        line("compacted", {"replacement_history": []}),
        line("turn_context", {}),
        line("world_state", {"x": 1}),
        event("token_count"),
        line("event_msg", {"type": 1}),
    ],
)
def test_odd_lines_change_nothing(odd: Line) -> None:
    items, baseline, _ = rebuilt([*ONE, odd, *TWO, odd])
    assert texts(items) == [*SAID_ONE, *SAID_TWO]
    assert (baseline or {}).get("turn_id") == "2"


def test_summaries_are_told_from_the_persons_words() -> None:
    assert rebuilt([*ONE, compacted("old", KEPT), *TWO, compacted("s", KEPT)])[2].summaries == {"s"}
    assert rebuilt([*ONE, compacted("a"), *TWO, compacted("b")])[2].summaries == {"a", "b"}


def test_nothing_older_is_needed_once_all_is_known() -> None:
    rebuild = Rebuild()
    usage = event("token_count", info={"x": 1}, rate_limits=None)
    lines = [*ONE, started("c"), compacted("s", KEPT), complete("c"), *TWO, usage]
    seen = []
    for each in reversed(lines):
        seen.append(each)
        rebuild.take(RolloutLine("", each["type"], each["payload"]))
        if rebuild.is_done:
            break
    assert seen[-1] == started("c")
    assert texts(rebuild.finish()[0]) == [*SAID_KEPT, *SAID_TWO]
