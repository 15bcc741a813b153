"""The words for an account that has used up its share."""

import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from pycodex.supervisor.model.usage_limit import local_moment, usage_limit_text

HIT = "You've hit your usage limit"
CREDITS = "https://chatgpt.com/codex/settings/usage to purchase more credits"
ADMIN = " To get more access now, send a request to your admin or try again later."
PLUS = " Upgrade to Plus to continue using Codex (https://chatgpt.com/explore/plus), or try again later."


@pytest.mark.parametrize(
    ("plan", "rest"),
    [
        ("plus", f" Upgrade to Pro (https://chatgpt.com/explore/pro), visit {CREDITS} or try again later."),
        ("team", ADMIN),
        ("business", ADMIN),
        ("free", PLUS),
        ("go", PLUS),
        ("pro", f" Visit {CREDITS} or try again later."),
        ("enterprise", " Try again later."),
        ("edu", " Try again later."),
        ("from the future", " Try again later."),
        (None, " Try again later."),
        (5, " Try again later."),
    ],
)
def test_text_by_plan(plan: Any, rest: str) -> None:
    assert usage_limit_text({"plan_type": plan}, {}, limit_name=None) == f"{HIT}.{rest}"


def test_limit_with_a_name_comes_first() -> None:
    text = usage_limit_text({"plan_type": "plus"}, {"x-codex-promo-message": "promo"}, limit_name="Spark")
    assert text == f"{HIT} for Spark. Switch to another model now, or try again later."


def test_promotion_comes_second() -> None:
    text = usage_limit_text({"plan_type": "plus"}, {"x-codex-promo-message": " Buy two "}, limit_name="Codex")
    assert text == f"{HIT}. Buy two, or try again later."


@pytest.fixture
def in_tokyo() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "JST-9")
        time.tzset()
        yield
    time.tzset()


def test_reset_time_is_told_in_local_time(in_tokyo: None) -> None:
    text = usage_limit_text({"plan_type": "edu", "resets_at": 2000000000}, {}, limit_name=None)
    assert text == f"{HIT}. Try again at May 18th, 2033 12:33 PM."


@pytest.mark.parametrize("resets_at", ["soon", 10**30, -(10**30), 1.5, True])
def test_a_time_that_is_none_is_later(resets_at: Any) -> None:
    assert usage_limit_text({"resets_at": resets_at}, {}, limit_name=None) == f"{HIT}. Try again later."


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"{text}Z")


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (at("2026-05-01T03:33"), "3:33 AM"),
        (at("2026-05-01T00:05"), "12:05 AM"),
        (at("2026-05-01T12:00"), "12:00 PM"),
        (at("2026-05-01T23:59"), "11:59 PM"),
        (at("2026-05-02T03:33"), "May 2nd, 2026 3:33 AM"),
        (at("2026-01-01T03:33"), "Jan 1st, 2026 3:33 AM"),
        (at("2026-06-03T15:00"), "Jun 3rd, 2026 3:00 PM"),
        (at("2026-06-11T15:00"), "Jun 11th, 2026 3:00 PM"),
        (at("2026-06-22T15:00"), "Jun 22nd, 2026 3:00 PM"),
    ],
)
def test_moment(moment: datetime, text: str) -> None:
    assert local_moment(moment, at("2026-05-01T10:00")) == text
