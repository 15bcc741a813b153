"""Which notifications and requests an event of the engine becomes.

Owns one small function for each kind of event, and the table that joins them; events that are not in it are told by
others: what the model says comes as items, too. The order within one event is part of the interface.
"""

from collections.abc import Callable
from typing import Any

from pycodex.protocol.events import (
    approval,
    dynamic_tool,
    error,
    goal,
    image,
    mcp,
    message,
    patch,
    plan,
    question,
    review,
    turn,
)
from pycodex.protocol.events import exec as commands
from pycodex.protocol.events.union import AnyEvent
from pycodex.supervisor.frontends.app_server import items, questions_asked
from pycodex.supervisor.frontends.app_server.error_info import turn_error
from pycodex.supervisor.frontends.app_server.rate_limits import told_rate_limits
from pycodex.supervisor.frontends.app_server.telling import (
    IDLE,
    SYSTEM_ERROR,
    Json,
    Notice,
    Telling,
    Told,
)

_USAGE_NAMES = {
    "totalTokens": "total_tokens",
    "inputTokens": "input_tokens",
    "cachedInputTokens": "cached_input_tokens",
    "outputTokens": "output_tokens",
    "reasoningOutputTokens": "reasoning_output_tokens",
}
_STEP_STATUS = {"in_progress": "inProgress"}


def tell(telling: Telling, event: AnyEvent) -> list[Told]:
    make = _TABLE.get(type(event))
    return make(telling, event) if make is not None else []


def _task_started(telling: Telling, event: turn.TaskStarted) -> list[Told]:
    """The turn of a reviewer begins inside of the review, which is known by another id."""
    begun = telling.turn if telling.is_reviewing else None
    if begun is None:
        begun = telling.turn_started(event.turn_id)
    else:
        begun.inner_id = event.turn_id
    told = {**begun.told(items.IN_PROGRESS), "id": event.turn_id}
    return [
        *telling.status_change({"type": "active", "activeFlags": []}),
        Notice("turn/started", {"threadId": telling.thread_id, "turn": told}),
    ]


def _review_entered(telling: Telling, event: review.EnteredReviewMode) -> list[Told]:
    telling.turn_started(event.turn_id)
    telling.is_reviewing = True
    return [*telling.item_completed(items.entered_review(event.turn_id, event.to_wire()))]


def _review_exited(telling: Telling, event: review.ExitedReviewMode) -> list[Told]:
    return [*telling.item_completed(items.exited_review(event.turn_id, event.to_wire()))]


def _task_complete(telling: Telling, event: turn.TaskComplete) -> list[Told]:
    failed = telling.turn is not None and telling.turn.error is not None
    return _turn_ended(telling, event.turn_id, items.FAILED if failed else items.COMPLETED)


def _turn_aborted(telling: Telling, event: turn.TurnAborted) -> list[Told]:
    return _turn_ended(telling, event.turn_id or telling.turn_id, "interrupted")


def _turn_ended(telling: Telling, turn_id: str, status: str) -> list[Told]:
    """A turn that failed leaves the thread in the status of the error, until the next one begins."""
    ended = telling.turn or telling.turn_started(turn_id)
    notices = [] if status == items.FAILED else telling.status_change(IDLE)
    telling.turn_ended()
    return [*notices, Notice("turn/completed", {"threadId": telling.thread_id, "turn": ended.told(status)})]


def _item_started(telling: Telling, event: message.ItemStarted) -> list[Told]:
    item = items.thread_item(event.item.to_wire())
    return [] if item is None else [*telling.item_started(item, turn_id=event.turn_id)]


def _item_completed(telling: Telling, event: message.ItemCompleted) -> list[Told]:
    item = items.thread_item(event.item.to_wire())
    return [] if item is None else [*telling.item_completed(item, turn_id=event.turn_id)]


def _raw_item(telling: Telling, event: message.RawResponseItem) -> list[Told]:
    return [telling.notice("rawResponseItem/completed", {"item": event.item}, turn_id=event.turn_id)]


def _goal_updated(telling: Telling, event: goal.GoalUpdated) -> list[Told]:
    telling.goal = event.goal.to_wire()
    params = {"threadId": telling.thread_id, "turnId": event.turn_id, "goal": telling.goal}
    return [Notice("thread/goal/updated", params)]


def _goal_cleared(telling: Telling, _event: goal.GoalCleared) -> list[Told]:
    telling.goal = None
    return [Notice("thread/goal/cleared", {"threadId": telling.thread_id})]


