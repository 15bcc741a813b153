"""What events become: every item begins once and ends once, whatever the engine leaves out or says twice."""

from typing import Any

import pytest

from pycodex.protocol.app.tables import SERVER_NOTIFICATIONS
from pycodex.protocol.events.approval import ApplyPatchApprovalRequest
from pycodex.protocol.events.error import ErrorEvent, StreamError
from pycodex.protocol.events.exec import ExecCommandBegin, ExecCommandEnd, ExecCommandOutputDelta
from pycodex.protocol.events.patch import PatchApplyBegin, PatchApplyEnd
from pycodex.protocol.events.plan import PlanUpdate
from pycodex.protocol.events.turn import ModelReroute, TaskComplete, TaskStarted, TokenCount, TurnAborted
from pycodex.protocol.events.union import AnyEvent
from pycodex.supervisor.frontends.app_server.notifications import tell
from pycodex.supervisor.frontends.app_server.telling import Notice, Question, Telling

COMMAND: dict[str, Any] = {
    "call_id": "c1",
    "turn_id": "t1",
    "command": ("/bin/bash", "-lc", "cat a"),
    "cwd": "/ws",
    "parsed_cmd": ({"type": "read", "cmd": "cat a", "name": "a", "path": "a"},),
}
ENDED: dict[str, Any] = {
    **COMMAND,
    "stdout": "x",
    "stderr": "",
    "aggregated_output": "x",
    "exit_code": 0,
    "duration": {"secs": 1, "nanos": 500_000_000},
    "formatted_output": "x",
    "status": "completed",
}
CHANGES = {
    "/ws/b": {"type": "update", "unified_diff": "@@", "move_path": "/ws/c"},
    "/ws/a": {"type": "add", "content": "1"},
}


def begun() -> Telling:
    telling = Telling("thread")
    tell(telling, TaskStarted(turn_id="t1", model_context_window=None))
    return telling


def methods(telling: Telling, *events: AnyEvent) -> list[str]:
    return [each.method for event in events for each in tell(telling, event)]


def item_of(told: object) -> dict[str, Any]:
    assert isinstance(told, Notice)
    item: dict[str, Any] = told.params["item"]
    return item


def test_command_has_a_start_and_an_end() -> None:
    telling = begun()
    delta = ExecCommandOutputDelta(call_id="c1", stream="stdout", chunk="eA==")
    events = (ExecCommandBegin(**COMMAND), delta, ExecCommandEnd(**ENDED))
    started, piece, completed = (each for event in events for each in tell(telling, event))
    assert item_of(started) == {
        "type": "commandExecution",
        "id": "c1",
        "command": "/bin/bash -lc 'cat a'",
        "cwd": "/ws",
        "processId": None,
        "source": "agent",
        "status": "inProgress",
        "commandActions": [{"type": "read", "command": "cat a", "name": "a", "path": "a"}],
        "aggregatedOutput": None,
        "exitCode": None,
        "durationMs": None,
    }
    assert isinstance(piece, Notice)
    assert piece.params == {"threadId": "thread", "turnId": "t1", "itemId": "c1", "delta": "x"}
    done = item_of(completed)
    assert (done["status"], done["aggregatedOutput"], done["exitCode"], done["durationMs"]) == (
        "completed",
        "x",
        0,
        1500,
    )


def test_declined_command_was_begun_and_has_come_to_nothing() -> None:
    telling = begun()
    declined = ExecCommandEnd(**{**ENDED, "status": "declined", "exit_code": -1, "aggregated_output": "no"})
    started, completed = tell(telling, declined)
    assert item_of(started)["status"] == "inProgress"
    assert item_of(completed)["status"] == "declined"
    for name in ("aggregatedOutput", "exitCode", "durationMs"):
        assert item_of(completed)[name] is None
    # Told twice is told once.
    assert tell(telling, declined) == []


def test_client_that_could_not_answer_did_not_decline() -> None:
    telling = begun()
    telling.failed_calls.add("c1")
    *_, completed = tell(telling, ExecCommandEnd(**{**ENDED, "status": "declined"}))
    assert item_of(completed)["status"] == "failed"


def test_command_that_outlives_its_turn_ends_in_it() -> None:
    telling = begun()
    tell(telling, ExecCommandBegin(**COMMAND))
    tell(telling, TaskComplete(turn_id="t1", last_agent_message=None))
    tell(telling, TaskStarted(turn_id="t2", model_context_window=None))
    (completed,) = tell(telling, ExecCommandEnd(**ENDED))
    assert isinstance(completed, Notice)
    assert completed.params["turnId"] == "t1"


