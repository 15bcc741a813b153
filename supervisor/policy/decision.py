"""Whether a command is run, asked about or refused: the one place where that is decided.

Owns the order of force: what rules say, then what is known of a command (safe, dangerous), then the approval policy.
The strictest word about any part of a command counts for all of it; an allowing rule frees from the sandbox only if
every part has one. Pure: takes values, gives one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pycodex.protocol.turn_context import ApprovalPolicy
from pycodex.supervisor.policy.command_line import Segments
from pycodex.supervisor.policy.rules import ALLOW, FORBIDDEN, PROMPT, RuleMatch, Rules, strictest
from pycodex.supervisor.policy.safe_commands import is_dangerous, is_known_safe
from pycodex.supervisor.text.argv import shown

NEVER, ON_FAILURE, ON_REQUEST, UNTRUSTED = "never", "on-failure", "on-request", "untrusted"


@dataclass(frozen=True, slots=True)
class Run:
    """`freed_by_rules`: outside of the sandbox, because rules of the user's allow every part of it."""

    freed_by_rules: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """`reason` is what the person is told besides the command; None: only what the model says."""

    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Refuse:
    """`text` is for the model."""

    text: str


Verdict = Run | Ask | Refuse


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is to be decided."""

    argv: Sequence[str]
    segments: Segments
    rules: Rules
    policy: ApprovalPolicy
    restricted: bool
    """Whether the turn has a sandbox at all."""
    escalates: bool
    """Whether the model asks to leave it."""


@dataclass(frozen=True, slots=True)
class _Word:
    """What is said about one part of a command: by a rule, or by what is known of it."""

    decision: str
    rule: RuleMatch | None = None


def decide(question: Question) -> Verdict:
    words = [_words_on(segment, question) for segment in question.segments.commands]
    said = [word for of_segment in words for word in of_segment]
    decision = strictest(word.decision for word in said)
    if decision == FORBIDDEN:
        return Refuse(_refusal(said, question.argv))
    if decision == PROMPT:
        return _asked(said, question)
    return Run(freed_by_rules=all(any(word.rule is not None for word in of_segment) for of_segment in words))


def _words_on(segment: Sequence[str], question: Question) -> list[_Word]:
    matches = question.rules.matches(segment, resolve_hosts=True)
    if question.segments.does_more:
        # A rule about a command says nothing of what a script does besides, such as where its output goes.
        matches = [match for match in matches if match.decision != ALLOW]
    return [_Word(match.decision, match) for match in matches] or [_Word(_by_itself(segment, question))]


def _by_itself(segment: Sequence[str], question: Question) -> str:
    policy = question.policy
    wants_out = question.escalates and question.restricted
    if is_known_safe(segment) and not question.segments.is_complex and not wants_out:
        return ALLOW
    if is_dangerous(segment):
        return FORBIDDEN if policy == NEVER else PROMPT
    if policy in (NEVER, ON_FAILURE):
        return ALLOW
    return PROMPT if policy == UNTRUSTED or wants_out else ALLOW


def _refusal(said: Sequence[_Word], argv: Sequence[str]) -> str:
    rule = _telling(said, FORBIDDEN)
    if rule is None:
        return f"`{shown(argv)}` rejected: blocked by policy"
    if rule.justification is not None:
        return f"`{shown(argv)}` rejected: {rule.justification}"
    return f"`{shown(argv)}` rejected: policy forbids commands starting with `{shown(rule.matched_prefix)}`"


def _asked(said: Sequence[_Word], question: Question) -> Verdict:
    rule = _telling(said, PROMPT)
    if question.policy == NEVER:
        return Refuse("approval required by policy, but AskForApproval is set to Never")
    if isinstance(question.policy, dict):
        granted = question.policy["granular"]
        if rule is not None and not granted.get("rules"):
            return Refuse("approval required by policy rule, but AskForApproval::Granular.rules is false")
        if rule is None and not granted.get("sandbox_approval"):
            return Refuse("approval required by policy, but AskForApproval::Granular.sandbox_approval is false")
    if rule is None:
        return Ask()
    if rule.justification is not None:
        return Ask(f"`{shown(question.argv)}` requires approval: {rule.justification}")
    return Ask(f"`{shown(question.argv)}` requires approval by policy")


def _telling(said: Sequence[_Word], decision: str) -> RuleMatch | None:
    """The rule whose words are used: that with the longest prefix, of several the last."""
    rules = [word.rule for word in said if word.rule is not None and word.decision == decision]
    return max(reversed(rules), key=lambda rule: len(rule.matched_prefix), default=None)