def _delta(method: str, index: str | None = None, name: str = "") -> Callable[[Telling, Any], list[Told]]:
    """A piece of what the model says; `index` is the field that says to which part it belongs."""

    def make(telling: Telling, event: Any) -> list[Told]:
        params: Json = {"itemId": event.item_id, "delta": event.delta}
        if index is not None:
            params[name] = getattr(event, index)
        return [telling.notice(method, params, turn_id=event.turn_id)]

    return make


def _section_break(telling: Telling, event: message.AgentReasoningSectionBreak) -> list[Told]:
    params = {"itemId": event.item_id, "summaryIndex": event.summary_index}
    return [telling.notice("item/reasoning/summaryPartAdded", params)]


def _command_began(telling: Telling, event: commands.ExecCommandBegin) -> list[Told]:
    return [*telling.item_started(items.command(event.to_wire()), turn_id=event.turn_id)]


def _output(telling: Telling, event: commands.ExecCommandOutputDelta) -> list[Told]:
    """Of a command, or of a patch, which is told by the same event."""
    import base64

    text = base64.b64decode(event.chunk).decode("utf-8", "replace")
    params = {"itemId": event.call_id, "delta": text}
    is_patch = telling.is_open("fileChange", event.call_id)
    method = "item/fileChange/outputDelta" if is_patch else "item/commandExecution/outputDelta"
    return [telling.notice(method, params, turn_id=telling.turn_of(event.call_id))]


def _terminal_interaction(telling: Telling, event: commands.TerminalInteraction) -> list[Told]:
    params = {"itemId": event.call_id, "processId": event.process_id, "stdin": event.stdin}
    return [
        telling.notice("item/commandExecution/terminalInteraction", params, turn_id=telling.turn_of(event.call_id)),
    ]


def _command_ended(telling: Telling, event: commands.ExecCommandEnd) -> list[Told]:
    item = _with_failure(telling, items.command(event.to_wire()))
    before = {
        **item,
        "status": items.IN_PROGRESS,
        "aggregatedOutput": None,
        "exitCode": None,
        "durationMs": None,
    }
    return [*telling.item_completed(item, before=before, turn_id=event.turn_id)]


def _with_failure(telling: Telling, item: Json) -> Json:
    """A client that could not answer did not decline."""
    if item["status"] == items.DECLINED and item["id"] in telling.failed_calls:
        return {**item, "status": items.FAILED}
    return item


def _patch_began(telling: Telling, event: patch.PatchApplyBegin) -> list[Told]:
    return [*telling.item_started(items.file_change(event.to_wire()), turn_id=event.turn_id)]


def _patch_ended(telling: Telling, event: patch.PatchApplyEnd) -> list[Told]:
    item = _with_failure(telling, items.file_change(event.to_wire()))
    started = telling.item_started({**item, "status": items.IN_PROGRESS}, turn_id=event.turn_id)
    return [*started, *telling.item_completed(item, turn_id=event.turn_id)]


def _turn_diff(telling: Telling, event: patch.TurnDiff) -> list[Told]:
    return [telling.notice("turn/diff/updated", {"diff": event.unified_diff})]


def _plan_update(telling: Telling, event: plan.PlanUpdate) -> list[Told]:
    steps = [{**step, "status": _STEP_STATUS.get(step["status"], step["status"])} for step in event.plan]
    return [telling.notice("turn/plan/updated", {"explanation": event.explanation, "plan": steps})]


def _image_viewed(telling: Telling, event: image.ViewImageToolCall) -> list[Told]:
    return [*telling.item_completed(items.image_view(event.call_id, event.path))]


def _token_count(telling: Telling, event: turn.TokenCount) -> list[Told]:
    told: list[Told] = []
    if event.info is not None:
        usage = {
            "total": _usage(event.info["total_token_usage"]),
            "last": _usage(event.info["last_token_usage"]),
            "modelContextWindow": event.info.get("model_context_window"),
        }
        told.append(telling.notice("thread/tokenUsage/updated", {"tokenUsage": usage}))
    if event.rate_limits is not None:
        limits = told_rate_limits(event.rate_limits)
        told.append(Notice("account/rateLimits/updated", {"rateLimits": limits}))
    return told


def _usage(counts: Json) -> Json:
    return {name: counts.get(stored, 0) for name, stored in _USAGE_NAMES.items()}


def _error(telling: Telling, event: error.ErrorEvent) -> list[Told]:
    told = turn_error(event.message, event.codex_error_info)
    if telling.turn is not None:
        telling.turn.error = told
    return [
        *telling.status_change(SYSTEM_ERROR),
        telling.notice("error", {"error": told, "willRetry": False}),
    ]


