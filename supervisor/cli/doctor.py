"""`pycodex doctor`: what this machine can enforce, what is missing, and how to get it.

Owns the report's two forms, text and JSON, and the verdict. The checks themselves are in `doctor_checks`.
"""

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from pycodex.sandbox.diagnosis import FAIL, OK, WARNING
from pycodex.supervisor.cli.doctor_checks import Check, checks
from pycodex.supervisor.cli.options import GLOBAL_FLAGS, Flag, overrides_of, scan_flags_only
from pycodex.supervisor.cli.terminal import Palette, prefers_ascii, prefers_colour, say
from pycodex.supervisor.version import VERSION

_JSON = Flag("--json")
_ALL = Flag("--all")
_NO_COLOUR = Flag("--no-color")
_ASCII = Flag("--ascii")

HELP = """\
Check what this machine can enforce, and say how to get more

Usage: pycodex doctor [OPTIONS]

Options:
      --json      Print the report as JSON
      --all       Also show the details of each check
      --no-color  Use no colours (they are also off without a terminal, and with NO_COLOR)
      --ascii     Use only ASCII characters
  -h, --help      Show this text

Exit code: 0 if commands can be run in a sandbox here, 1 if something must be mended first."""

_MARKS = {OK: ("\u2713", "ok"), WARNING: ("!", "!!"), FAIL: ("\u2717", "XX")}
_VERDICTS = {
    OK: "Everything works.",
    WARNING: "Usable, with the limits marked above.",
    FAIL: "Not usable yet: see the lines marked above.",
}


def run(argv: list[str], overrides: list[str]) -> int:
    """The subcommand after its own word. Returns the exit code."""
    flags = (*GLOBAL_FLAGS, _JSON, _ALL, _NO_COLOUR, _ASCII)
    scanned = scan_flags_only(argv, flags, usage="pycodex doctor [OPTIONS]")
    if scanned.wants_help:
        say(HELP)
        return 0
    env = dict(os.environ)
    done = list(checks(env, [*overrides, *overrides_of(scanned)]))
    overall = worst([check.finding.status for check in done])
    if scanned.has(_JSON.key):
        say(json.dumps(report(done, overall), indent=2, ensure_ascii=False))
    else:
        palette = Palette(colour=prefers_colour(env) and not scanned.has(_NO_COLOUR.key))
        ascii_only = scanned.has(_ASCII.key) or prefers_ascii()
        say(text(done, overall, palette, ascii_only=ascii_only, details=scanned.has(_ALL.key)))
    return 1 if overall == FAIL else 0


def worst(statuses: Sequence[str]) -> str:
    return next((status for status in (FAIL, WARNING) if status in statuses), OK)


def report(done: Sequence[Check], overall: str) -> dict[str, Any]:
    return {
        "schemaVersion": 1,
        "generatedAt": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "overallStatus": overall,
        "codexVersion": VERSION,
        "checks": {
            check.finding.id: {
                "id": check.finding.id,
                "category": check.category,
                "status": check.finding.status,
                "summary": check.finding.summary,
                "details": check.finding.details,
                "remediation": check.finding.remedy or None,
                "durationMs": check.duration_ms,
            }
            for check in done
        },
    }


def text(done: Sequence[Check], overall: str, palette: Palette, *, ascii_only: bool, details: bool) -> str:
    width = max(len(_name(check)) for check in done)
    lines = [palette.strong(f"pycodex {VERSION}")]
    for category in dict.fromkeys(check.category for check in done):
        lines += ["", palette.strong(category)]
        for check in done:
            if check.category == category:
                lines += _lines(check, palette, width, ascii_only=ascii_only, details=details)
    style = {OK: palette.good, WARNING: palette.doubtful, FAIL: palette.bad}[overall]
    return "\n".join([*lines, "", style(_VERDICTS[overall])])


def _name(check: Check) -> str:
    return check.finding.id.partition(".")[2]


def _lines(check: Check, palette: Palette, width: int, *, ascii_only: bool, details: bool) -> list[str]:
    finding = check.finding
    style = {OK: palette.good, WARNING: palette.doubtful, FAIL: palette.bad}[finding.status]
    mark = _MARKS[finding.status][1 if ascii_only else 0]
    lines = [f"  {style(mark)} {_name(check).ljust(width)}  {finding.summary}"]
    indent = " " * (width + len(mark) + 5)
    if finding.remedy and (finding.status != OK or details):
        lines.append(f"{indent}{palette.faint('to mend it: ' if finding.status != OK else '')}{finding.remedy}")
    if details:
        lines += [f"{indent}{palette.faint(f'{name}: {value}')}" for name, value in finding.details.items() if value]
    return lines
