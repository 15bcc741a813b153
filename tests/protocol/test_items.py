"""Items of the conversation."""

from typing import Any

import pytest

from pycodex.protocol.items import (
    CALL_KINDS,
    KNOWN_KINDS,
    OUTPUT_KINDS,
    call_id_of,
    known_item,
    output_for,
    output_kind,
    texts_of,
    written,
)
from support.rollouts import Item, call, message, output


@pytest.mark.parametrize(
    ("raw", "known"),
    [
        ({**message("user", "x"), "status": "completed"}, message("user", "x")),
        ({**message("assistant", "x"), "phase": "commentary"}, {**message("assistant", "x"), "phase": "commentary"}),
        ({**call("c"), "id": "fc_1"}, {**call("c"), "id": "fc_1"}),
        (
            {"type": "reasoning", "summary": []},
            {"type": "reasoning", "summary": [], "content": None, "encrypted_content": None},
        ),
        (
            {"type": "compaction_summary", "encrypted_content": "x"},
            {"type": "compaction", "encrypted_content": "x"},
        ),
        (output("c", [{"type": "input_text", "text": "x"}]), output("c", [{"type": "input_text", "text": "x"}])),
        ({"type": "web_search_call"}, {"type": "web_search_call"}),
    ],
)
def test_known_fields_are_kept_in_their_order(raw: Item, known: Item) -> None:
    kept = known_item(raw)
    assert kept == known
    assert kept is not None
    assert list(kept) == list(known)


@pytest.mark.parametrize(
    "raw",
    [
        None,
        [],
        {},
        {"type": 1},
        {"type": "new_kind"},
        {"type": "message", "role": "user"},
        {"type": "message", "role": 1, "content": []},
        {"type": "message", "role": "user", "content": "x"},
        {"type": "message", "role": "user", "content": ["x"]},
        {"type": "reasoning", "summary": None},
        {"type": "reasoning", "summary": [{"type": "later"}]},
        {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
        {"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": 1}]},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "output_text", "text": "x"}]},
        {"type": "function_call", "name": "x", "arguments": {}, "call_id": "c"},
        {"type": "function_call_output", "call_id": "c", "output": 1},
        {"type": "function_call_output", "call_id": None, "output": "x"},
    ],
)
def test_what_is_malformed_is_no_item(raw: Any) -> None:
    assert known_item(raw) is None


def test_id_is_not_written() -> None:
    assert written({**call("c"), "id": "fc_1"}) == call("c")
    picture = {"type": "image_generation_call", "id": "i", "status": "completed", "result": ""}
    assert written(picture) == picture


@pytest.mark.parametrize(
    ("content", "is_written"),
    [(None, True), ([], False), ([{"type": "text", "text": "x"}], False), ([{"type": "reasoning_text"}], True)],
)
def test_raw_reasoning_is_written_if_it_says_something(content: Any, is_written: bool) -> None:
    item = {"type": "reasoning", "summary": [], "content": content, "encrypted_content": "x"}
    assert written(item) == ({**item} if is_written else {k: v for k, v in item.items() if k != "content"})


def test_item_that_needs_no_change_is_written_as_the_same_object() -> None:
    item = call("c")
    assert written(item) is item


def test_call_of_a_local_shell_may_be_tied_by_its_id() -> None:
    local = {"type": "local_shell_call", "status": "completed", "action": {}, "id": "ls_1"}
    assert call_id_of(local) == "ls_1"
    assert call_id_of({**call("c"), "id": "fc_1"}) == "c"
    assert call_id_of(message("user", "x")) is None


@pytest.mark.parametrize("kind", sorted(CALL_KINDS))
def test_every_call_has_its_kind_of_output(kind: str) -> None:
    answer = output_for({"type": kind, "call_id": "c"}, "x")
    assert answer["type"] == output_kind({"type": kind})
    assert answer["type"] in OUTPUT_KINDS
    assert answer["call_id"] == "c"
    assert known_item(answer) == answer
    assert {kind, answer["type"]} <= KNOWN_KINDS


def test_texts_of_a_message_are_found() -> None:
    parts = [{"type": "input_text", "text": "a"}, {"type": "input_image"}, {"type": "output_text", "text": "b"}]
    assert texts_of({"type": "message", "role": "user", "content": parts}) == ["a", "b"]
    assert texts_of(call("c")) == []


def test_parts_are_reduced_to_what_is_known_of_them() -> None:
    raw = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x", "annotations": []}]}
    assert known_item(raw) == {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "x"}],
    }
