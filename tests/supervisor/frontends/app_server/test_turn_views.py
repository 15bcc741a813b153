"""Turns of a file in the words of the app-server."""

from typing import Any

from pycodex.protocol.app.turns import Turn
from pycodex.supervisor.frontends.app_server.turn_views import told_turns
from pycodex.supervisor.rollout.stored_turns import StoredTurn


def stored(*events: dict[str, Any], **fields: Any) -> StoredTurn:
    return StoredTurn(turn_id="t", events=list(events), **fields)


def items(*turns: StoredTurn) -> list[dict[str, Any]]:
    told = told_turns(turns)
    for turn in told:
        Turn.model_validate(turn)
    return [item for turn in told for item in turn["items"]]


def test_items_are_counted_through_the_thread_and_calls_keep_their_ids() -> None:
    call = {"call_id": "c1", "path": "/a.png"}
    found = items(
        stored({"type": "user_message", "message": "a"}, {"type": "view_image_tool_call", **call}),
        stored({"type": "user_message", "message": "b"}, {"type": "agent_message", "message": "c"}),
    )
    assert [(item["id"], item["type"]) for item in found] == [
        ("item-1", "userMessage"),
        ("c1", "imageView"),
        ("item-2", "userMessage"),
        ("item-3", "agentMessage"),
    ]


def test_calls_of_servers_are_told_as_they_ended() -> None:
    called = {"server": "s", "tool": "t", "arguments": {"x": 1}}
    ended = {"type": "mcp_tool_call_end", "invocation": called, "duration": {"secs": 1, "nanos": 5_000_000}}
    answered, failed = items(
        stored(
            {**ended, "call_id": "a", "result": {"Ok": {"content": [], "structuredContent": {"k": 1}}}},
            {**ended, "call_id": "b", "result": {"Err": "no"}},
            {**ended, "call_id": "odd", "result": {"Ok": 3}},
        )
    )
    assert answered == {
        "type": "mcpToolCall",
        "id": "a",
        "server": "s",
        "tool": "t",
        "arguments": {"x": 1},
        "status": "completed",
        "result": {"content": [], "structuredContent": {"k": 1}},
        "error": None,
        "durationMs": 1005,
    }
    assert (failed["status"], failed["result"], failed["error"]) == ("failed", None, {"message": "no"})


def test_inputs_of_the_person_are_told_apart() -> None:
    elements = [{"byte_range": {"start": 0, "end": 2}, "placeholder": "hi"}]
    message = {"message": "hi", "images": ["http://x"], "local_images": ["/p.png"], "text_elements": elements}
    (found,) = items(stored({"type": "user_message", **message}))
    assert found["content"] == [
        {"type": "text", "text": "hi", "text_elements": [{"byteRange": {"start": 0, "end": 2}, "placeholder": "hi"}]},
        {"type": "image", "url": "http://x"},
        {"type": "localImage", "path": "/p.png"},
    ]


def test_thoughts_that_follow_each_other_are_one_item() -> None:
    thought = {"type": "agent_reasoning", "text": "hm"}
    raw = {"type": "agent_reasoning_raw_content", "text": "raw"}
    found = items(stored(thought, thought, raw, {"type": "agent_message", "message": "a"}, thought))
    assert [(item["type"], item.get("summary"), item.get("content")) for item in found] == [
        ("reasoning", ["hm", "hm"], ["raw"]),
        ("agentMessage", None, None),
        ("reasoning", ["hm"], []),
    ]


def test_what_others_wrote_oddly_is_passed_over() -> None:
    found = items(
        stored({"type": "agent_message"}, {"type": "exec_command_end", "call_id": 1}, {"type": "item_completed"})
    )
    assert found == []


def test_only_the_running_turn_is_in_progress() -> None:
    turn = StoredTurn(turn_id="t", status="open")
    assert told_turns([turn])[0]["status"] == "interrupted"
    assert told_turns([turn], running_turn_ids=("t",))[0]["status"] == "inProgress"


def test_failure_says_why() -> None:
    error = {"message": "no", "codex_error_info": "usage_limit_exceeded"}
    (turn,) = told_turns([stored(status="failed", error=error)])
    assert turn["error"] == {"message": "no", "codexErrorInfo": "usageLimitExceeded", "additionalDetails": None}
