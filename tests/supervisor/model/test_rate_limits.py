"""Limits told in headers and events."""

from typing import Any

import pytest

from pycodex.supervisor.model.rate_limits import merged, snapshot_in_event, snapshot_of, snapshots_in

NOTHING: dict[str, Any] = {
    "limit_id": "codex",
    "limit_name": None,
    "primary": None,
    "secondary": None,
    "credits": None,
    "plan_type": None,
}


def test_headers_that_say_nothing_still_make_a_snapshot() -> None:
    assert snapshots_in({"content-type": "text/event-stream"}) == [NOTHING]


def test_all_headers_of_the_default_limit() -> None:
    headers = {
        "x-codex-primary-used-percent": "12.5",
        "x-codex-primary-window-minutes": "300",
        "x-codex-primary-reset-at": "1700000000",
        "x-codex-secondary-used-percent": "3",
        "x-codex-limit-name": " codex ",
        "x-codex-credits-has-credits": "True",
        "x-codex-credits-unlimited": "0",
        "x-codex-credits-balance": " 9.99 ",
    }
    assert snapshots_in(headers) == [
        {
            "limit_id": "codex",
            "limit_name": "codex",
            "primary": {"used_percent": 12.5, "window_minutes": 300, "resets_at": 1700000000},
            "secondary": {"used_percent": 3.0, "window_minutes": None, "resets_at": None},
            "credits": {"has_credits": True, "unlimited": False, "balance": "9.99"},
            "plan_type": None,
        }
    ]


def test_other_limits_follow_in_order_if_they_say_something() -> None:
    headers = {
        "x-zed-primary-used-percent": "1",
        "x-codex-other-primary-used-percent": "50",
        "x-codex-other-limit-name": "Other",
        "x-idle-primary-used-percent": "0",
    }
    ids = [(each["limit_id"], each["limit_name"]) for each in snapshots_in(headers)]
    assert ids == [("codex", None), ("codex_other", "Other"), ("zed", None)]


@pytest.mark.parametrize(
    ("headers", "window"),
    [
        ({"x-codex-primary-used-percent": "0"}, None),
        ({"x-codex-primary-used-percent": "0", "x-codex-primary-window-minutes": "0"}, None),
        (
            {"x-codex-primary-used-percent": "0", "x-codex-primary-window-minutes": "5"},
            {"used_percent": 0.0, "window_minutes": 5, "resets_at": None},
        ),
        ({"x-codex-primary-used-percent": "nan"}, None),
        ({"x-codex-primary-used-percent": "many"}, None),
        ({"x-codex-primary-window-minutes": "5"}, None),
        (
            {"x-codex-primary-used-percent": "1", "x-codex-primary-reset-at": "9" * 30},
            {"used_percent": 1.0, "window_minutes": None, "resets_at": None},
        ),
    ],
)
def test_window(headers: dict[str, str], window: dict[str, Any] | None) -> None:
    assert snapshot_of(headers, None)["primary"] == window


@pytest.mark.parametrize("truth", ["yes", "", "2"])
def test_credits_need_both_truths(truth: str) -> None:
    headers = {"x-codex-credits-has-credits": "true", "x-codex-credits-unlimited": truth}
    assert snapshot_of(headers, "codex")["credits"] is None


def test_event_says_the_same() -> None:
    event = {
        "type": "codex.rate_limits",
        "plan_type": "plus",
        "rate_limits": {"primary": {"used_percent": 5, "window_minutes": 60, "reset_at": 9}, "secondary": None},
        "credits": {"has_credits": True, "unlimited": False, "balance": None},
        "metered_limit_name": "codex-other",
    }
    assert snapshot_in_event(event) == {
        "limit_id": "codex_other",
        "limit_name": None,
        "primary": {"used_percent": 5.0, "window_minutes": 60, "resets_at": 9},
        "secondary": None,
        "credits": {"has_credits": True, "unlimited": False, "balance": None},
        "plan_type": "plus",
    }


@pytest.mark.parametrize("junk", [None, 5, "x", [], {"primary": 5}, {"primary": {"used_percent": "5"}}])
def test_event_with_junk_is_an_empty_snapshot(junk: object) -> None:
    assert snapshot_in_event({"rate_limits": junk, "credits": junk, "plan_type": 5}) == NOTHING


def test_credits_and_plan_are_inherited() -> None:
    told = {**NOTHING, "credits": {"has_credits": True}, "plan_type": "pro", "primary": {"used_percent": 1.0}}
    assert merged(told, NOTHING) == {**NOTHING, "credits": {"has_credits": True}, "plan_type": "pro"}
    assert merged(None, NOTHING) == NOTHING
    assert merged(NOTHING, told) == told
