"""What is left of a ChatGPT account's limits, asked for instead of read beside an answer.

Owns the address and the form of what it gives; the limits themselves are as in `rate_limits`. Pure.
"""

from collections.abc import Mapping
from typing import Any

from pycodex.supervisor.auth.claims import UNKNOWN_PLAN, plan_named
from pycodex.supervisor.auth.credentials import Token
from pycodex.supervisor.auth.web import WebAnswer, WebRequest
from pycodex.supervisor.model.rate_limits import DEFAULT_LIMIT, Snapshot

_BACKEND = "/backend-api"
_CHATGPT = ("https://chatgpt.com", "https://chat.openai.com")
_MOST_LIMITS = 100


class LimitsUnread(Exception):
    """The answer tells no limits."""


def usage_request(base_url: str, token: Token) -> WebRequest:
    """`base_url` is `chatgpt_base_url`."""
    base = base_url.rstrip("/")
    if base.startswith(_CHATGPT) and _BACKEND not in base:
        base += _BACKEND
    path = "wham/usage" if _BACKEND in base else "api/codex/usage"
    headers = {"authorization": f"Bearer {token.value}"}
    if token.account_id is not None:
        headers["chatgpt-account-id"] = token.account_id
    return WebRequest(method="GET", url=f"{base}/{path}", headers=headers)


def limits_in(answer: WebAnswer, url: str) -> list[Snapshot]:
    """The default limit first. Raises LimitsUnread."""
    if not answer.is_good:
        raise LimitsUnread(f"GET {url} failed: {answer.status_text}")
    told = answer.json_object
    if told is None:
        raise LimitsUnread(f"Decode error for {url}: the answer is no JSON object")
    plan = plan_named(told["plan_type"]) if isinstance(told.get("plan_type"), str) else UNKNOWN_PLAN
    first = _snapshot(DEFAULT_LIMIT, None, told.get("rate_limit"), plan)
    first["credits"] = _credits(told.get("credits"))
    others = told.get("additional_rate_limits")
    return [first, *_others(others if isinstance(others, list) else [], plan)]


def _others(told: list[Any], plan: str) -> list[Snapshot]:
    return [
        _snapshot(each["metered_feature"], each.get("limit_name"), each.get("rate_limit"), plan)
        for each in told[:_MOST_LIMITS]
        if isinstance(each, dict) and isinstance(each.get("metered_feature"), str)
    ]


def _snapshot(limit_id: str, name: object, limit: object, plan: str) -> Snapshot:
    windows = limit if isinstance(limit, Mapping) else {}
    return {
        "limit_id": limit_id,
        "limit_name": name if isinstance(name, str) else None,
        "primary": _window(windows.get("primary_window")),
        "secondary": _window(windows.get("secondary_window")),
        "credits": None,
        "plan_type": plan,
    }


def _window(told: object) -> Snapshot | None:
    if not isinstance(told, Mapping) or not _is_number(told.get("used_percent")):
        return None
    seconds, resets_at = _whole(told.get("limit_window_seconds")), _whole(told.get("reset_at"))
    return {
        "used_percent": float(told["used_percent"]),
        "window_minutes": -(-seconds // 60) if seconds is not None and seconds > 0 else None,
        "resets_at": resets_at,
    }


def _credits(told: object) -> Snapshot | None:
    if not isinstance(told, Mapping):
        return None
    has_credits, unlimited, balance = (told.get(name) for name in ("has_credits", "unlimited", "balance"))
    if type(has_credits) is not bool or type(unlimited) is not bool:
        return None
    return {
        "has_credits": has_credits,
        "unlimited": unlimited,
        "balance": balance if isinstance(balance, str) else None,
    }


def _whole(value: Any) -> int | None:
    return int(value) if _is_number(value) else None


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 1 << 53
