"""Asking a person, through whoever shows the thread, whether something may be done.

Owns the questions and what follows from each answer: once, for the session, for good, not at all, or not and stop. Who
asks is told by an exception that the person has said no; what becomes of the call is its own affair.
"""

import json
import logging
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import trio

from pycodex.protocol.approvals import ABORT, APPROVED, APPROVED_FOR_SESSION, Decision
from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.events.approval import ApplyPatchApprovalRequest, ExecApprovalRequest
from pycodex.protocol.events.error import WarningEvent
from pycodex.supervisor.tools.tool import ToolScope, Unanswered

if TYPE_CHECKING:
    from pycodex.supervisor.policy.decision import Ask

logger = logging.getLogger("pycodex.tools")


class Declined(ModelFacing):
    """The person does not want it. `aborts`: nor anything else that this turn might do."""

    def __init__(self, *, aborts: bool) -> None:
        super().__init__("rejected by user")
        self.aborts = aborts

    async def take_effect(self, scope: ToolScope) -> None:
        """After the call has told its end: whoever wanted the turn to stop does not come back from here."""
        if self.aborts:
            scope.interrupt()
            await trio.sleep_forever()


async def ask_about_command(
    ask: "Ask",
    argv: Sequence[str],
    *,
    cwd: str,
    call_id: str,
    scope: ToolScope,
    additional_permissions: dict[str, Any] | None = None,
) -> None:
    """Raises Declined."""
    from pycodex.supervisor.policy.summaries import parsed_cmd

    request = ExecApprovalRequest(
        call_id=call_id,
        turn_id=scope.turn.turn_id,
        command=tuple(argv),
        cwd=cwd,
        reason=ask.reason,
        proposed_execpolicy_amendment=ask.amendment,
        additional_permissions=additional_permissions,
        available_decisions=tuple(_offered(ask)),
        parsed_cmd=parsed_cmd(argv),
    )
    decision = await _answer(request, scope)
    if decision.answer == APPROVED_FOR_SESSION:
        scope.services.approvals.grant([ask.key])
    if decision.amendment is not None:
        await _allow_for_good(decision.amendment, scope)


async def ask_about_patch(
    changes: dict[str, dict[str, Any]],
    *,
    reason: str | None,
    call_id: str,
    keys: Iterable[Hashable],
    scope: ToolScope,
) -> None:
    """Raises Declined. An approval for the session holds for these `keys`."""
    request = ApplyPatchApprovalRequest(
        call_id=call_id, turn_id=scope.turn.turn_id, changes=changes, reason=reason, grant_root=None
    )
    decision = await _answer(request, scope)
    if decision.answer == APPROVED_FOR_SESSION:
        scope.services.approvals.grant(keys)


def _offered(ask: "Ask") -> Iterable[str | dict[str, Any]]:
    yield APPROVED
    if ask.amendment is not None:
        yield Decision(answer=APPROVED, amendment=ask.amendment).to_wire()
    yield ABORT


async def _answer(request: ExecApprovalRequest | ApplyPatchApprovalRequest, scope: ToolScope) -> Decision:
    try:
        decision = Decision.of_wire(await scope.answer_to(request.call_id, lambda: scope.emit(request)))
    except Unanswered:
        raise Declined(aborts=False) from None
    if not decision.approves:
        raise Declined(aborts=decision.answer == ABORT)
    return decision


async def _allow_for_good(words: tuple[str, ...], scope: ToolScope) -> None:
    """The command was approved in any case; that its rule could not be kept does not take that back."""
    from pycodex.supervisor.policy.rule_writer import NotWritten, add_allowed_prefix

    services = scope.services
    try:
        await trio.to_thread.run_sync(lambda: add_allowed_prefix(words, codex_home=services.codex_home))
    except NotWritten as error:
        scope.emit(WarningEvent(message=f"Failed to apply execpolicy amendment: {error}"))
        logger.warning("rule not kept: %s", error)
        return
    services.approvals.amend(words)
    scope.note(f"Approved command prefix saved:\n- {json.dumps(words, ensure_ascii=False)}")
