"""Where limits are asked for, and what the answer tells."""

import json
from typing import Any

import pytest

from pycodex.supervisor.auth.credentials import Token
from pycodex.supervisor.auth.web import WebAnswer
from pycodex.supervisor.model.account_usage import LimitsUnread, limits_in, usage_request

TOKEN = Token("at", "acct", is_chatgpt=True)


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("https://chatgpt.com/backend-api/", "https://chatgpt.com/backend-api/wham/usage"),
        ("https://chatgpt.com", "https://chatgpt.com/backend-api/wham/usage"),
        ("https://chat.openai.com//", "https://chat.openai.com/backend-api/wham/usage"),
        ("http://own:1/x/", "http://own:1/x/api/codex/usage"),
    ],
)
def test_the_address(base: str, url: str) -> None:
    request = usage_request(base, TOKEN)
    assert (request.method, request.url) == ("GET", url)
    assert request.headers == {"authorization": "Bearer at", "chatgpt-account-id": "acct"}


def test_an_account_without_an_id() -> None:
    assert "chatgpt-account-id" not in usage_request("http://x", Token("at")).headers


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"plan_type": 5, "rate_limit": [], "credits": {"has_credits": 1}, "additional_rate_limits": {}},
        {"rate_limit": {"primary_window": {"used_percent": "5"}}, "additional_rate_limits": [5, {"limit_name": "x"}]},
        {"rate_limit": {"primary_window": {"used_percent": True}, "secondary_window": 5}},
    ],
)
def test_what_is_not_told_is_not_made_up(told: Any) -> None:
    (only,) = limits_in(WebAnswer(200, json.dumps(told)), "u")
    empty = dict.fromkeys(("limit_name", "primary", "secondary", "credits"))
    assert only == {**empty, "limit_id": "codex", "plan_type": "unknown"}


def test_a_window_that_is_told_in_part() -> None:
    told = {"rate_limit": {"primary_window": {"used_percent": 1.5, "limit_window_seconds": 0, "reset_at": 1e300}}}
    (only,) = limits_in(WebAnswer(200, json.dumps(told)), "u")
    assert only["primary"] == {"used_percent": 1.5, "window_minutes": None, "resets_at": None}


@pytest.mark.parametrize(("status", "text"), [(500, "secret"), (200, "secret"), (200, "[]"), (200, "[" * 100_000)])
def test_other_answers_tell_no_limits(status: int, text: str) -> None:
    with pytest.raises(LimitsUnread) as caught:
        limits_in(WebAnswer(status, text), "u")
    assert "secret" not in str(caught.value)
