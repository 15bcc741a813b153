"""What decides the exit code."""

import pytest

from pycodex.protocol.events.error import ErrorEvent, StreamError, WarningEvent
from pycodex.protocol.events.review import ExitedReviewMode
from pycodex.protocol.events.turn import TokenCount, TurnAborted
from pycodex.protocol.events.union import AnyEvent
from pycodex.supervisor.frontends.exec.outcome import Outcome
from support.exec_events import STARTED, completed, tokens
from support.reviews import RENDERED, finding, report


def outcome_of(*events: AnyEvent) -> Outcome:
    outcome = Outcome()
    for event in events:
        outcome.note(event)
    return outcome


@pytest.mark.parametrize(
    ("events", "exit_code", "ended", "last_message", "error"),
    [
        ((STARTED,), 0, False, None, None),
        ((STARTED, completed("ok")), 0, True, "ok", None),
        ((StreamError(message="again"), WarningEvent(message="w"), completed("ok")), 0, True, "ok", None),
        ((ErrorEvent(message="bad"), completed(None)), 1, True, None, "bad"),
        ((ErrorEvent(message="bad"), completed("half")), 1, True, None, "bad"),
        ((TurnAborted(turn_id="t", reason="interrupted"),), 1, True, None, "task interrupted"),
    ],
)
def test_outcome(
    events: tuple[AnyEvent, ...], exit_code: int, ended: bool, last_message: str | None, error: str | None
) -> None:
    outcome = outcome_of(*events)
    assert (outcome.exit_code, outcome.ended, outcome.last_message, outcome.error) == (
        exit_code,
        ended,
        last_message,
        error,
    )


def test_the_last_usage_that_was_told_counts() -> None:
    nothing = TokenCount(info=None, rate_limits={})
    assert outcome_of(nothing).usage is None
    usage = outcome_of(tokens(100), tokens(200), nothing).usage
    assert usage is not None
    assert usage["input_tokens"] == 200


def test_only_an_interrupt_is_one() -> None:
    assert outcome_of(TurnAborted(turn_id="t", reason="interrupted")).interrupted
    assert not outcome_of(TurnAborted(turn_id="t", reason="replaced")).interrupted


def test_report_of_a_review_is_kept_apart_from_the_last_message() -> None:
    left = ExitedReviewMode(turn_id="t", review_output=report(finding()))
    assert outcome_of(left, completed(None)).report == RENDERED
    nothing = outcome_of(ExitedReviewMode(turn_id="t", review_output=None), completed(None))
    assert (nothing.report, nothing.last_message) == (None, None)
