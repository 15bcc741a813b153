"""Under which conditions a command of the model's is run: what policy decides, for the tools that run commands.

Owns the way from a call to the decision and back: how far the command may reach, or why it is not run at all. The
decision itself is in `policy/decision`.
"""

from collections.abc import Sequence

from pycodex.protocol.confinement import Confinement
from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.permissions import DANGER_FULL_ACCESS, EXTERNAL_SANDBOX
from pycodex.supervisor.tools import escalation
from pycodex.supervisor.tools.confine import confinement
from pycodex.supervisor.tools.tool import ToolScope

ALLOWED_BY_RULES = "rules of the user allow every part of it"


class NotCleared(ModelFacing):
    """The command is not run; the text says why."""


class NobodyToAsk(NotCleared):
    """A person would have to allow it."""


async def cleared(argv: Sequence[str], scope: ToolScope, *, asked: str) -> Confinement:
    """What the command may touch. `asked` are its `sandbox_permissions`. Raises NotCleared."""
    # The grammar of shells is loaded with them, beside the first request.
    from pycodex.supervisor.policy.command_line import segments_of
    from pycodex.supervisor.policy.decision import Ask, Question, Refuse, decide

    turn, services = scope.turn, scope.services
    verdict = decide(
        Question(
            argv=argv,
            segments=segments_of(argv),
            rules=services.rules,
            policy=turn.approval_policy,
            restricted=turn.permissions.mode not in (DANGER_FULL_ACCESS, EXTERNAL_SANDBOX),
            escalates=asked != escalation.USE_DEFAULT,
        )
    )
    if isinstance(verdict, Refuse):
        raise NotCleared(verdict.text)
    if isinstance(verdict, Ask):
        raise NobodyToAsk("it needs an approval, and nobody can be asked for one here")
    if verdict.freed_by_rules:
        return Confinement(unconfined_because=ALLOWED_BY_RULES, limits=services.limits)
    pool = await services.pool.ready()
    return confinement(turn, services, runtime_dir=pool.runtime_dir)
