"""The words and the layout of `pycodex policy test`.

Owns both. Takes a report, gives lines; decides nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pycodex.supervisor.cli.policy_explain_text import OUTCOMES, one_line
from pycodex.supervisor.cli.terminal import Palette, printable
from pycodex.supervisor.policy.back_test import Change, Report
from pycodex.supervisor.policy.command_line import script_of
from pycodex.supervisor.policy.questions import ASKS, IN_SANDBOX, NO_SANDBOX, OUTSIDE, REFUSED
from pycodex.supervisor.text.argv import shown

_LABELS = {
    ASKS: "asks the person",
    REFUSED: "refused",
    OUTSIDE: "runs outside the sandbox",
    IN_SANDBOX: "runs in the sandbox",
    NO_SANDBOX: "runs; no sandbox",
}
_MOST_SHOWN = 50
_LONGEST_COMMAND = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    report: Report
    sessions: int
    left_out: int
    since: str
    codex_home: str


def tested_lines(tested: Tested, palette: Palette) -> Iterator[str]:
    report = tested.report
    if not report.commands:
        home = printable(tested.codex_home)
        yield f"No commands to try the rules on: no session since {tested.since} in {home} ran one."
        yield from _left_out(tested)
        return
    distinct = f"{report.distinct} different" if report.distinct < report.commands else "all different"
    yield (
        f"{_counted(tested.sessions, 'session')} since {tested.since}: "
        f"{_counted(report.commands, 'command')}, {distinct}"
    )
    yield from _left_out(tested)
    yield ""
    yield from _figures(report, palette)
    yield ""
    if not report.changes:
        yield "Nothing would change."
        return
    yield from _changes(report, palette)


def _left_out(tested: Tested) -> Iterator[str]:
    if tested.left_out:
        left_out = _counted(tested.left_out, "command")
        yield f"{left_out} left out: the terms of their turns, or the rules there, are unknown"


def _figures(report: Report, palette: Palette) -> Iterator[str]:
    width = max(map(len, _LABELS.values()))
    yield palette.strong(f"{'':{width}}  before   after")
    for outcome, label in _LABELS.items():
        before, after = report.before[outcome], report.after[outcome]
        if before or after:
            yield f"{label:{width}}  {before:6}  {after:6}{_difference(outcome, report)}"


def _difference(outcome: str, report: Report) -> str:
    if outcome == ASKS:
        told = [(report.prompts_saved, "saved"), (report.prompts_added, "added")]
    else:
        change = report.after[outcome] - report.before[outcome]
        told = [(change, "more"), (-change, "fewer")]
    texts = [f"{count} {word}" for count, word in told if count > 0]
    return f"   {', '.join(texts)}" if texts else ""


def _changes(report: Report, palette: Palette) -> Iterator[str]:
    shown_changes = report.changes[:_MOST_SHOWN]
    commands = [_command(change) for change in shown_changes]
    steps = [(_step(change)) for change in shown_changes]
    counts = [str(change.count) for change in shown_changes]
    count_width, command_width, step_width = (max(map(len, column)) for column in (counts, commands, steps))
    for change, count, command, step in zip(shown_changes, counts, commands, steps, strict=True):
        paint = {ASKS: palette.doubtful, REFUSED: palette.bad}.get(change.after, palette.good)
        place = palette.faint(_place(change))
        yield f"{count:>{count_width}} x  {command:{command_width}}  {paint(step.ljust(step_width))}  {place}".rstrip()
    more = len(report.changes) - len(shown_changes)
    if more or report.changes_not_kept:
        yield f"and {more + report.changes_not_kept} more; --json shows {_counted(len(report.changes), 'change')}"


def _command(change: Change) -> str:
    """A script as it was written, another command as a shell would take it."""
    script = script_of(change.command)
    text = one_line(script if script is not None else shown(change.command))
    return text if len(text) <= _LONGEST_COMMAND else f"{text[: _LONGEST_COMMAND - 3]}..."


def _step(change: Change) -> str:
    return f"{_short(change.before)} -> {_short(change.after)}"


def _short(outcome: str) -> str:
    return "asks" if outcome == ASKS else OUTCOMES[outcome].removeprefix("is ")


def _place(change: Change) -> str:
    if change.origin is None:
        return ""
    return f"{'without ' if change.is_gone else ''}{printable(change.origin.place)}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