def test_patch_is_begun_by_its_question_at_the_latest() -> None:
    telling = begun()
    asked = ApplyPatchApprovalRequest(call_id="p", turn_id="t1", changes=CHANGES)
    begin = PatchApplyBegin(call_id="p", turn_id="t1", auto_approved=False, changes=CHANGES)
    end: dict[str, Any] = {"call_id": "p", "turn_id": "t1", "stdout": "Success", "stderr": "", "changes": CHANGES}
    started, question = tell(telling, asked)
    assert isinstance(question, Question)
    assert question.params == {"threadId": "thread", "turnId": "t1", "itemId": "p", "reason": None, "grantRoot": None}
    assert item_of(started)["changes"] == [
        {"path": "/ws/a", "kind": {"type": "add"}, "diff": "1"},
        {"path": "/ws/b", "kind": {"type": "update", "move_path": "/ws/c"}, "diff": "@@\n\nMoved to: /ws/c"},
    ]
    assert tell(telling, begin) == []
    ended = PatchApplyEnd(**end, success=True, status="completed")
    output = ExecCommandOutputDelta(call_id="p", stream="stdout", chunk="U3VjY2Vzcw==")
    assert methods(telling, output, ended, ended) == ["item/fileChange/outputDelta", "item/completed"]


@pytest.mark.parametrize(
    ("info", "told"),
    [
        ("usage_limit_exceeded", "usageLimitExceeded"),
        ({"http_connection_failed": {"http_status_code": 500}}, {"httpConnectionFailed": {"httpStatusCode": 500}}),
        (None, None),
    ],
)
def test_failed_turn_tells_its_error_twice(info: Any, told: Any) -> None:
    telling = begun()
    status, error, completed = (
        *tell(telling, ErrorEvent(message="no", codex_error_info=info)),
        *tell(telling, TaskComplete(turn_id="t1", last_agent_message=None)),
    )
    assert isinstance(status, Notice)
    assert status.params["status"] == {"type": "systemError"}
    assert isinstance(error, Notice)
    assert error.params["error"] == {"message": "no", "codexErrorInfo": told, "additionalDetails": None}
    assert isinstance(completed, Notice)
    assert completed.params["turn"]["error"] == error.params["error"]
    assert completed.params["turn"]["status"] == "failed"


def test_retry_is_no_failure() -> None:
    telling = begun()
    (error,) = tell(telling, StreamError(message="Reconnecting... 1/5", additional_details="cut"))
    assert isinstance(error, Notice)
    assert error.params["willRetry"] is True
    assert error.params["error"]["additionalDetails"] == "cut"
    (idle, completed) = tell(telling, TaskComplete(turn_id="t1", last_agent_message=None))
    assert isinstance(completed, Notice)
    assert completed.params["turn"]["status"] == "completed"
    assert idle.method == "thread/status/changed"


def test_usage_and_limits_are_told_apart() -> None:
    counts = dict.fromkeys(("total_tokens", "input_tokens", "cached_input_tokens", "output_tokens"), 1)
    info = {"total_token_usage": counts, "last_token_usage": counts, "model_context_window": 9}
    limits = {"limit_id": "codex", "primary": {"used_percent": 12.6, "window_minutes": 60, "resets_at": 5}}
    usage, account = tell(begun(), TokenCount(info=info, rate_limits=limits))
    assert isinstance(usage, Notice)
    assert usage.params["tokenUsage"]["total"]["reasoningOutputTokens"] == 0
    assert isinstance(account, Notice)
    assert account.params["rateLimits"]["primary"] == {"usedPercent": 13, "windowDurationMins": 60, "resetsAt": 5}
    assert tell(begun(), TokenCount(info=None, rate_limits=None)) == []


def test_notices_have_the_form_that_clients_know() -> None:
    telling = begun()
    events: tuple[AnyEvent, ...] = (
        TaskStarted(turn_id="t1", model_context_window=None),
        ExecCommandBegin(**COMMAND),
        ExecCommandEnd(**ENDED),
        PatchApplyEnd(
            call_id="p", turn_id="t1", stdout="", stderr="", changes=CHANGES, success=True, status="completed"
        ),
        PlanUpdate(explanation=None, plan=({"step": "a", "status": "in_progress"},)),
        ModelReroute(from_model="a", to_model="b", reason="highRiskCyberActivity"),
        ErrorEvent(message="no", codex_error_info="other"),
        TurnAborted(turn_id="t1", reason="interrupted"),
    )
    told = [each for event in events for each in tell(telling, event)]
    assert len(told) > len(events)
    for each in told:
        assert isinstance(each, Notice)
        SERVER_NOTIFICATIONS[each.method].model_validate(each.params)
