"""What new rules would have made of commands that were run in the past.

Owns the comparison and the figures. Each command is decided twice by the same function that decides in a session, once
with the rules of today and once with the new ones; what differs is counted and kept by how often it occurs. Memory goes
by what differs, not by how much was run. Pure but for the look-up of lines in `report`.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from pycodex.supervisor.policy.decision import Question, examined
from pycodex.supervisor.policy.located_rules import TRIED, LocatedRules, Origin
from pycodex.supervisor.policy.questions import ASKS, OUTCOMES, Terms, outcome_of, question_about, verdict_on
from pycodex.supervisor.policy.rule_pairs import RulePair
from pycodex.supervisor.policy.rules import strictest

MOST_CHANGES_KEPT = 10_000
_MOST_REMEMBERED = 4096
# A script may be of any size; nobody wants to see all of it again.
_LONGEST_WORD = 2000
_MOST_WORDS = 100
_NO_TERMS = Terms("", "", "")


class PastCommand(NamedTuple):
    """A command with the terms of its turn; `verb` is what its tool says one must not do."""

    argv: tuple[str, ...]
    terms: Terms
    asked: str
    prefix_rule: tuple[str, ...]
    verb: str


class Because(NamedTuple):
    """The rule by which an outcome changes: one of the new ones, or one that is gone."""

    rules: LocatedRules
    number: int
    is_gone: bool


class Compared(NamedTuple):
    """`known_as` are the words by which a command is counted, however it was quoted and by whichever shell."""

    known_as: tuple[str, ...]
    before: str
    after: str
    because: Because | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """`command` would have gone another way, so many times."""

    count: int
    command: tuple[str, ...]
    before: str
    after: str
    origin: Origin | None
    is_gone: bool
    """Whether `origin` is a rule that is no longer there."""

    def to_plain(self) -> dict[str, Any]:
        return {
            "count": self.count,
            "command": list(self.command),
            "before": self.before,
            "after": self.after,
            "file": None if self.origin is None else self.origin.path,
            "line": None if self.origin is None else self.origin.line,
            "removed": self.is_gone,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """`before` and `after` count outcomes."""

    commands: int
    distinct: int
    before: Counter[str]
    after: Counter[str]
    prompts_saved: int
    prompts_added: int
    changes: tuple[Change, ...]
    changes_not_kept: int

    def to_plain(self) -> dict[str, Any]:
        return {
            "commands": self.commands,
            "distinct": self.distinct,
            "before": {outcome: self.before[outcome] for outcome in OUTCOMES},
            "after": {outcome: self.after[outcome] for outcome in OUTCOMES},
            "promptsSaved": self.prompts_saved,
            "promptsAdded": self.prompts_added,
            "changes": [change.to_plain() for change in self.changes],
            "changesNotKept": self.changes_not_kept,
        }


@dataclass(slots=True)
class _Group:
    because: Because | None
    count: int = 0


@dataclass(slots=True)
class BackTest:
    commands: int = 0
    before: Counter[str] = field(default_factory=Counter)
    after: Counter[str] = field(default_factory=Counter)
    prompts_saved: int = 0
    prompts_added: int = 0
    changes_not_kept: int = 0
    _distinct: set[int] = field(default_factory=set)
    _groups: dict[tuple[tuple[str, ...], str, str], _Group] = field(default_factory=dict)
    _remembered: dict[object, Compared] = field(default_factory=dict)

    def take(self, command: PastCommand, pair: RulePair) -> None:
        compared = self._compared(command, pair)
        self.commands += 1
        self._distinct.add(hash(compared.known_as))
        self.before[compared.before] += 1
        self.after[compared.after] += 1
        if compared.before == compared.after:
            return
        self.prompts_saved += compared.before == ASKS
        self.prompts_added += compared.after == ASKS
        key = (compared.known_as, compared.before, compared.after)
        if key not in self._groups and len(self._groups) >= MOST_CHANGES_KEPT:
            self.changes_not_kept += 1
            return
        self._groups.setdefault(key, _Group(compared.because)).count += 1

    def report(self) -> Report:
        origins = _origins([group.because for group in self._groups.values() if group.because is not None])
        changes = [
            Change(
                group.count,
                *key,
                None if group.because is None else origins.get((id(group.because.rules), group.because.number)),
                group.because is not None and group.because.is_gone,
            )
            for key, group in self._groups.items()
        ]
        return Report(
            commands=self.commands,
            distinct=len(self._distinct),
            before=self.before,
            after=self.after,
            prompts_saved=self.prompts_saved,
            prompts_added=self.prompts_added,
            changes=tuple(sorted(changes, key=lambda change: (-change.count, change.command))),
            changes_not_kept=self.changes_not_kept,
        )

    def _compared(self, command: PastCommand, pair: RulePair) -> Compared:
        if sum(map(len, command.argv)) > _LONGEST_WORD:
            return compare(command, pair)
        # A policy may be a table, which has no place in a key.
        key = (id(pair), repr(command.terms), command._replace(terms=_NO_TERMS))
        found = self._remembered.get(key)
        if found is None:
            if len(self._remembered) >= _MOST_REMEMBERED:
                self._remembered.clear()
            found = self._remembered[key] = compare(command, pair)
        return found


def compare(command: PastCommand, pair: RulePair) -> Compared:
    """What becomes of the command with the rules of today, and with the new ones."""
    before = _question(command, pair.before)
    after = replace(before, rules=pair.after.rules)
    was, becomes = (outcome_of(verdict_on(each, verb=command.verb), each) for each in (before, after))
    compared = Compared(_known_as(before), was, becomes)
    if was == becomes:
        return compared
    tried = [number for number in _deciding(after) if _level(pair.after, number) == TRIED]
    if tried:
        return compared._replace(because=Because(pair.after, tried[0], is_gone=False))
    gone = _deciding(before)
    return compared._replace(because=Because(pair.before, gone[0], is_gone=True)) if gone else compared


def _question(command: PastCommand, located: LocatedRules) -> Question:
    return question_about(
        command.argv,
        rules=located.rules,
        terms=command.terms,
        asked=command.asked,
        prefix_rule=command.prefix_rule,
    )


def _deciding(question: Question) -> list[int]:
    """The rules that are as strict as the whole."""
    words = [word for part in examined(question) for word in part.words]
    decision = strictest(word.decision for word in words)
    return [word.rule_number for word in words if word.rule_number is not None and word.decision == decision]


def _level(located: LocatedRules, number: int) -> str | None:
    return located.levels[located.calls[number][0]] if number < len(located.calls) else None


def _known_as(question: Question) -> tuple[str, ...]:
    commands = question.segments.commands
    is_one = len(commands) == 1 and not question.segments.is_complex
    words = commands[0] if is_one else question.argv
    return tuple(word[:_LONGEST_WORD] for word in words[:_MOST_WORDS])


def _origins(reasons: Sequence[Because]) -> dict[tuple[int, int], Origin]:
    """By the identity of the rules and the number in them."""
    wanted: dict[int, tuple[LocatedRules, set[int]]] = {}
    for reason in reasons:
        wanted.setdefault(id(reason.rules), (reason.rules, set()))[1].add(reason.number)
    return {
        (key, number): origin
        for key, (rules, numbers) in wanted.items()
        for number, origin in rules.origins(numbers).items()
    }
