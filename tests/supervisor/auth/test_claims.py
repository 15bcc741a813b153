"""Identity tokens, sound and otherwise."""

import base64
import json
from typing import Any

import pytest

from pycodex.supervisor.auth.claims import account_id_in, claims_of, email_in, parsed_claims, plan_in, plan_named

AUTH = "https://api.openai.com/auth"
PROFILE = "https://api.openai.com/profile"


def token_of(claims: Any) -> str:
    payload = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{payload}.sig"


@pytest.mark.parametrize(
    ("claims", "email", "plan", "account_id"),
    [
        ({"email": "a@b", AUTH: {"chatgpt_plan_type": "Plus", "chatgpt_account_id": "w"}}, "a@b", "plus", "w"),
        ({PROFILE: {"email": "c@d"}}, "c@d", "unknown", None),
        ({AUTH: {"chatgpt_plan_type": "golden", "chatgpt_account_id": 5}}, None, "unknown", None),
        ({"email": 5, AUTH: [], PROFILE: 5}, None, "unknown", None),
        ([], None, "unknown", None),
    ],
)
def test_what_a_token_says(claims: Any, email: str | None, plan: str, account_id: str | None) -> None:
    found = claims_of(token_of(claims))
    assert (email_in(found), plan_in(found), account_id_in(found)) == (email, plan, account_id)


@pytest.mark.parametrize("token", ["", "no token", "a.!!.c", "a.bm8.c", "a..c", "..", "a.e30.", "a.b.c.d", "ä.ä.ä"])
def test_what_is_no_token_says_nothing(token: str) -> None:
    assert parsed_claims(token) is None
    assert claims_of(token) == {}


def test_plans_have_other_names() -> None:
    assert [plan_named(word) for word in ("Education", "EDU", "team", "k12")] == ["edu", "edu", "team", "unknown"]
