"""Running a command of the model's under the conditions that policy sets: decide, ask, confine, run, judge, retry.

Owns that order, for all tools that run commands: nothing else asks about one, and nothing else runs one outside of the
sandbox. What running means is up to the tool. It brings an attempt, which is made once, or twice if the sandbox stopped
the first one and policy and person allow another without it. The decision itself is in `policy/decision`.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

import trio

from pycodex.protocol.confinement import Confinement
from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.permissions import widened
from pycodex.supervisor.policy import escalation
from pycodex.supervisor.tools.confine import confinement
from pycodex.supervisor.tools.tool import ToolScope

if TYPE_CHECKING:
    from pycodex.supervisor.policy.decision import Ask, Run, Verdict

LONG_SCRIPT_CHARS = 8192

Result = TypeVar("Result")


class NotCleared(ModelFacing):
    """Policy does not let the command be run; the text says why. Nobody was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What a call wants to be run, and on what terms."""

    argv: tuple[str, ...]
    cwd: str
    call_id: str
    family: str
    """What the person allows for the session, they allow to this family of tools."""
    tty: bool = False
    asked: str = escalation.USE_DEFAULT
    """Its `sandbox_permissions`."""
    extra: escalation.Extra | None = None
    """What is asked for inside the sandbox."""
    justification: str | None = None
    prefix_rule: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Attempt(Generic[Result]):
    """How a tool runs a command.

    `run` takes what the command may touch, and whether another attempt may follow; `was_denied` judges what came of it.
    """

    run: Callable[[Confinement, bool], Awaitable[Result]]
    was_denied: Callable[[Result], bool]


async def orchestrated(command: Command, scope: ToolScope, attempt: Attempt[Result]) -> Result:
    """What came of the last attempt. Raises NotCleared, Declined, and whatever an attempt raises."""
    from pycodex.supervisor.policy.decision import APPROVED_BY_USER

    allowed = await _allowed(command, scope)
    confined = await _confinement(command, scope, allowed)
    may_retry = allowed.retries and not confined.unconfined_because
    result = await attempt.run(confined, may_retry)
    if not may_retry or not attempt.was_denied(result):
        return result
    if allowed.ask_first is not None:
        await _asked(allowed.ask_first, command, scope)
    return await attempt.run(_unconfined(APPROVED_BY_USER, scope), False)


async def _allowed(command: Command, scope: ToolScope) -> "Run":
    # The grammar of shells is loaded with them, beside the first request.
    from pycodex.supervisor.policy.decision import Refuse, Run

    verdict = await _verdict(command, scope)
    if isinstance(verdict, Refuse):
        raise NotCleared(verdict.text)
    if isinstance(verdict, Run):
        return verdict
    # What cannot be confined need not be asked about.
    await _confinement(command, scope, verdict.then)
    return await _asked(replace(verdict, reason=_reason(verdict, command)), command, scope)


def _reason(ask: "Ask", command: Command) -> str | None:
    """Why it is asked about, and what a yes would mean. What the model says stands in only where nothing else does."""
    from pycodex.supervisor.policy.decision import LEAVES_REASON
    from pycodex.supervisor.text.visible import visible

    said = visible(command.justification) if command.justification and not ask.reason else None
    parts = [
        ask.reason,
        LEAVES_REASON if ask.then.unconfined_because and not said else None,
        f"Also allow {command.extra.told()}?" if command.extra is not None else None,
        said,
    ]
    return " ".join(filter(None, parts)) or None


async def _verdict(command: Command, scope: ToolScope) -> "Verdict":
    """Reading a long script takes its time, and other sessions have work to do."""
    if sum(map(len, command.argv)) <= LONG_SCRIPT_CHARS:
        return _decided(command, scope)
    return await trio.to_thread.run_sync(_decided, command, scope)


def _decided(command: Command, scope: ToolScope) -> "Verdict":
    from pycodex.supervisor.policy.decision import decide
    from pycodex.supervisor.policy.questions import Terms, question_about

    turn, approvals = scope.turn, scope.services.approvals
    question = question_about(
        command.argv,
        rules=approvals.rules,
        terms=Terms(turn.approval_policy, turn.permissions.mode, turn.shell.path),
        asked=command.asked,
        prefix_rule=command.prefix_rule,
    )
    return decide(replace(question, key=_key(command), granted=approvals))


async def _asked(ask: "Ask", command: Command, scope: ToolScope) -> "Run":
    from pycodex.supervisor.tools.asking import ask_about_command

    await ask_about_command(
        ask,
        command.argv,
        cwd=command.cwd,
        call_id=command.call_id,
        scope=scope,
        additional_permissions=None if command.extra is None else command.extra.to_wire(),
    )
    return ask.then


def _key(command: Command) -> object:
    from pycodex.supervisor.policy.approvals import command_key

    return command_key(command.argv, command.family, command.cwd, command.asked, command.extra, command.tty)


async def _confinement(command: Command, scope: ToolScope, allowed: "Run") -> Confinement:
    if allowed.unconfined_because:
        return _unconfined(allowed.unconfined_because, scope)
    turn, services = scope.turn, scope.services
    if command.extra is not None:
        turn = replace(turn, permissions=widened(turn.permissions, **command.extra._asdict()))
    pool = await services.pool.ready()
    return confinement(turn, services, runtime_dir=pool.runtime_dir)


def _unconfined(because: str, scope: ToolScope) -> Confinement:
    return Confinement(unconfined_because=because, limits=scope.services.limits)
