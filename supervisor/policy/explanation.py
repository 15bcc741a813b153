"""Why a command is run, asked about or refused: the decision taken apart for a person to read.

Owns what is told of it and its form for machines. Decides nothing: verdict and parts are those of `decision`, from the
very question that a session would ask. Takes the question and where rules stand, gives values; starts nothing but the
search for the lines of the rules that it names.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pycodex.supervisor.policy.command_line import Segments, script_of
from pycodex.supervisor.policy.decision import (
    BY_RULE,
    Ask,
    Question,
    Refuse,
    Run,
    Verdict,
    Word,
    examined,
)
from pycodex.supervisor.policy.located_rules import LocatedRules, Origin
from pycodex.supervisor.policy.questions import outcome_of, verdict_on
from pycodex.supervisor.policy.rules import RuleMatch, strictest

# What a command is made of.
NO_SCRIPT, PLAIN, FED, OPAQUE = "no-script", "plain", "fed", "opaque"
# What follows when the sandbox stops it.
FAILS, ASKS_AGAIN, REPEATS = "fails", "asks", "repeats"
# Why an allowing rule does not count.
DOES_MORE, STRANGE_SHELL, NAMESAKE = "does-more", "strange-shell", "namesake"


@dataclass(frozen=True, slots=True)
class Said:
    """One word about one part. `decides`: it is as strict as the verdict on the whole."""

    word: Word
    decides: bool
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A rule that would allow the part, and why it does not count."""

    rule: RuleMatch
    why: str
    origin: Origin | None


@dataclass(frozen=True, slots=True)
class ExplainedPart:
    command: tuple[str, ...]
    said: tuple[Said, ...]
    passed_over: tuple[PassedOver, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    question: Question
    parts: tuple[ExplainedPart, ...]
    verdict: Verdict

    @property
    def outcome(self) -> str:
        return outcome_of(self.verdict, self.question)

    @property
    def form(self) -> str:
        return _form(self.question.argv, self.question.segments)

    @property
    def run(self) -> Run | None:
        """How it runs in the end, if it does and the person says yes."""
        if isinstance(self.verdict, Refuse):
            return None
        return self.verdict.then if isinstance(self.verdict, Ask) else self.verdict

    @property
    def on_denial(self) -> str | None:
        """What follows when the sandbox stops it; None: there is none around it."""
        run = self.run
        if run is None or run.unconfined_because or not self.question.restricted:
            return None
        if not run.retries:
            return FAILS
        return REPEATS if run.ask_first is None else ASKS_AGAIN

    def to_plain(self) -> dict[str, Any]:
        """For machines. Keys stay; new ones may come."""
        question, verdict = self.question, self.verdict
        ask = verdict if isinstance(verdict, Ask) else None
        return {
            "command": list(question.argv),
            "approvalPolicy": question.policy,
            "sandboxPermissions": question.asked,
            "script": self.form,
            "segments": [_part_as_plain(part) for part in self.parts],
            "outcome": self.outcome,
            "refusal": verdict.text if isinstance(verdict, Refuse) else None,
            "ask": None if ask is None else _ask_as_plain(ask),
            "unconfinedBecause": (self.run.unconfined_because or None) if self.run is not None else None,
            "onDenial": self.on_denial,
            "retryAsk": _ask_as_plain(again) if (again := self.asked_again) is not None else None,
        }

    @property
    def asked_again(self) -> Ask | None:
        """The question after a denial."""
        return self.run.ask_first if self.run is not None and self.on_denial == ASKS_AGAIN else None


def explain(question: Question, located: LocatedRules) -> Explanation:
    """`located` are the question's own rules."""
    parts = examined(question)
    verdict = verdict_on(question)
    decision = strictest(word.decision for part in parts for word in part.words)
    passed = [list(_passed_over(part.command, part.words, question)) for part in parts]
    numbers = [word.rule_number for part in parts for word in part.words if word.rule_number is not None]
    numbers += [number for several in passed for number, _, _ in several]
    origins = located.origins(numbers)
    return Explanation(
        question,
        tuple(
            ExplainedPart(
                part.command,
                tuple(Said(word, word.decision == decision, _origin(word, origins)) for word in part.words),
                tuple(PassedOver(match, why, origins.get(number)) for number, match, why in several),
            )
            for part, several in zip(parts, passed, strict=True)
        ),
        verdict,
    )


def _origin(word: Word, origins: dict[int, Origin]) -> Origin | None:
    return None if word.rule_number is None else origins.get(word.rule_number)


def _passed_over(
    command: tuple[str, ...], words: tuple[Word, ...], question: Question
) -> Iterator[tuple[int, RuleMatch, str]]:
    counted = {word.rule_number for word in words}
    for number, match in question.rules.numbered_matches(command, resolve_hosts=True):
        if number not in counted:
            yield number, match, _why_not(match, question)


def _why_not(match: RuleMatch, question: Question) -> str:
    if question.segments.does_more:
        return DOES_MORE
    return NAMESAKE if question.rules.is_namesake(match) else STRANGE_SHELL


def _form(argv: Sequence[str], segments: Segments) -> str:
    if script_of(argv) is None:
        return NO_SCRIPT
    if segments.is_complex:
        return FED
    return OPAQUE if segments.commands == (tuple(argv),) else PLAIN


def _part_as_plain(part: ExplainedPart) -> dict[str, Any]:
    return {
        "command": list(part.command),
        "words": [_said_as_plain(said) for said in part.said],
        "passedOver": [{"why": each.why, "rule": _rule_as_plain(each.rule, each.origin)} for each in part.passed_over],
    }


def _said_as_plain(said: Said) -> dict[str, Any]:
    plain: dict[str, Any] = {"decision": said.word.decision, "by": said.word.ground, "decides": said.decides}
    if said.word.ground == BY_RULE and said.word.rule is not None:
        plain["rule"] = _rule_as_plain(said.word.rule, said.origin)
    return plain


def _rule_as_plain(rule: RuleMatch, origin: Origin | None) -> dict[str, Any]:
    return {
        "matchedPrefix": list(rule.matched_prefix),
        "resolvedProgram": rule.resolved_program,
        "justification": rule.justification,
        "file": None if origin is None else origin.path,
        "line": None if origin is None else origin.line,
        "level": None if origin is None else origin.level,
    }


def _ask_as_plain(ask: Ask) -> dict[str, Any]:
    return {"reason": ask.reason, "amendment": None if ask.amendment is None else list(ask.amendment)}
