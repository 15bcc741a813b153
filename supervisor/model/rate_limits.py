"""The account's limits, as the server tells them beside its answers.

Owns the header families, the event of the same content, and what one snapshot takes over from the one before. Takes
headers with lower-case names, gives maps as they stand in `token_count`.
"""

from collections.abc import Mapping
from math import isfinite
from typing import Any

DEFAULT_LIMIT = "codex"
_FAMILY_END = "-primary-used-percent"

Snapshot = dict[str, Any]


def snapshots_in(headers: Mapping[str, str]) -> list[Snapshot]:
    """The default limit's snapshot, even if the headers say nothing, then those of other limits that say something."""
    families = {name[2 : -len(_FAMILY_END)] for name in headers if name.startswith("x-") and name.endswith(_FAMILY_END)}
    others = (snapshot_of(headers, family) for family in sorted(families - {DEFAULT_LIMIT, ""}))
    told = [each for each in others if each["primary"] or each["secondary"] or each["credits"]]
    return [snapshot_of(headers, DEFAULT_LIMIT), *told]


def snapshot_of(headers: Mapping[str, str], limit: str | None) -> Snapshot:
    """The snapshot of one limit, by its id in either spelling."""
    family = ((limit or "").strip() or DEFAULT_LIMIT).lower().replace("_", "-")
    return {
        "limit_id": family.replace("-", "_"),
        "limit_name": (headers.get(f"x-{family}-limit-name") or "").strip() or None,
        "primary": _window(headers, f"x-{family}-primary"),
        "secondary": _window(headers, f"x-{family}-secondary"),
        "credits": _credits(headers),
        "plan_type": None,
    }


def snapshot_in_event(event: Mapping[str, Any]) -> Snapshot:
    """The snapshot of a `codex.rate_limits` event."""
    limits = event.get("rate_limits")
    details = limits if isinstance(limits, Mapping) else {}
    name = event.get("metered_limit_name") or event.get("limit_name")
    plan, credit = event.get("plan_type"), event.get("credits")
    return {
        "limit_id": name.strip().lower().replace("-", "_") if type(name) is str else DEFAULT_LIMIT,
        "limit_name": None,
        "primary": _event_window(details.get("primary")),
        "secondary": _event_window(details.get("secondary")),
        "credits": _event_credits(credit) if isinstance(credit, Mapping) else None,
        "plan_type": plan if type(plan) is str else None,
    }


def merged(previous: Snapshot | None, newest: Snapshot) -> Snapshot:
    """The newest snapshot, with credits and plan of the one before where it tells none."""
    if previous is None:
        return newest
    kept = {name: previous[name] for name in ("credits", "plan_type") if newest[name] is None}
    return {**newest, **kept}


def _window(headers: Mapping[str, str], prefix: str) -> Snapshot | None:
    used = _decimal(headers.get(f"{prefix}-used-percent"))
    if used is None:
        return None
    minutes = _integer(headers.get(f"{prefix}-window-minutes"))
    resets_at = _integer(headers.get(f"{prefix}-reset-at"))
    if not used and not minutes and resets_at is None:
        return None
    return {"used_percent": used, "window_minutes": minutes, "resets_at": resets_at}


def _credits(headers: Mapping[str, str]) -> Snapshot | None:
    has_credits = _truth(headers.get("x-codex-credits-has-credits"))
    unlimited = _truth(headers.get("x-codex-credits-unlimited"))
    if has_credits is None or unlimited is None:
        return None
    balance = (headers.get("x-codex-credits-balance") or "").strip() or None
    return {"has_credits": has_credits, "unlimited": unlimited, "balance": balance}


def _event_window(window: object) -> Snapshot | None:
    if not isinstance(window, Mapping) or type(window.get("used_percent")) not in (int, float):
        return None
    minutes, resets_at = window.get("window_minutes"), window.get("reset_at")
    return {
        "used_percent": float(window["used_percent"]),
        "window_minutes": minutes if type(minutes) is int else None,
        "resets_at": resets_at if type(resets_at) is int else None,
    }


def _event_credits(credit: Mapping[str, Any]) -> Snapshot | None:
    if type(credit.get("has_credits")) is not bool or type(credit.get("unlimited")) is not bool:
        return None
    balance = credit.get("balance")
    return {
        "has_credits": credit["has_credits"],
        "unlimited": credit["unlimited"],
        "balance": balance if type(balance) is str else None,
    }


def _decimal(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if isfinite(value) else None


def _integer(text: str | None) -> int | None:
    try:
        value = int(text or "")
    except ValueError:
        return None
    return value if abs(value) < 1 << 63 else None


def _truth(text: str | None) -> bool | None:
    return {"true": True, "1": True, "false": False, "0": False}.get((text or "").lower())
