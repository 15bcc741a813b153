"""How long something took, there and back."""

import pytest

from pycodex.protocol.durations import duration_of, milliseconds


@pytest.mark.parametrize(
    ("seconds", "duration", "shown_ms"),
    [
        (0.0, {"secs": 0, "nanos": 0}, 0),
        (1.5, {"secs": 1, "nanos": 500_000_000}, 1500),
        (0.0009, {"secs": 0, "nanos": 900_000}, 0),
        (3600.0, {"secs": 3600, "nanos": 0}, 3_600_000),
        (-2.0, {"secs": 0, "nanos": 0}, 0),
    ],
)
def test_parts_of_a_second_are_kept(seconds: float, duration: dict[str, int], shown_ms: int) -> None:
    assert duration_of(seconds) == duration
    assert milliseconds(duration) == shown_ms
