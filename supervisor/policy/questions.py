"""The question whether a command may be run, from the terms of a turn; and the answer with all that comes before it.

Owns what of a turn's terms counts for the decision, so that whoever runs a command and whoever only wants to know ask
the same question. The answer itself is in `decision`. Pure.
"""

import sys
from collections.abc import Sequence
from typing import NamedTuple

from pycodex.protocol.permissions import DANGER_FULL_ACCESS, EXTERNAL_SANDBOX, READ_ONLY
from pycodex.protocol.turn_context import ApprovalPolicy
from pycodex.supervisor.policy import escalation
from pycodex.supervisor.policy.command_line import segments_of
from pycodex.supervisor.policy.decision import Question, Refuse, Run, Verdict, decide
from pycodex.supervisor.policy.rules import Rules

# What can become of a command.
IN_SANDBOX, OUTSIDE, NO_SANDBOX, ASKS, REFUSED = "in-sandbox", "outside", "no-sandbox", "asks", "refused"
OUTCOMES = (IN_SANDBOX, OUTSIDE, NO_SANDBOX, ASKS, REFUSED)


class Terms(NamedTuple):
    """What of a turn counts: the approval policy, the mode of the sandbox, and the person's shell by its path."""

    policy: ApprovalPolicy
    mode: str
    shell: str


def question_about(
    argv: Sequence[str],
    *,
    rules: Rules,
    terms: Terms,
    asked: str = escalation.USE_DEFAULT,
    prefix_rule: Sequence[str] = (),
) -> Question:
    """As if nothing was allowed for the session yet."""
    return Question(
        argv=argv,
        segments=segments_of(argv),
        rules=rules,
        policy=terms.policy,
        shell=terms.shell,
        restricted=terms.mode not in (DANGER_FULL_ACCESS, EXTERNAL_SANDBOX),
        unprotected=sys.platform == "win32" and terms.mode == READ_ONLY,
        asked=asked,
        prefix_rule=prefix_rule,
    )


def verdict_on(question: Question, *, verb: str = "cannot") -> Verdict:
    """What a model comes to hear that asks this, be it that it must not ask. `verb` is the tool's."""
    if question.asked != escalation.USE_DEFAULT:
        refused = escalation.refusal(question.policy, verb=verb)
        if refused is not None:
            return Refuse(refused)
    return decide(question)


def outcome_of(verdict: Verdict, question: Question) -> str:
    """In one word, one of OUTCOMES."""
    if isinstance(verdict, Refuse):
        return REFUSED
    if not isinstance(verdict, Run):
        return ASKS
    if not question.restricted:
        return NO_SANDBOX
    return OUTSIDE if verdict.unconfined_because else IN_SANDBOX
