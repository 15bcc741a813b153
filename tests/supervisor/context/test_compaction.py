"""Which items stay when a conversation becomes shorter, and where the settings are told again."""

from typing import Any

from pycodex.protocol.items import input_text, message
from pycodex.supervisor.context.compaction import kept_of_answer, summarised, with_context

SNAPSHOT = {"type": "ghost_snapshot", "ghost_commit": {"id": "c0ffee"}}


def said(text: str, role: str = "user") -> dict[str, Any]:
    return message(role, [input_text(text)])


def texts(items: list[dict[str, Any]]) -> list[str]:
    return [item["content"][0]["text"] if item["type"] == "message" else item["type"] for item in items]


def test_own_messages_the_summary_and_snapshots_stay() -> None:
    items = [
        said("<environment_context>\n</environment_context>"),
        said("one"),
        said("thinking", "assistant"),
        SNAPSHOT,
        said("old summary"),
        said("two"),
    ]
    assert texts(summarised(items, "new summary", {"old summary"})) == ["one", "two", "new summary", "ghost_snapshot"]


def test_settings_come_before_the_last_own_message() -> None:
    context = [said("settings", "developer")]
    items = [said("one"), said("two"), said("sum")]
    assert texts(with_context(items, context, "sum")) == ["one", "settings", "two", "sum"]


def test_settings_come_before_the_summary_if_nothing_else_stays() -> None:
    assert texts(with_context([said("sum")], [said("settings", "developer")], "sum")) == ["settings", "sum"]


def test_settings_come_before_what_a_provider_has_compacted() -> None:
    compacted = {"type": "compaction", "encrypted_content": "x"}
    context = [said("settings", "developer")]
    assert texts(with_context([compacted], context, "")) == ["settings", "compaction"]
    assert texts(with_context([], context, "")) == ["settings"]
    assert texts(with_context([said("one"), compacted], context, "")) == ["settings", "one", "compaction"]


def test_of_a_providers_answer_only_the_conversation_stays() -> None:
    answer: list[object] = [
        said("settings", "developer"),
        said("<environment_context>\n</environment_context>"),
        said("one"),
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "answer"}]},
        {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c"},
        {"type": "function_call_output", "call_id": "c", "output": "o"},
        {"type": "reasoning", "summary": []},
        {"type": "compaction_summary", "encrypted_content": "x"},
        {"type": "nobody knows"},
        "garbage",
        None,
    ]
    assert texts(kept_of_answer(answer, [SNAPSHOT])) == ["one", "answer", "compaction", "ghost_snapshot"]
