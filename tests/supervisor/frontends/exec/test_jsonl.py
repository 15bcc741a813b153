"""Which events become which lines of `exec --json`. The lines are what the reference prints for the same turn."""

import json
from typing import Any

import pytest

from pycodex.protocol.events.error import BackgroundEvent, DeprecationNotice, ErrorEvent, StreamError, WarningEvent
from pycodex.protocol.events.exec import DECLINED, ExecCommandOutputDelta
from pycodex.protocol.events.mcp import McpToolCallBegin, McpToolCallEnd
from pycodex.protocol.events.message import AgentMessage, AgentReasoning, UserMessage, WebSearchBegin, WebSearchEnd
from pycodex.protocol.events.turn import ModelReroute, TokenCount, TurnAborted
from pycodex.protocol.events.union import AnyEvent
from pycodex.supervisor.frontends.exec.jsonl import JsonlRenderer
from support.exec_events import STARTED, command_begins, command_ends, completed, patch_begins, patch_ends, plan, tokens

THREAD = '{"type":"thread.started","thread_id":"th"}'
TURN = '{"type":"turn.started"}'
NO_USAGE = '{"input_tokens":0,"cached_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0}'
DONE = f'{{"type":"turn.completed","usage":{NO_USAGE}}}'
SHELL = ("/bin/bash", "-lc", "echo hi")
HI = '"type":"command_execution","command":"/bin/bash -lc \'echo hi\'"'


def lines_of(*events: AnyEvent) -> list[str]:
    """Between the start of the thread and the last line."""
    written: list[str] = []
    renderer = JsonlRenderer(written.append)
    renderer.start("th")
    for event in events:
        renderer.handle(event)
    renderer.finish()
    assert written[0] == THREAD
    return written[1:]


def begun(number: int, shown: str = HI) -> str:
    return (
        f'{{"type":"item.started","item":{{"id":"item_{number}",{shown},"aggregated_output":"",'
        '"exit_code":null,"status":"in_progress"}}'
    )


def ended(number: int, *, output: str = "", exit_code: str = "0", status: str = "completed", shown: str = HI) -> str:
    return (
        f'{{"type":"item.completed","item":{{"id":"item_{number}",{shown},"aggregated_output":{json.dumps(output)},'
        f'"exit_code":{exit_code},"status":"{status}"}}}}'
    )


def item(number: int, rest: str, *, kind: str = "completed") -> str:
    return f'{{"type":"item.{kind}","item":{{"id":"item_{number}",{rest}}}}}'


def test_plain_turn() -> None:
    assert lines_of(STARTED, AgentMessage(message="ok"), tokens(), completed("ok")) == [
        TURN,
        item(0, '"type":"agent_message","text":"ok"'),
        (
            '{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":10,"output_tokens":20,'
            '"reasoning_output_tokens":5}}'
        ),
    ]


def test_each_part_of_a_summary_is_an_item() -> None:
    events = (AgentReasoning(text="**A**\n\none"), AgentReasoning(text="**B**"))
    assert lines_of(STARTED, *events, completed()) == [
        TURN,
        item(0, '"type":"reasoning","text":"**A**\\n\\none"'),
        item(1, '"type":"reasoning","text":"**B**"'),
        DONE,
    ]


@pytest.mark.parametrize(
    ("output", "exit_code", "status", "told"),
    [("hi\r\n", 0, "completed", "completed"), ("", 7, "failed", "failed"), ("", -1, DECLINED, "failed")],
)
def test_command(output: str, exit_code: int, status: str, told: str) -> None:
    end = command_ends("c", *SHELL, output=output, exit_code=exit_code, status=status)
    assert lines_of(STARTED, command_begins("c", *SHELL), end, completed()) == [
        TURN,
        begun(0),
        ended(0, output=output, exit_code=str(exit_code), status=told),
        DONE,
    ]


