"""What every login by OAuth has in common, whoever gives it out: proofs, failures, and the reading of answers.

Owns that no error repeats a secret that was sent, and what counts as a token. Knows no place and keeps nothing.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pycodex.protocol.errors import UserFacing

_MOST_TOLD = 500
_STATE_BYTES = 32


class LoginFailed(UserFacing):
    """A login that did not come about."""


class LoginRefused(UserFacing):
    """The login is of no use any more: only a new one helps."""


class RefreshFailed(UserFacing):
    """There are no new tokens for now."""


@dataclass(frozen=True, slots=True)
class Pkce:
    """Proves to the issuer that whoever has the code is who asked for it."""

    verifier: str = field(repr=False)
    challenge: str


def new_pkce() -> Pkce:
    import hashlib

    verifier = url_safe(os.urandom(64))
    return Pkce(verifier, url_safe(hashlib.sha256(verifier.encode("ascii")).digest()))


def url_safe(data: bytes) -> str:
    import base64

    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def new_state() -> str:
    """Tells the answer to our own question from all others."""
    return url_safe(os.urandom(_STATE_BYTES))


def without_secrets(text: str, *secrets: str) -> str:
    """Servers repeat what they were sent."""
    for secret in secrets:
        text = text.replace(secret, "***") if secret else text
    return text


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def token_in(found: Mapping[str, Any], name: str) -> str | None:
    """Only what can be sent in a header again."""
    value = found.get(name)
    is_token = isinstance(value, str) and value.isascii() and value.isprintable() and value.strip()
    return value if is_token else None


def code_in(text: str) -> str | None:
    parsed = _parsed(text)
    if not isinstance(parsed, dict):
        return None
    error = parsed.get("error")
    code = error.get("code") if isinstance(error, dict) else error
    code = parsed.get("code") if not isinstance(code, str) else code
    return code if isinstance(code, str) else None


def reason_in(text: str) -> str:
    """One line: the description, else the message, else the code, else the body itself."""
    parsed = _parsed(text)
    found = parsed if isinstance(parsed, dict) else {}
    error = found.get("error")
    nested = error.get("message") if isinstance(error, dict) else None
    for candidate in (found.get("error_description"), nested, code_in(text), text):
        if isinstance(candidate, str) and candidate.strip():
            return " ".join(candidate.split())[:_MOST_TOLD]
    return "unknown error"
