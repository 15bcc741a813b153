"""Reviews: what is to be looked at, and what a reviewer reports.

Owns both values, how they are written in session files, and how a report reads. A report comes from a model: whatever
it says becomes a report, in the worst case one that is nothing but an explanation.
"""

from pycodex.protocol.errors import UserFacing
from pycodex.protocol.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, NoReturn

MAX_REPORT_CHARS = 1 << 20
"""Of what a reviewer says; the rest is left out."""
NO_REPORT = "Reviewer failed to output a response."
INTERRUPTED_REPORT = "Review was interrupted. Please re-run /review and wait for it to complete."
_SHOWN_SHA_CHARS = 7
_MAX_PRIORITY = (1 << 31) - 1
_MAX_LINE = (1 << 32) - 1
# As much as others read into 32 bits.
_MAX_SCORE = 3.4e38


class EmptyTarget(UserFacing):
    """It names nothing that could be looked at."""


class _Target(Record):
    _tag: "ClassVar[str]" = ""

    def to_wire(self) -> "dict[str, Any]":
        return {"type": self._tag, **self.to_plain()}


class UncommittedChanges(_Target):
    """Staged, unstaged and untracked."""

    _tag = "uncommittedChanges"


class BaseBranch(_Target):
    """What would be merged into the branch."""

    _tag = "baseBranch"

    branch: "str"


class Commit(_Target):
    _tag = "commit"

    sha: "str"
    title: "str | None" = None


class Custom(_Target):
    """Whatever the person says."""

    _tag = "custom"

    instructions: "str"


ReviewTarget = UncommittedChanges | BaseBranch | Commit | Custom


def checked(target: ReviewTarget) -> ReviewTarget:
    """Without space around the words. Raises EmptyTarget."""
    if isinstance(target, BaseBranch):
        return BaseBranch(branch=_word(target.branch, "branch"))
    if isinstance(target, Commit):
        return Commit(sha=_word(target.sha, "sha"), title=(target.title or "").strip() or None)
    if isinstance(target, Custom):
        return Custom(instructions=_word(target.instructions, "instructions"))
    return target


def _word(text: str, name: str) -> str:
    if not text.strip():
        raise EmptyTarget(f"{name} must not be empty")
    return text.strip()


def hint(target: ReviewTarget) -> str:
    """The target in a few words, for people."""
    if isinstance(target, BaseBranch):
        return f"changes against '{target.branch}'"
    if isinstance(target, Commit):
        shown = f"commit {target.sha[:_SHOWN_SHA_CHARS]}"
        return shown if target.title is None else f"{shown}: {target.title}"
    if isinstance(target, Custom):
        return target.instructions
    return "current changes"


class ReviewFinding(Record):
    """`start` and `end` are lines of the file, both included."""

    title: "str"
    body: "str"
    confidence_score: "float"
    priority: "int"
    path: "str"
    start: "int"
    end: "int"

    def to_wire(self) -> "dict[str, Any]":
        return {
            "title": self.title,
            "body": self.body,
            "confidence_score": self.confidence_score,
            "priority": self.priority,
            "code_location": {
                "absolute_file_path": self.path,
                "line_range": {"start": self.start, "end": self.end},
            },
        }


class ReviewReport(Record):
    findings: "tuple[ReviewFinding, ...]" = ()
    overall_correctness: "str" = ""
    overall_explanation: "str" = ""
    overall_confidence_score: "float" = 0.0

    def to_wire(self) -> "dict[str, Any]":
        return {**self.to_plain(), "findings": [finding.to_wire() for finding in self.findings]}


def report_of(text: str) -> ReviewReport:
    """What a reviewer has said: a JSON object, one with other words around it, or plain words."""
    if len(text) > MAX_REPORT_CHARS:
        return ReviewReport(overall_explanation=text[:MAX_REPORT_CHARS])
    inner = text[text.find("{") : text.rfind("}") + 1]
    for candidate in (text, inner):
        found = _decoded(candidate)
        if found is not None:
            return found
    return ReviewReport(overall_explanation=text)


def _decoded(text: str) -> ReviewReport | None:
    import json

    try:
        return stored_report(json.loads(text, parse_constant=_no_number))
    except (ValueError, RecursionError):
        return None


def _no_number(name: str) -> "NoReturn":
    raise ValueError(f"{name} is no number of JSON")


def stored_report(stored: object) -> ReviewReport | None:
    """From a session file, or as a reviewer writes it; None unless it is a whole report."""
    try:
        return ReviewReport(
            findings=tuple(_finding(each) for each in _field(stored, "findings", list)),
            overall_correctness=_text(stored, "overall_correctness"),
            overall_explanation=_text(stored, "overall_explanation"),
            overall_confidence_score=_score(stored, "overall_confidence_score"),
        )
    except ValueError:
        return None


def _finding(stored: object) -> ReviewFinding:
    location = _field(stored, "code_location", dict)
    lines = _field(location, "line_range", dict)
    return ReviewFinding(
        title=_text(stored, "title"),
        body=_text(stored, "body"),
        confidence_score=_score(stored, "confidence_score"),
        priority=_number(stored, "priority", -_MAX_PRIORITY - 1, _MAX_PRIORITY),
        path=_text(location, "absolute_file_path"),
        start=_number(lines, "start", 0, _MAX_LINE),
        end=_number(lines, "end", 0, _MAX_LINE),
    )


def _field(stored: object, name: str, *kinds: type) -> "Any":
    value = stored.get(name) if type(stored) is dict else None
    if type(value) not in kinds:
        raise ValueError(f"{name} is missing, or no {kinds[0].__name__}")
    return value


def _text(stored: object, name: str) -> str:
    value: str = _field(stored, name, str)
    # Half a character of two cannot be written anywhere: raises a ValueError.
    value.encode()
    return value


def _score(stored: object, name: str) -> float:
    value: float = _field(stored, name, float, int)
    # Among others, what is no number and what JSON cannot write.
    if not -_MAX_SCORE <= value <= _MAX_SCORE:
        raise ValueError(f"{name} is out of range")
    return float(value)


def _number(stored: object, name: str, least: int, most: int) -> int:
    value: int = _field(stored, name, int)
    if not least <= value <= most:
        raise ValueError(f"{name} is out of range")
    return value


def rendered(report: ReviewReport | None) -> str:
    """As people read it; None: there is no report."""
    if report is None:
        return NO_REPORT
    sections = [report.overall_explanation.strip(), _comments(report.findings)]
    return "\n\n".join(filter(None, sections)) or NO_REPORT


def _comments(findings: tuple[ReviewFinding, ...]) -> str:
    if not findings:
        return ""
    heading = "Full review comments:" if len(findings) > 1 else "Review comment:"
    return "\n\n".join((heading, *map(_comment, findings)))


def _comment(finding: ReviewFinding) -> str:
    head = f"- {finding.title} — {finding.path}:{finding.start}-{finding.end}"
    lines = finding.body.replace("\r\n", "\n").removesuffix("\n").split("\n") if finding.body else ()
    return "\n".join((head, *(f"  {line}" for line in lines)))
