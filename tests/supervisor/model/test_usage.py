"""Sums of what responses cost."""

import pytest

from pycodex.supervisor.model.usage import TokenUsage, UsageLedger

ONE = TokenUsage(100, 10, 20, 5, 120)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (
            {
                "input_tokens": 100,
                "input_tokens_details": {"cached_tokens": 10},
                "output_tokens": 20,
                "output_tokens_details": {"reasoning_tokens": 5},
                "total_tokens": 120,
            },
            ONE,
        ),
        ({"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}, TokenUsage(1, 0, 2, 0, 3)),
        (
            {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 2, "total_tokens": 3},
            TokenUsage(1, 0, 2, 0, 3),
        ),
        ({"input_tokens": 1, "output_tokens": 2}, None),
        ({"input_tokens": "1", "output_tokens": 2, "total_tokens": 3}, None),
        ({"input_tokens": -1, "output_tokens": 2, "total_tokens": 3}, None),
        (None, None),
        ([], None),
    ],
)
def test_usage_of_a_response(usage: object, expected: TokenUsage | None) -> None:
    assert TokenUsage.from_response(usage) == expected


def test_nothing_is_told_before_anything_is_known() -> None:
    assert UsageLedger().info(1000) is None


def test_ledger_adds_and_remembers_the_last() -> None:
    ledger = UsageLedger()
    ledger.add(ONE)
    ledger.add(TokenUsage(1, 0, 2, 0, 3))
    assert ledger.info(258400) == {
        "total_token_usage": {
            "input_tokens": 101,
            "cached_input_tokens": 10,
            "output_tokens": 22,
            "reasoning_output_tokens": 5,
            "total_tokens": 123,
        },
        "last_token_usage": {
            "input_tokens": 1,
            "cached_input_tokens": 0,
            "output_tokens": 2,
            "reasoning_output_tokens": 0,
            "total_tokens": 3,
        },
        "model_context_window": 258400,
    }


def test_overflow_fills_the_window() -> None:
    ledger = UsageLedger()
    ledger.add(ONE)
    ledger.fill(1000)
    assert (ledger.total, ledger.last) == (TokenUsage(total_tokens=1000), TokenUsage(total_tokens=880))


def test_overflow_of_an_already_larger_sum_takes_nothing_back() -> None:
    ledger = UsageLedger()
    ledger.add(ONE)
    ledger.fill(50)
    assert (ledger.total, ledger.last) == (TokenUsage(total_tokens=50), TokenUsage(total_tokens=0))


def test_estimate_after_compaction_keeps_the_sum() -> None:
    ledger = UsageLedger()
    ledger.add(ONE)
    ledger.estimate(42)
    assert (ledger.total, ledger.last) == (ONE, TokenUsage(total_tokens=42))


def test_ledger_goes_on_from_a_stored_event() -> None:
    before = UsageLedger()
    before.add(ONE)
    after = UsageLedger()
    after.seed(before.info(7))
    after.add(ONE)
    assert after.total == ONE + ONE


@pytest.mark.parametrize("stored", [None, [], {}, {"total_token_usage": {"input_tokens": 1}}, {"total_token_usage": 5}])
def test_a_stored_event_that_cannot_be_read_changes_nothing(stored: object) -> None:
    ledger = UsageLedger()
    ledger.seed(stored)
    assert ledger.info(1) is None
