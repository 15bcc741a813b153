"""What of a reviewer's events is told by the thread that it works for."""

from typing import Any

import pytest

from pycodex.protocol.events.error import BackgroundEvent, ErrorEvent
from pycodex.protocol.events.exec import ExecCommandEnd
from pycodex.protocol.events.mcp import McpStartupComplete, McpStartupUpdate
from pycodex.protocol.events.message import (
    AgentMessage,
    AgentMessageContentDelta,
    AgentReasoning,
    ItemCompleted,
    ItemStarted,
    UserMessage,
)
from pycodex.protocol.events.turn import ShutdownComplete, TaskComplete, TaskStarted, TokenCount, TurnAborted
from pycodex.protocol.thread_items import AgentMessageItem, ReasoningItem
from pycodex.supervisor.session.tasks.relay import Relay
from support.tool_calls import make_turn

BEGUN = TaskStarted(turn_id="inner", model_context_window=None)


def item_events(item: Any, turn_id: str = "inner", thread_id: str = "child") -> list[Any]:
    return [kind(thread_id=thread_id, turn_id=turn_id, item=item) for kind in (ItemStarted, ItemCompleted)]


def spoken(text: str, **ids: str) -> list[Any]:
    """A message in all its events, without the pieces."""
    item = AgentMessageItem(id=text, content=({"type": "Text", "text": text},))
    return [*item_events(item, **ids), AgentMessage(message=text)]


OURS = {"turn_id": "turn-1", "thread_id": "thread-1"}
THOUGHT = ReasoningItem(id="r", summary_text=("hm",))


def relayed(*events: Any) -> list[Any]:
    relay = Relay(make_turn())
    return [told for event in events for told in relay.told(event)]


def test_beginning_keeps_its_id_and_all_else_has_that_of_the_review() -> None:
    told = relayed(BEGUN, *item_events(THOUGHT), AgentReasoning(text="hm"))
    assert told == [BEGUN, *item_events(THOUGHT, **OURS), AgentReasoning(text="hm")]


def test_messages_are_told_but_for_the_last() -> None:
    delta = AgentMessageContentDelta(thread_id="child", turn_id="inner", item_id="two", delta="t")
    first, *rest = spoken("two")
    told = relayed(BEGUN, *spoken("one"), AgentReasoning(text="hm"), first, delta, *rest, *spoken("three"))
    assert told == [BEGUN, AgentReasoning(text="hm"), *spoken("one", **OURS), *spoken("two", **OURS)]


def test_what_the_reviewer_is_asked_is_told_twice() -> None:
    asked = UserMessage(message="look")
    assert relayed(BEGUN, asked) == [BEGUN, asked, asked]


@pytest.mark.parametrize(
    "event",
    [
        TokenCount(info=None, rate_limits=None),
        TaskComplete(turn_id="inner", last_agent_message="x"),
        TurnAborted(turn_id="inner", reason="interrupted"),
        ShutdownComplete(),
    ],
)
def test_how_it_fares_itself_is_not_told(event: Any) -> None:
    assert relayed(BEGUN, event) == [BEGUN]


def test_nothing_is_told_before_its_turn() -> None:
    assert relayed(BackgroundEvent(message="x"), BEGUN, ErrorEvent(message="y")) == [BEGUN, ErrorEvent(message="y")]


def test_what_has_begun_still_ends() -> None:
    relay = Relay(make_turn())
    ended = ExecCommandEnd(
        call_id="c",
        turn_id="inner",
        command=("true",),
        cwd="/",
        parsed_cmd=(),
        stdout="",
        stderr="",
        aggregated_output="",
        exit_code=-1,
        duration={"secs": 0, "nanos": 0},
        formatted_output="",
        status="failed",
    )
    assert list(relay.told_at_the_end(ended)) == [ended.replace(turn_id="turn-1")]
    assert list(relay.told_at_the_end(AgentReasoning(text="hm"))) == []


def test_servers_of_the_reviewer_are_told_as_they_start() -> None:
    starting = McpStartupUpdate(server="a", status={"state": "starting"})
    complete = McpStartupComplete(ready=("a",), failed=(), cancelled=())
    assert relayed(starting, BackgroundEvent(message="a note"), BEGUN, complete) == [starting, BEGUN, complete]
