"""What each event means."""

import json
from typing import Any

import pytest

from pycodex.supervisor.model.events import EventReader
from pycodex.supervisor.model.stream import (
    Completed,
    ItemAdded,
    ItemDone,
    RateLimitsSeen,
    RawReasoningDelta,
    ServerModel,
    StreamEvent,
    SummaryDelta,
    SummaryPartAdded,
    TextDelta,
)
from pycodex.supervisor.model.usage import TokenUsage

MESSAGE = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}
FAILED = {"type": "response.failed", "response": {"error": {"code": "invalid_prompt", "message": "m"}}}
COMPLETED = {"type": "response.completed", "response": {"id": "r"}}


def read(*events: Any) -> list[StreamEvent]:
    reader = EventReader()
    texts = (event if isinstance(event, str) else json.dumps(event) for event in events)
    return [told for text in texts for told in reader.read(text)]


@pytest.mark.parametrize(
    ("event", "told"),
    [
        ({"type": "response.output_text.delta", "delta": "a", "item_id": "x"}, TextDelta("a")),
        ({"type": "response.reasoning_summary_text.delta", "delta": "a", "summary_index": 1}, SummaryDelta("a", 1)),
        ({"type": "response.reasoning_text.delta", "delta": "a", "content_index": 2}, RawReasoningDelta("a", 2)),
        ({"type": "response.reasoning_summary_part.added", "summary_index": 0}, SummaryPartAdded(0)),
        ({"type": "response.output_item.added", "item": MESSAGE}, ItemAdded(MESSAGE)),
        (
            {"type": "response.output_item.done", "item": {**MESSAGE, "id": "m", "x": 1}},
            ItemDone({**MESSAGE, "id": "m"}),
        ),
        (COMPLETED, Completed("r", None)),
        (
            {
                "type": "response.completed",
                "response": {"id": "r", "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}},
            },
            Completed("r", TokenUsage(1, 0, 2, 0, 3)),
        ),
        ({"type": "response.completed", "response": {"id": "r", "usage": {"input_tokens": "x"}}}, Completed("r", None)),
    ],
)
def test_event_is_told(event: dict[str, Any], told: StreamEvent) -> None:
    assert read(event) == [told]


@pytest.mark.parametrize(
    "event",
    [
        "",
        "[DONE]",
        "not json",
        "5",
        "[]",
        "null",
        '{"no": "type"}',
        '{"type": 5}',
        '{"type": "response.output_text.delta", "delta": NaN}',
        "[" * 100_000,
        '{"type": "response.output_text.delta", "delta": ' + "9" * 10_000 + "}",
        {"type": "response.output_text.delta"},
        {"type": "response.output_text.delta", "delta": 5},
        {"type": "response.output_text.delta", "delta": "a", "content_index": "0"},
        {"type": "response.output_text.delta", "delta": "a", "summary_index": True},
        {"type": "response.reasoning_summary_text.delta", "delta": "a"},
        {"type": "response.reasoning_text.delta", "delta": "a"},
        {"type": "response.reasoning_summary_part.added"},
        {"type": "response.output_item.done"},
        {"type": "response.output_item.done", "item": {"type": "from_the_future"}},
        {"type": "response.output_item.done", "item": {"type": "message", "role": "assistant"}},
        {"type": "response.output_item.added", "item": 5},
        {"type": "response.completed"},
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.function_call_arguments.delta", "delta": "x"},
    ],
)
def test_event_is_skipped(event: Any) -> None:
    assert read(event) == []


def test_half_a_surrogate_pair_does_not_get_in() -> None:
    assert read(r'{"type":"response.output_text.delta","delta":"a\ud800b"}') == [TextDelta("a?b")]
    assert read(r'{"type":"response.output_text.delta","delta":"\ud83d\ude00"}') == [TextDelta("😀")]


def test_limits_may_come_as_an_event() -> None:
    (told,) = read({"type": "codex.rate_limits", "plan_type": "pro"})
    assert isinstance(told, RateLimitsSeen)
    assert told.snapshot["plan_type"] == "pro"


def test_model_of_the_server_is_told_when_it_changes() -> None:
    told = read(
        {"type": "response.created", "response": {"headers": {"OpenAI-Model": "a"}}},
        {"type": "response.in_progress", "response": {"headers": {"x-openai-model": ["a"]}}},
        {"type": "codex.response.metadata", "headers": {"openai-model": "b"}},
        {"type": "x", "headers": {"openai-model": 5}},
        {"type": "x", "headers": {"openai-model": []}},
    )
    assert told == [ServerModel("a"), ServerModel("b")]


def test_model_of_the_header_is_not_told_again() -> None:
    event = json.dumps({"type": "x", "headers": {"openai-model": "a"}})
    assert list(EventReader("a").read(event)) == []


def ended(*events: Any) -> EventReader:
    reader = EventReader()
    for event in events:
        assert list(reader.read(json.dumps(event))) == []
    return reader


def test_a_stream_without_completion_was_closed_early() -> None:
    prefix = "stream disconnected before completion: "
    assert ended().closed().message == f"{prefix}stream closed before response.completed"
    assert ended().idle().message == f"{prefix}idle timeout waiting for SSE"
    assert ended().broken("reset").message == f"{prefix}reset"


def test_a_told_failure_is_the_reason_however_the_stream_ends() -> None:
    reader = ended(FAILED)
    assert [failure.message for failure in (reader.closed(), reader.idle(), reader.broken("x"))] == ["m", "m", "m"]


def test_the_last_told_failure_counts() -> None:
    reader = ended(FAILED, {"type": "response.incomplete"})
    assert reader.closed().message.endswith("Incomplete response returned, reason: unknown")


def test_a_later_completion_wins() -> None:
    assert read(FAILED, COMPLETED) == [Completed("r", None)]


@pytest.mark.parametrize("response", [{}, {"id": 5}, 5])
def test_completion_without_an_id_is_a_failure(response: Any) -> None:
    reader = ended({"type": "response.completed", "response": response})
    assert reader.closed().message.endswith("failed to parse ResponseCompleted: missing field `id`")