def test_numbers_are_taken_when_an_item_appears() -> None:
    events = (
        command_begins("a", *SHELL),
        command_begins("b", "true"),
        command_ends("b", "true"),
        AgentMessage(message="x"),
        command_ends("a", *SHELL),
    )
    shown = '"type":"command_execution","command":"true"'
    assert lines_of(STARTED, *events, completed()) == [
        TURN,
        begun(0),
        begun(1, shown),
        ended(1, shown=shown),
        item(2, '"type":"agent_message","text":"x"'),
        ended(0),
        DONE,
    ]


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (
            {"Ok": {"content": [1], "structuredContent": {"k": 2}}},
            '"result":{"content":[1],"structured_content":{"k":2}},"error":null,"status":"completed"',
        ),
        (
            {"Ok": {"content": [], "isError": True}},
            '"result":{"content":[],"structured_content":null},"error":null,"status":"failed"',
        ),
        ({"Err": "no"}, '"result":null,"error":{"message":"no"},"status":"failed"'),
    ],
)
def test_call_of_a_server(result: dict[str, Any], told: str) -> None:
    called = {"server": "s", "tool": "t", "arguments": {"x": 1}}
    begin = McpToolCallBegin(call_id="c", invocation=called)
    end = McpToolCallEnd(call_id="c", invocation=called, duration={"secs": 0, "nanos": 0}, result=result)
    shown = '"type":"mcp_tool_call","server":"s","tool":"t","arguments":{"x":1},'
    running = item(0, f'{shown}"result":null,"error":null,"status":"in_progress"')
    assert lines_of(STARTED, begin, end, completed()) == [
        TURN,
        running.replace("item.completed", "item.started"),
        item(0, shown + told),
        DONE,
    ]


def test_end_without_a_beginning_is_no_item() -> None:
    assert lines_of(STARTED, command_ends("c", *SHELL), completed()) == [TURN, DONE]


def test_order_at_the_end() -> None:
    events = (
        command_begins("a", *SHELL),
        plan("in_progress: look", "pending: fix"),
        plan("completed: look", "in_progress: fix"),
        AgentMessage(message="It runs."),
    )
    first = '"type":"todo_list","items":[{"text":"look","completed":false},{"text":"fix","completed":false}]'
    later = '"type":"todo_list","items":[{"text":"look","completed":true},{"text":"fix","completed":false}]'
    assert lines_of(STARTED, *events, completed("It runs.")) == [
        TURN,
        begun(0),
        item(1, first, kind="started"),
        item(1, later, kind="updated"),
        item(2, '"type":"agent_message","text":"It runs."'),
        item(1, later),
        ended(0, exit_code="null"),
        DONE,
    ]


def test_search_is_known_by_its_own_id_and_uses_up_a_number() -> None:
    action = {"type": "search", "query": "plums"}
    events = (WebSearchBegin(call_id="ws_1"), WebSearchEnd(call_id="ws_1", query="plums", action=action))
    assert lines_of(STARTED, *events, AgentMessage(message="found"), completed()) == [
        TURN,
        '{"type":"item.started","item":{"id":"ws_1","type":"web_search","query":"","action":{"type":"other"}}}',
        (
            '{"type":"item.completed","item":{"id":"ws_1","type":"web_search","query":"plums",'
            '"action":{"type":"search","query":"plums"}}}'
        ),
        item(1, '"type":"agent_message","text":"found"'),
        DONE,
    ]


def test_warnings_come_where_they_are_told() -> None:
    """One about another model says all that the event beside it does."""
    reroute = ModelReroute(from_model="a", to_model="b", reason="why")
    late = WarningEvent(message="late")
    assert lines_of(WarningEvent(message="early"), STARTED, reroute, late, completed()) == [
        item(0, '"type":"error","message":"early"'),
        TURN,
        item(1, '"type":"error","message":"late"'),
        DONE,
    ]


def test_retries_are_errors_that_end_nothing() -> None:
    retry = StreamError(message="Reconnecting... 1/2", additional_details="stream closed")
    assert lines_of(STARTED, retry, StreamError(message="Reconnecting... 2/2"), completed()) == [
        TURN,
        '{"type":"error","message":"Reconnecting... 1/2 (stream closed)"}',
        '{"type":"error","message":"Reconnecting... 2/2"}',
        DONE,
    ]


