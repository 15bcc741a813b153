"""What an identity token says of its owner.

Pure. Nothing is verified: the token came with the login, and nothing is decided by it but what is shown, and whether
it is of the workspace that the configuration demands.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

UNKNOWN_PLAN = "unknown"
_PLANS = ("free", "go", "plus", "pro", "team", "business", "enterprise", "edu")
_OTHER_PLAN_NAMES = {"education": "edu"}
_PROFILE_CLAIM = "https://api.openai.com/profile"
_AUTH_CLAIM = "https://api.openai.com/auth"

Claims = Mapping[str, Any]


def claims_of(token: str) -> Claims:
    """Nothing, if it is no such token."""
    return parsed_claims(token) or {}


def parsed_claims(token: str) -> Claims | None:
    """None if it is no such token."""
    parts = token.split(".")
    if len(parts) != 3 or not all(parts):
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        return None
    return claims if isinstance(claims, dict) else None


def email_in(claims: Claims) -> str | None:
    profile = claims.get(_PROFILE_CLAIM)
    email = claims.get("email") or (profile.get("email") if isinstance(profile, dict) else None)
    return email if isinstance(email, str) else None


def plan_in(claims: Claims) -> str:
    plan = _auth(claims).get("chatgpt_plan_type")
    return plan_named(plan) if isinstance(plan, str) else UNKNOWN_PLAN


def plan_named(word: str) -> str:
    """The plan as clients know it."""
    plan = _OTHER_PLAN_NAMES.get(word.lower(), word.lower())
    return plan if plan in _PLANS else UNKNOWN_PLAN


def account_id_in(claims: Claims) -> str | None:
    account_id = _auth(claims).get("chatgpt_account_id")
    return account_id if isinstance(account_id, str) else None


def _auth(claims: Claims) -> Mapping[str, Any]:
    auth = claims.get(_AUTH_CLAIM)
    return auth if isinstance(auth, dict) else {}