def _stream_error(telling: Telling, event: error.StreamError) -> list[Told]:
    told = turn_error(event.message, event.codex_error_info, details=event.additional_details)
    return [telling.notice("error", {"error": told, "willRetry": True})]


def _warning(telling: Telling, event: error.WarningEvent) -> list[Told]:
    return [Notice("warning", {"threadId": telling.thread_id, "message": event.message})]


def _deprecation(_telling: Telling, event: error.DeprecationNotice) -> list[Told]:
    return [Notice("deprecationNotice", {"summary": event.summary, "details": event.details})]


def _compacted(telling: Telling, _event: turn.ContextCompacted) -> list[Told]:
    return [telling.notice("thread/compacted", {})]


def _rerouted(telling: Telling, event: turn.ModelReroute) -> list[Told]:
    params = {"fromModel": event.from_model, "toModel": event.to_model, "reason": event.reason}
    return [telling.notice("model/rerouted", params)]


def _dynamic_tool_ended(telling: Telling, event: dynamic_tool.DynamicToolCallResponse) -> list[Told]:
    return [*telling.item_completed(items.dynamic_tool_call(event.to_wire()), turn_id=event.turn_id)]


def _server_starts(telling: Telling, event: mcp.McpStartupUpdate) -> list[Told]:
    state, why = event.status["state"], event.status.get("error")
    params = {"threadId": telling.thread_id, "name": event.server, "status": state, "error": why}
    return [Notice("mcpServer/startupStatus/updated", params)]


def _server_called(telling: Telling, event: mcp.McpToolCallBegin) -> list[Told]:
    return [*telling.item_started(items.mcp_tool_call(event.to_wire()))]


def _server_answered(telling: Telling, event: mcp.McpToolCallEnd) -> list[Told]:
    return [*telling.item_completed(items.mcp_tool_call(event.to_wire()), turn_id=telling.turn_of(event.call_id))]


_TABLE: dict[type, Callable[[Telling, Any], list[Told]]] = {
    turn.TaskStarted: _task_started,
    turn.TaskComplete: _task_complete,
    turn.TurnAborted: _turn_aborted,
    turn.TokenCount: _token_count,
    turn.ModelReroute: _rerouted,
    turn.ContextCompacted: _compacted,
    review.EnteredReviewMode: _review_entered,
    review.ExitedReviewMode: _review_exited,
    message.ItemStarted: _item_started,
    message.ItemCompleted: _item_completed,
    message.PlanCompleted: _item_completed,
    message.RawResponseItem: _raw_item,
    message.PlanDelta: _delta("item/plan/delta"),
    message.AgentMessageContentDelta: _delta("item/agentMessage/delta"),
    message.ReasoningContentDelta: _delta("item/reasoning/summaryTextDelta", "summary_index", "summaryIndex"),
    message.ReasoningRawContentDelta: _delta("item/reasoning/textDelta", "content_index", "contentIndex"),
    message.AgentReasoningSectionBreak: _section_break,
    commands.ExecCommandBegin: _command_began,
    commands.ExecCommandOutputDelta: _output,
    commands.TerminalInteraction: _terminal_interaction,
    commands.ExecCommandEnd: _command_ended,
    patch.PatchApplyBegin: _patch_began,
    patch.PatchApplyEnd: _patch_ended,
    patch.TurnDiff: _turn_diff,
    plan.PlanUpdate: _plan_update,
    goal.GoalUpdated: _goal_updated,
    goal.GoalRestored: _goal_updated,
    goal.GoalCleared: _goal_cleared,
    image.ViewImageToolCall: _image_viewed,
    error.ErrorEvent: _error,
    error.StreamError: _stream_error,
    error.WarningEvent: _warning,
    error.DeprecationNotice: _deprecation,
    dynamic_tool.DynamicToolCallRequest: questions_asked.dynamic_tool_call,
    dynamic_tool.DynamicToolCallResponse: _dynamic_tool_ended,
    mcp.McpStartupUpdate: _server_starts,
    mcp.McpToolCallBegin: _server_called,
    mcp.McpToolCallEnd: _server_answered,
    mcp.ElicitationRequest: questions_asked.elicitation,
    question.RequestUserInput: questions_asked.user_input,
    approval.ExecApprovalRequest: questions_asked.command_approval,
    approval.ApplyPatchApprovalRequest: questions_asked.patch_approval,
}
