"""Shapes of the lines of `exec --json`."""

import json

import pytest

from pycodex.protocol import exec_jsonl as lines


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (lines.thread_started("th"), '{"type":"thread.started","thread_id":"th"}'),
        (lines.turn_started(), '{"type":"turn.started"}'),
        (lines.turn_failed("why"), '{"type":"turn.failed","error":{"message":"why"}}'),
        (lines.error("why"), '{"type":"error","message":"why"}'),
        (
            lines.turn_completed({"output_tokens": 2, "input_tokens": 1, "total_tokens": 3}),
            (
                '{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":2,'
                '"reasoning_output_tokens":0}}'
            ),
        ),
    ],
)
def test_encoding(line: lines.Line, text: str) -> None:
    assert lines.encoded(line) == text


@pytest.mark.parametrize("text", ["\u2028\u2029é🌐", "\x00\x1f\x7f", "line\nbreak"])
def test_a_line_is_one_line(text: str) -> None:
    encoded = lines.encoded(lines.error(text))
    assert "\n" not in encoded
    assert json.loads(encoded)["message"] == text


def test_optional_fields_are_there() -> None:
    item = lines.command_execution("item_0", "true", status=lines.IN_PROGRESS)
    assert item["exit_code"] is None
    assert lines.item_started(item)["item"] is item
