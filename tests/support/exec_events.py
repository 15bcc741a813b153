"""Events as a turn of `exec` tells them, with short words for what varies."""

from typing import Any

from pycodex.protocol.events.exec import COMPLETED, FAILED, ExecCommandBegin, ExecCommandEnd
from pycodex.protocol.events.patch import PatchApplyBegin, PatchApplyEnd
from pycodex.protocol.events.plan import PlanUpdate
from pycodex.protocol.events.turn import TaskComplete, TaskStarted, TokenCount

STARTED = TaskStarted(turn_id="t", model_context_window=None)


def command_begins(call_id: str, *argv: str) -> ExecCommandBegin:
    return ExecCommandBegin(call_id=call_id, turn_id="t", command=argv, cwd="/ws", parsed_cmd=())


def command_ends(
    call_id: str, *argv: str, output: str = "", exit_code: int = 0, ms: int = 0, status: str = COMPLETED
) -> ExecCommandEnd:
    return ExecCommandEnd(
        call_id=call_id,
        turn_id="t",
        command=argv,
        cwd="/ws",
        parsed_cmd=(),
        stdout="",
        stderr="",
        aggregated_output=output,
        exit_code=exit_code,
        duration={"secs": ms // 1000, "nanos": ms % 1000 * 1_000_000},
        formatted_output="",
        status=status,
    )


def patch_begins(call_id: str, changes: dict[str, dict[str, Any]]) -> PatchApplyBegin:
    return PatchApplyBegin(call_id=call_id, turn_id="t", auto_approved=True, changes=changes)


def patch_ends(
    call_id: str, changes: dict[str, dict[str, Any]], *, stdout: str = "", stderr: str = ""
) -> PatchApplyEnd:
    return PatchApplyEnd(
        call_id=call_id,
        turn_id="t",
        stdout=stdout,
        stderr=stderr,
        success=not stderr,
        changes=changes,
        status=FAILED if stderr else COMPLETED,
    )


def plan(*steps: str, explanation: str | None = None) -> PlanUpdate:
    """Steps such as `completed: look`."""
    pairs = [step.split(": ", 1) for step in steps]
    return PlanUpdate(explanation=explanation, plan=tuple({"step": text, "status": status} for status, text in pairs))


def tokens(fresh: int = 100, cached: int = 10, output: int = 20, reasoning: int = 5) -> TokenCount:
    usage: dict[str, Any] = {
        "input_tokens": fresh,
        "cached_input_tokens": cached,
        "output_tokens": output,
        "reasoning_output_tokens": reasoning,
        "total_tokens": fresh + output,
    }
    return TokenCount(info={"total_token_usage": usage, "last_token_usage": usage}, rate_limits=None)


def completed(message: str | None = None) -> TaskComplete:
    return TaskComplete(turn_id="t", last_agent_message=message)
