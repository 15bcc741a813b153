"""Lines of session files."""

import json
import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.protocol.rollout import (
    EVENT_MSG,
    RESPONSE_ITEM,
    RolloutLine,
    SessionMeta,
    decode,
    is_known_turn_context,
    line_now,
    plain_event,
    timestamp_of,
)
from support.rollouts import STAMP, THREAD_ID, meta, turn_context

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=8,
)


def test_line_is_compact_json_in_the_order_of_the_format() -> None:
    line = RolloutLine(STAMP, EVENT_MSG, {"type": "user_message", "message": "é\u2028\n"})
    assert (
        line.encode()
        == (
            f'{{"timestamp":"{STAMP}","type":"event_msg","payload":{{"type":"user_message","message":"é\u2028\\n"}}}}\n'
        ).encode()
    )


@given(st.text(st.characters(exclude_categories=["Cs"])), st.dictionaries(st.text("ab"), JSON))
def test_line_is_one_line_and_reads_as_it_was_written(kind: str, payload: dict[str, Any]) -> None:
    line = RolloutLine(STAMP, kind, payload)
    data = line.encode()
    assert data.count(b"\n") == 1
    assert decode(data) == line


def test_figures_stand_behind_what_everybody_reads() -> None:
    line = RolloutLine(STAMP, RESPONSE_ITEM, {"type": "x"}, {"wall_ms": 1.5, "sandbox": "full"})
    assert (
        line.encode()
        == (
            f'{{"timestamp":"{STAMP}","type":"response_item","payload":{{"type":"x"}},'
            '"pycodex":{"wall_ms":1.5,"sandbox":"full"}}\n'
        ).encode()
    )
    assert decode(line.encode()) == line


def test_line_without_figures_has_no_place_for_them() -> None:
    assert b"pycodex" not in RolloutLine(STAMP, RESPONSE_ITEM, {}).encode()
    assert line_now("x", {}).figures is None
    assert line_now("x", {}, {"a": 1}).figures == {"a": 1}


@pytest.mark.parametrize("figures", ["null", "1", '"x"', "[]"])
def test_figures_in_an_unknown_form_are_done_without(figures: str) -> None:
    line = decode(f'{{"timestamp":"T","type":"x","payload":{{"a":1}},"pycodex":{figures}}}'.encode())
    assert line == RolloutLine("T", "x", {"a": 1})


def test_half_a_character_becomes_a_question_mark() -> None:
    line = decode(RolloutLine(STAMP, RESPONSE_ITEM, {"text": "a\ud800b"}).encode())
    assert line is not None
    assert line.payload == {"text": "a?b"}


@pytest.mark.parametrize(
    ("escaped", "text"), [("\\ud83d\\ude00", "😀"), ("a\\ud800b", "a?b"), ("a\\uDC00", "a?"), ("\\\\ud800", "\\ud800")]
)
def test_escaped_characters_are_read_and_half_ones_replaced(escaped: str, text: str) -> None:
    line = decode(f'{{"timestamp":"","type":"x","payload":{{"text":"{escaped}"}}}}'.encode())
    assert line is not None
    assert line.payload == {"text": text}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"\0\0\0\n",
        b"{not json",
        b"[]",
        b"1",
        b'{"timestamp":"t","type":"x"}',
        b'{"timestamp":"t","type":1,"payload":{}}',
        b'{"timestamp":"t","type":"x","payload":[]}',
        b'{"timestamp":"t","type":"x","payload":' + b"[" * 100_000,
        b'{"timestamp":"t","type":"x","payload":{"n":' + b"9" * 5000 + b"}}",
        b"\xff\xfe",
    ],
)
def test_what_is_no_line_is_passed_over(data: bytes) -> None:
    assert decode(data) is None


@pytest.mark.parametrize(
    "data",
    [
        b'{"ordinal":7,"timestamp":"T","type":"x","payload":{"a":1},"more":[]}',
        b'\0\0\0{"timestamp":"T","type":"x","payload":{"a":1}}\r\n',
        b'{"timestamp":"2026","type":"respo{"timestamp":"T","type":"x","payload":{"a":1}}\n',
        b'{"timestamp":"2026","ty\0\0{"timestamp":"T","type":"x","payload":{"a":1}}\n',
    ],
)
def test_whole_line_is_found_in_odd_company(data: bytes) -> None:
    assert decode(data) == RolloutLine("T", "x", {"a": 1})


def test_bytes_that_are_no_text_spoil_only_themselves() -> None:
    line = decode(b'{"timestamp":"T","type":"x","payload":{"a":"1\xff2"}}')
    assert line is not None
    assert line.payload == {"a": "1\N{REPLACEMENT CHARACTER}2"}


def test_times_are_utc_to_the_millisecond() -> None:
    assert timestamp_of(1772359200.0129) == "2026-03-01T10:00:00.012Z"
    assert timestamp_of(0) == "1970-01-01T00:00:00.000Z"


