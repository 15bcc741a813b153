"""Pauses between attempts."""

import pytest

from pycodex.supervisor.model.retry import backoff, budget, stream_delay
from pycodex.supervisor.model.stream import ModelFailure


@pytest.mark.parametrize(("attempt", "middle"), [(1, 0.2), (2, 0.4), (3, 0.8), (4, 1.6), (5, 3.2)])
def test_backoff_doubles_with_some_chance(attempt: int, middle: float) -> None:
    pauses = {backoff(attempt) for _ in range(50)}
    assert len(pauses) > 1
    assert all(middle * 0.9 <= pause <= middle * 1.1 for pause in pauses)


def test_backoff_of_the_hundredth_attempt_is_finite() -> None:
    assert backoff(100) < 1e7


def test_the_server_may_ask_for_a_pause() -> None:
    assert stream_delay(ModelFailure("m", retryable=True, delay_s=1.2), 3) == 1.2


def test_the_server_may_not_ask_for_ever() -> None:
    assert stream_delay(ModelFailure("m", retryable=True, delay_s=float("inf")), 1) == 3600


def test_without_a_wish_the_backoff_counts() -> None:
    assert 0.36 <= stream_delay(ModelFailure("m", retryable=True), 2) <= 0.44


@pytest.mark.parametrize(("wanted", "granted"), [(0, 0), (4, 4), (100, 100), (1_000_000, 100)])
def test_budget_has_an_end(wanted: int, granted: int) -> None:
    assert budget(wanted) == granted