def test_failed_turn() -> None:
    assert lines_of(STARTED, tokens(), ErrorEvent(message="nope\nmore"), completed()) == [
        TURN,
        '{"type":"error","message":"nope\\nmore"}',
        '{"type":"turn.failed","error":{"message":"nope\\nmore"}}',
    ]


@pytest.mark.parametrize(
    "event",
    [
        UserMessage(message="hi"),
        BackgroundEvent(message="x"),
        DeprecationNotice(summary="old"),
        ExecCommandOutputDelta(call_id="c", stream="stdout", chunk="aGk="),
        TokenCount(info=None, rate_limits=None),
    ],
)
def test_not_everything_is_told(event: AnyEvent) -> None:
    assert lines_of(STARTED, event, completed()) == [TURN, DONE]


def test_texts_are_escaped_as_the_reference_does() -> None:
    lines = lines_of(AgentMessage(message='é\u2028<>&\x7f\x01\t"\\/\x08\x0c'))
    assert lines[0] == item(0, '"type":"agent_message","text":"é\u2028<>&\x7f\\u0001\\t\\"\\\\/\\b\\f"')


def failed_by(*events: AnyEvent) -> tuple[list[str], JsonlRenderer]:
    written: list[str] = []
    renderer = JsonlRenderer(written.append)
    for event in events:
        renderer.handle(event)
    renderer.interrupted()
    renderer.handle(command_ends("a", *SHELL))
    renderer.finish()
    return written, renderer


FAILED = '{"type":"turn.failed","error":{"message":"task interrupted"}}'


@pytest.mark.parametrize(
    ("events", "lines"),
    [
        ((STARTED,), [TURN, FAILED]),
        ((STARTED, TurnAborted(turn_id="t", reason="interrupted")), [TURN, FAILED]),
        ((STARTED, command_begins("a", *SHELL)), [TURN, begun(0), ended(0, exit_code="null"), FAILED]),
    ],
)
def test_interrupted_turn_fails_once(events: tuple[AnyEvent, ...], lines: list[str]) -> None:
    written, renderer = failed_by(*events)
    assert written == lines
    assert (renderer.outcome.interrupted, renderer.outcome.exit_code) == (True, 1)


def test_interrupt_after_the_end_changes_nothing() -> None:
    written, renderer = failed_by(STARTED, completed("ok"))
    assert written == [TURN, DONE]
    assert renderer.outcome.exit_code == 0


def test_recorded_turns_are_reproduced(shared_dir: Any) -> None:
    """The recorded lines of one run with commands, held against the same events."""
    expected = json.loads((shared_dir / "interop" / "expected" / "exec-left-running.json").read_text())
    shell = ("/bin/bash", "-lc", "echo up; sleep 60")
    events = (command_begins("c", *shell), AgentMessage(message="It runs."), tokens(200, 20, 40, 10))
    lines = [json.loads(line) for line in lines_of(STARTED, *events, completed("It runs."))]
    assert lines[-1]["usage"].pop("reasoning_output_tokens") == 10
    assert lines == expected["runs"][0]["stdout"][1:]


def test_patch_is_told_when_it_has_ended_in_the_order_of_its_paths() -> None:
    changes = {
        "/ws/m": {"type": "update", "unified_diff": "", "move_path": "/ws/n"},
        "/ws/a": {"type": "add", "content": "x"},
        "/ws/d": {"type": "delete", "content": "x"},
    }
    told = (
        '"type":"file_change","changes":[{"path":"/ws/a","kind":"add"},{"path":"/ws/d","kind":"delete"},'
        '{"path":"/ws/m","kind":"update"}],"status":"%s"'
    )
    assert lines_of(
        STARTED,
        patch_begins("c", changes),
        patch_ends("c", changes, stdout="ok"),
        patch_begins("e", changes),
        patch_ends("e", changes, stderr="no"),
    ) == [TURN, item(0, told % "completed"), item(1, told % "failed"), DONE]
