"""How much of an account is used up, in the words of the app-server. Pure."""

from typing import Any

Json = dict[str, Any]


def told_rate_limits(snapshot: Json) -> Json:
    left = snapshot.get("credits")
    return {
        "limitId": snapshot.get("limit_id"),
        "limitName": snapshot.get("limit_name"),
        "primary": _window(snapshot.get("primary")),
        "secondary": _window(snapshot.get("secondary")),
        "credits": _credits(left) if isinstance(left, dict) else None,
        "planType": snapshot.get("plan_type"),
    }


def _window(window: Json | None) -> Json | None:
    if window is None:
        return None
    return {
        "usedPercent": round(window["used_percent"]),
        "windowDurationMins": window.get("window_minutes"),
        "resetsAt": window.get("resets_at"),
    }


def _credits(left: Json) -> Json:
    return {
        "hasCredits": left.get("has_credits", False),
        "unlimited": left.get("unlimited", False),
        "balance": left.get("balance"),
    }
