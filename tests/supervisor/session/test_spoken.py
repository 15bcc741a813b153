"""Which events an item of the model becomes."""

from typing import Any

import pytest

from pycodex.protocol.items import known_item
from pycodex.supervisor.context.history import History
from pycodex.supervisor.rollout.writer import RolloutWriter
from pycodex.supervisor.session.journal import Journal
from pycodex.supervisor.session.outbox import Outbox, OutboxClosed
from pycodex.supervisor.session.spoken import Spoken, shown_item
from support.tool_calls import make_turn


def item(kind: str, **fields: Any) -> dict[str, Any]:
    known = known_item({"type": kind, **fields})
    assert known is not None
    return known


MESSAGE = item("message", id="m", role="assistant", content=[{"type": "output_text", "text": "hi"}])
REASONING = item("reasoning", id="r", summary=[{"type": "summary_text", "text": "s"}], content=None)


class Stream:
    def __init__(self) -> None:
        self.outbox = Outbox()
        journal = Journal(History(), RolloutWriter.ephemeral(), self.outbox)
        self.spoken = Spoken(journal, make_turn())

    async def told(self) -> list[dict[str, Any]]:
        self.outbox.close()
        events = []
        try:
            while True:
                events.append((await self.outbox.get()).to_wire())
        except OutboxClosed:
            return events


async def test_message_is_begun_spoken_and_ended_under_one_id() -> None:
    stream = Stream()
    stream.spoken.begun({**MESSAGE, "content": []})
    stream.spoken.text("h")
    stream.spoken.text("i")
    stream.spoken.done({**MESSAGE, "id": "another"})
    told = await stream.told()
    assert [event["type"] for event in told] == [
        "item_started",
        "agent_message_content_delta",
        "agent_message_content_delta",
        "item_completed",
        "agent_message",
    ]
    assert {event["item_id"] for event in told if "item_id" in event} == {"m"}
    assert {event["item"]["id"] for event in told if "item" in event} == {"m"}
    assert stream.spoken.last_message == told[-1]["message"] == "hi"


async def test_item_that_comes_whole_is_begun_and_ended() -> None:
    stream = Stream()
    stream.spoken.done(MESSAGE)
    assert [event["type"] for event in await stream.told()] == ["item_started", "item_completed", "agent_message"]


async def test_pieces_without_an_item_are_dropped() -> None:
    stream = Stream()
    stream.spoken.text("x")
    stream.spoken.summary("x", 0)
    stream.spoken.summary_part(0)
    stream.spoken.raw_reasoning("x", 0)
    stream.spoken.done(MESSAGE)
    stream.spoken.text("late")
    assert [event["type"] for event in await stream.told()] == ["item_started", "item_completed", "agent_message"]


async def test_reasoning_tells_summary_and_raw_thoughts() -> None:
    stream = Stream()
    whole = {**REASONING, "content": [{"type": "reasoning_text", "text": "raw"}]}
    stream.spoken.begun(REASONING)
    stream.spoken.summary_part(0)
    stream.spoken.summary("s", 0)
    stream.spoken.raw_reasoning("raw", 0)
    stream.spoken.done(whole)
    told = await stream.told()
    assert [event["type"] for event in told] == [
        "item_started",
        "agent_reasoning_section_break",
        "reasoning_content_delta",
        "reasoning_raw_content_delta",
        "item_completed",
        "agent_reasoning",
        "agent_reasoning_raw_content",
    ]
    assert [event["text"] for event in told[-2:]] == ["s", "raw"]
    assert stream.spoken.last_message is None


async def test_calls_are_not_shown_by_themselves() -> None:
    stream = Stream()
    call = item("function_call", name="x", arguments="{}", call_id="c")
    stream.spoken.begun(call)
    stream.spoken.done(call)
    stream.spoken.done(item("message", role="user", content=[]))
    assert await stream.told() == []


@pytest.mark.parametrize(
    ("action", "query"),
    [
        ({"type": "search", "query": "q"}, "q"),
        ({"type": "search", "query": "", "queries": ["a", "b"]}, "a ..."),
        ({"type": "search", "query": "q", "queries": ["a", "b"]}, "q"),
        ({"type": "search", "queries": ["a", "b"]}, "a ..."),
        ({"type": "search", "queries": ["", "b"]}, ""),
        ({"type": "search", "queries": 3}, ""),
        ({"type": "search", "queries": ["a"]}, "a"),
        ({"type": "search", "queries": [1, None]}, ""),
        ({"type": "open_page", "url": "http://x"}, "http://x"),
        ({"type": "open_page"}, ""),
        ({"type": "find_in_page", "url": "http://x", "pattern": "p"}, "'p' in http://x"),
        ({"type": "find_in_page", "pattern": "p"}, "'p'"),
        ({"type": "future"}, ""),
        (None, ""),
        ("odd", ""),
    ],
)
def test_search_in_a_few_words(action: Any, query: str) -> None:
    shown: Any = shown_item(item("web_search_call", id="w", action=action))
    assert shown.query == query
    assert isinstance(shown.action, dict)


@pytest.mark.parametrize("action", [{"type": "future", "more": 1}, {"type": ["search"]}, {}, None, "odd"])
def test_unknown_search_is_told_as_another_one(action: Any) -> None:
    shown: Any = shown_item(item("web_search_call", id="w", action=action))
    assert shown.action == {"type": "other"}