def test_line_is_stamped_with_the_time_it_was_made() -> None:
    before = timestamp_of(time.time())
    stamp = line_now("x", {}).timestamp
    assert before <= stamp <= timestamp_of(time.time())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", stamp)


def test_head_is_written_in_the_order_of_the_format() -> None:
    head = SessionMeta(
        id=THREAD_ID,
        forked_from_id="f",
        timestamp=STAMP,
        cwd="/w",
        originator="codex_exec",
        pycodex="1.2.3",
        source="exec",
        agent_nickname="Ada",
        agent_role="explorer",
        model_provider="mock",
        base_instructions="Be good.",
        dynamic_tools=({"name": "t"},),
        git={"branch": "main"},
    )
    payload = head.to_payload()
    assert json.dumps(payload) == json.dumps(
        {
            "id": THREAD_ID,
            "forked_from_id": "f",
            "timestamp": STAMP,
            "cwd": "/w",
            "originator": "codex_exec",
            "cli_version": "0.116.0",
            "pycodex": "1.2.3",
            "source": "exec",
            "agent_nickname": "Ada",
            "agent_role": "explorer",
            "model_provider": "mock",
            "base_instructions": {"text": "Be good."},
            "dynamic_tools": [{"name": "t"}],
            "git": {"branch": "main"},
        }
    )
    assert SessionMeta.from_payload(payload) == head


def test_head_leaves_out_what_is_not_there() -> None:
    head = SessionMeta(id=THREAD_ID, timestamp=STAMP, cwd="/w", originator="o", model_provider="mock")
    assert head.to_payload() == {
        "id": THREAD_ID,
        "timestamp": STAMP,
        "cwd": "/w",
        "originator": "o",
        "cli_version": "0.116.0",
        "source": "vscode",
        "model_provider": "mock",
        "base_instructions": None,
    }


@pytest.mark.parametrize("name", ["id", "timestamp", "cwd", "originator", "cli_version"])
def test_head_without_what_it_must_say_is_none(name: str) -> None:
    payload = meta()["payload"]
    assert SessionMeta.from_payload(payload) is not None
    assert SessionMeta.from_payload({**payload, name: 1}) is None
    del payload[name]
    assert SessionMeta.from_payload(payload) is None


def test_head_whose_id_is_no_uuid_is_none() -> None:
    assert SessionMeta.from_payload(meta(thread_id="x")["payload"]) is None


def test_wrong_optional_values_of_a_head_are_ignored() -> None:
    odd: dict[str, Any] = {
        "source": 1,
        "git": [],
        "base_instructions": "x",
        "dynamic_tools": {},
        "model_provider": 2,
        "later": True,
    }
    head = SessionMeta.from_payload(meta(**odd)["payload"])
    assert head is not None
    assert (head.source, head.git, head.base_instructions, head.dynamic_tools, head.model_provider) == (
        "vscode",
        None,
        None,
        None,
        None,
    )


def test_source_may_be_a_map() -> None:
    head = SessionMeta.from_payload(meta(source={"subagent": "review"})["payload"])
    assert head is not None
    assert head.source == {"subagent": "review"}


def test_settings_in_an_unknown_form_are_not_taken_for_known_ones() -> None:
    payload = turn_context()["payload"]
    assert is_known_turn_context(payload)
    assert not is_known_turn_context({**payload, "model": {"slug": "x"}})
    del payload["sandbox_policy"]
    assert not is_known_turn_context({**payload, "permission_profile": {}})


@pytest.mark.parametrize(
    ("later", "plain"),
    [
        (
            {
                "type": "item_completed",
                "turn_id": "t",
                "item": {
                    "type": "UserMessage",
                    "id": "i",
                    "content": [
                        {"type": "text", "text": "look "},
                        {"type": "image", "image_url": "data:,"},
                        {"type": "local_image", "path": "/p.png"},
                        {"type": "text", "text": "here"},
                    ],
                },
            },
            {
                "type": "user_message",
                "message": "look here",
                "images": ["data:,"],
                "local_images": ["/p.png"],
                "text_elements": [],
            },
        ),
        (
            {
                "type": "item_completed",
                "item": {"type": "AgentMessage", "content": [{"type": "Text", "text": "hi"}], "phase": "commentary"},
            },
            {"type": "agent_message", "message": "hi", "phase": "commentary", "memory_citation": None},
        ),
    ],
)
def test_later_versions_words_are_translated(later: dict[str, Any], plain: dict[str, Any]) -> None:
    assert plain_event(later) == plain


@pytest.mark.parametrize(
    "event",
    [
        {"type": "user_message", "message": "x"},
        {"type": "item_completed"},
        {"type": "item_completed", "item": {"type": "Plan", "id": "p", "text": "t"}},
        {"type": "item_completed", "item": {"type": "UserMessage", "content": "x"}},
        {"type": "item_completed", "item": {"type": "Reasoning", "content": []}},
    ],
)
def test_other_events_stay_as_they_are(event: dict[str, Any]) -> None:
    assert plain_event(event) is event
