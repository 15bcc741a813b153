"""The words for an account that has used up its share.

Owns the texts by plan and the way a moment is told in local time. Pure but for the local time zone and the clock.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

_HIT = "You've hit your usage limit"
_CREDITS = "https://chatgpt.com/codex/settings/usage to purchase more credits"
_ADMIN = "To get more access now, send a request to your admin"
_UPGRADE_TO_PLUS = "Upgrade to Plus to continue using Codex (https://chatgpt.com/explore/plus),"
_WAYS_OUT = {
    "plus": f"Upgrade to Pro (https://chatgpt.com/explore/pro), visit {_CREDITS}",
    "team": _ADMIN,
    "business": _ADMIN,
    "free": _UPGRADE_TO_PLUS,
    "go": _UPGRADE_TO_PLUS,
    "pro": f"Visit {_CREDITS}",
}


def usage_limit_text(error: Mapping[str, Any], headers: Mapping[str, str], *, limit_name: str | None) -> str:
    """What to tell about a 429 of type `usage_limit_reached`. `limit_name` is the limit's, if it has one."""
    when = _when(error.get("resets_at"))
    later = f"try again at {when}." if when else "try again later."
    if limit_name and limit_name.lower() != "codex":
        return f"{_HIT} for {limit_name}. Switch to another model now, or {later}"
    promo = (headers.get("x-codex-promo-message") or "").strip()
    if promo:
        return f"{_HIT}. {promo}, or {later}"
    plan = error.get("plan_type")
    way_out = _WAYS_OUT.get(plan.lower()) if type(plan) is str else None
    return f"{_HIT}. {way_out} or {later}" if way_out else f"{_HIT}. T{later[1:]}"


def _when(resets_at: object) -> str | None:
    if type(resets_at) is not int:
        return None
    try:
        moment = datetime.fromtimestamp(resets_at, UTC).astimezone()
    except (OverflowError, OSError, ValueError):
        return None
    return local_moment(moment, datetime.now(UTC).astimezone())


def local_moment(moment: datetime, now: datetime) -> str:
    """`3:33 AM` if that is today, else `May 18th, 2033 3:33 AM`."""
    clock = f"{moment.hour % 12 or 12}:{moment.minute:02} {'AM' if moment.hour < 12 else 'PM'}"
    if moment.date() == now.date():
        return clock
    month = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()[moment.month - 1]
    return f"{month} {moment.day}{_ordinal_end(moment.day)}, {moment.year} {clock}"


def _ordinal_end(day: int) -> str:
    return "th" if 11 <= day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
