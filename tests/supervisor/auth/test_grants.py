"""What all logins by OAuth have in common."""

import base64
import hashlib
from typing import Any

import pytest

from pycodex.supervisor.auth.grants import code_in, new_pkce, new_state, reason_in, token_in, without_secrets
from pycodex.supervisor.auth.web import WebAnswer


def test_a_proof_fits_its_challenge_and_no_other() -> None:
    one, other = new_pkce(), new_pkce()
    digest = hashlib.sha256(one.verifier.encode()).digest()
    assert one.challenge == base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    assert one.verifier != other.verifier
    assert one.verifier not in repr(one)
    assert new_state() != new_state()


@pytest.mark.parametrize(("value", "token"), [("t-1", "t-1"), (" ", None), ("a\nb", None), ("é", None), (1, None)])
def test_only_what_fits_into_a_header_is_a_token(value: Any, token: str | None) -> None:
    assert token_in({"t": value}, "t") == token


@pytest.mark.parametrize("text", ["", "[1]", "{", "[" * 100_000])
def test_what_is_no_object_holds_nothing(text: str) -> None:
    assert WebAnswer(200, text).fields == {}
    assert code_in(text) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"error": "e", "error_description": "a\\n b"}', "a b"),
        ('{"error": {"message": "m", "code": "c"}}', "m"),
        ('{"error": "e"}', "e"),
        ("plain  words", "plain words"),
        ("", "unknown error"),
        ("x" * 1000, "x" * 500),
    ],
)
def test_a_reason_is_one_short_line(text: str, reason: str) -> None:
    assert reason_in(text) == reason


def test_secrets_are_not_repeated() -> None:
    assert without_secrets("code abc and def", "abc", "", "def") == "code *** and ***"
