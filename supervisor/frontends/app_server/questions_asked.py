"""What the engine asks, as requests to the client, and what the client's answers mean to the engine.

Owns the words on both sides. Whatever a client answers wrongly is a refusal; one that says that it cannot answer at all
is told apart, because then nobody has declined. Pure.
"""

from typing import Any

from pycodex.protocol.approvals import ABORT, APPROVED, APPROVED_FOR_SESSION, DENIED, Decision
from pycodex.protocol.events.approval import ApplyPatchApprovalRequest, ExecApprovalRequest
from pycodex.protocol.events.dynamic_tool import DynamicToolCallRequest
from pycodex.protocol.events.mcp import ElicitationRequest
from pycodex.protocol.events.question import RequestUserInput
from pycodex.supervisor.frontends.app_server import items
from pycodex.supervisor.frontends.app_server.telling import (
    ON_APPROVAL,
    ON_USER_INPUT,
    Json,
    Question,
    Telling,
    Told,
)

COMMAND_APPROVAL = "item/commandExecution/requestApproval"
PATCH_APPROVAL = "item/fileChange/requestApproval"
USER_INPUT = "item/tool/requestUserInput"
TOOL_CALL = "item/tool/call"
ELICITATION = "mcpServer/elicitation/request"

_DECISIONS = {"accept": APPROVED, "acceptForSession": APPROVED_FOR_SESSION, "decline": DENIED, "cancel": ABORT}
_DECISION_WORDS = {answer: word for word, answer in _DECISIONS.items()}
_TOOL_FAILED = "dynamic tool request failed"


def command_approval(telling: Telling, event: ExecApprovalRequest) -> list[Told]:
    params: Json = {
        "threadId": telling.thread_id,
        "turnId": event.turn_id,
        "itemId": event.call_id,
        "reason": event.reason,
        "command": items.shown_command(event.command),
        "cwd": event.cwd,
        "commandActions": items.command_actions(event.parsed_cmd),
        "availableDecisions": [_told_decision(each) for each in event.available_decisions],
    }
    if event.reason is None:
        del params["reason"]
    if event.proposed_execpolicy_amendment is not None:
        params["proposedExecpolicyAmendment"] = list(event.proposed_execpolicy_amendment)
    if event.additional_permissions is not None:
        params["additionalPermissions"] = _told_permissions(event.additional_permissions)
    return [Question(method=COMMAND_APPROVAL, params=params, call_id=event.call_id, waits_on=ON_APPROVAL)]


def _told_permissions(extra: Json) -> Json:
    return {"network": extra.get("network"), "fileSystem": extra.get("file_system"), "macos": None}


def patch_approval(telling: Telling, event: ApplyPatchApprovalRequest) -> list[Told]:
    item = items.file_change(event.to_wire())
    params = {
        "threadId": telling.thread_id,
        "turnId": event.turn_id,
        "itemId": event.call_id,
        "reason": event.reason,
        "grantRoot": event.grant_root,
    }
    asked = Question(method=PATCH_APPROVAL, params=params, call_id=event.call_id, waits_on=ON_APPROVAL)
    return [*telling.item_started(item, turn_id=event.turn_id), asked]


def user_input(telling: Telling, event: RequestUserInput) -> list[Told]:
    params = {
        "threadId": telling.thread_id,
        "turnId": event.turn_id,
        "itemId": event.call_id,
        "questions": list(event.questions),
    }
    return [Question(method=USER_INPUT, params=params, call_id=event.call_id, waits_on=ON_USER_INPUT)]


def elicitation(telling: Telling, event: ElicitationRequest) -> list[Told]:
    params = {
        "threadId": telling.thread_id,
        "turnId": event.turn_id,
        "serverName": event.server_name,
        **event.request,
    }
    return [Question(method=ELICITATION, params=params, call_id=event.id, waits_on=ON_APPROVAL)]


def dynamic_tool_call(telling: Telling, event: DynamicToolCallRequest) -> list[Told]:
    params = {
        "threadId": telling.thread_id,
        "turnId": event.turn_id,
        "callId": event.call_id,
        "tool": event.tool,
        "arguments": event.arguments,
        **({} if event.namespace is None else {"namespace": event.namespace}),
    }
    asked = Question(method=TOOL_CALL, params=params, call_id=event.call_id, waits_on=None)
    return [*telling.item_started(items.dynamic_tool_call(event.to_wire()), turn_id=event.turn_id), asked]


def engine_answer(method: str, result: object) -> Any:
    """The value that the engine waits for."""
    if method in (COMMAND_APPROVAL, PATCH_APPROVAL):
        decision = result.get("decision") if isinstance(result, dict) else None
        return _decided(decision).to_wire()
    return result


def engine_answer_to_failure(method: str) -> Any:
    """The same, where the client could not answer."""
    if method in (COMMAND_APPROVAL, PATCH_APPROVAL):
        return DENIED
    if method == USER_INPUT:
        return {"answers": {}}
    if method == ELICITATION:
        return {"action": "cancel"}
    return {"contentItems": [{"type": "inputText", "text": _TOOL_FAILED}], "success": False}


def _decided(decision: object) -> Decision:
    match decision:
        case str() if decision in _DECISIONS:
            return Decision(answer=_DECISIONS[decision])
        case {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": [*words]}}:
            if all(isinstance(word, str) for word in words):
                return Decision(answer=APPROVED, amendment=tuple(words))
    return Decision(answer=DENIED)


def _told_decision(decision: "str | dict[str, Any]") -> Any:
    if isinstance(decision, str):
        return _DECISION_WORDS.get(decision, decision)
    known = Decision.of_wire(decision)
    if known.amendment is None:
        return decision
    return {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": list(known.amendment)}}
