"""What reviewers say becomes a report, whatever it is."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.protocol.review import (
    MAX_REPORT_CHARS,
    NO_REPORT,
    BaseBranch,
    Commit,
    Custom,
    EmptyTarget,
    ReviewReport,
    ReviewTarget,
    UncommittedChanges,
    checked,
    hint,
    rendered,
    report_of,
    stored_report,
)
from support.reviews import RENDERED, REPORT, finding, report

WIRE = {
    "uncommitted": (UncommittedChanges(), {"type": "uncommittedChanges"}),
    "base": (BaseBranch(branch="main"), {"type": "baseBranch", "branch": "main"}),
    "commit": (Commit(sha="abc"), {"type": "commit", "sha": "abc", "title": None}),
    "custom": (Custom(instructions="look"), {"type": "custom", "instructions": "look"}),
}


@pytest.mark.parametrize(("target", "wire"), WIRE.values(), ids=WIRE)
def test_targets_are_written_as_session_files_have_them(target: ReviewTarget, wire: dict[str, Any]) -> None:
    assert target.to_wire() == wire


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        (UncommittedChanges(), "current changes"),
        (BaseBranch(branch="main"), "changes against 'main'"),
        (Commit(sha="1234567deadbeef", title="Polish"), "commit 1234567: Polish"),
        (Commit(sha="123"), "commit 123"),
        (Custom(instructions="look at the plums"), "look at the plums"),
    ],
)
def test_hint_is_the_target_in_a_few_words(target: ReviewTarget, shown: str) -> None:
    assert hint(target) == shown


@pytest.mark.parametrize(
    ("target", "trimmed"),
    [
        (BaseBranch(branch=" main\n"), BaseBranch(branch="main")),
        (Commit(sha=" abc ", title=" T "), Commit(sha="abc", title="T")),
        (Commit(sha="abc", title="  "), Commit(sha="abc")),
        (Custom(instructions="\tlook "), Custom(instructions="look")),
        (UncommittedChanges(), UncommittedChanges()),
    ],
)
def test_space_around_words_does_not_count(target: ReviewTarget, trimmed: ReviewTarget) -> None:
    assert checked(target) == trimmed


@pytest.mark.parametrize(
    ("target", "name"),
    [(BaseBranch(branch=" "), "branch"), (Commit(sha=""), "sha"), (Custom(instructions=" \n"), "instructions")],
)
def test_empty_target_is_refused(target: ReviewTarget, name: str) -> None:
    with pytest.raises(EmptyTarget, match=f"^{name} must not be empty$"):
        checked(target)


@pytest.mark.parametrize("text", [REPORT, f"Here it is:\n```json\n{REPORT}\n```", f" {REPORT}\n"])
def test_report_is_found_among_other_words(text: str) -> None:
    found = report_of(text)
    assert found.to_wire() == report(finding())
    assert rendered(found) == RENDERED
    assert stored_report(found.to_wire()) == found


def without(whole: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in whole.items() if key != name}


def location(start: Any = 1, end: Any = 2, path: Any = "/a") -> dict[str, Any]:
    return {"absolute_file_path": path, "line_range": {"start": start, "end": end}}


WRONG: list[Any] = [
    *(report(without(finding(), name)) for name in finding()),
    *(without(report(), name) for name in report()),
    report(finding(title=None)),
    report(finding(priority="1")),
    report(finding(priority=1.0)),
    report(finding(priority=True)),
    report(finding(priority=1 << 40)),
    report(finding(confidence_score="sure")),
    report(finding(confidence_score=10**400)),
    report(finding(code_location=location(start=-1))),
    report(finding(code_location=location(end=1 << 33))),
    report(finding(code_location=location(path=3))),
    report(finding(code_location=[])),
    report(finding(title="half \ud800")),
    report(overall_confidence_score=float("nan")),
    report(findings={}),
    report("no finding"),  # type: ignore[arg-type]
    [],
    "text",
    None,
]


TOO_SURE = [REPORT.replace("0.8", score) for score in ("1e400", "-1e400", "1e39")]


@pytest.mark.parametrize("said", [*map(json.dumps, WRONG), *TOO_SURE])
def test_what_is_no_whole_report_is_an_explanation(said: str) -> None:
    assert report_of(said) == ReviewReport(overall_explanation=said)


@pytest.mark.parametrize("said", ["All good here.", "{", "}{", "[" * 100_000, '{"findings": ' + "[" * 100_000 + "}"])
def test_plain_words_are_an_explanation(said: str) -> None:
    assert report_of(said) == ReviewReport(overall_explanation=said)
    assert rendered(report_of(said)) == said


def test_report_is_bounded() -> None:
    said = REPORT + "x" * MAX_REPORT_CHARS
    assert report_of(said) == ReviewReport(overall_explanation=said[:MAX_REPORT_CHARS])


@given(st.text() | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(json.dumps))
def test_nothing_that_a_reviewer_says_is_an_error(said: str) -> None:
    assert isinstance(rendered(report_of(said)), str)


def test_unknown_fields_are_passed_over() -> None:
    assert report_of(json.dumps(report(finding(more=1), more=2))).to_wire() == report(finding())


def test_several_findings_have_another_heading() -> None:
    found = report_of(json.dumps(report(finding(body=""), finding(title="Two", body="a\r\n\r\nb\n"))))
    assert rendered(found) == (
        "Overall bad\n\nFull review comments:\n\n- [P1] Bug — /x/a.py:3-5\n\n- Two — /x/a.py:3-5\n  a\n  \n  b"
    )


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (report(overall_explanation=" fine "), "fine"),
        (report(finding(), overall_explanation=" "), RENDERED.removeprefix("Overall bad\n\n")),
        (report(overall_explanation=" "), NO_REPORT),
    ],
)
def test_what_is_missing_is_left_out(given: dict[str, Any], shown: str) -> None:
    assert rendered(stored_report(given)) == shown


def test_no_report_is_said_to_be_none() -> None:
    assert rendered(None) == NO_REPORT
