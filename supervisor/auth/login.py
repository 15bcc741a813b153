"""Logging in with an API key, logging out, and who is logged in.

Owns what is written into auth.json, and what may be told of the login: who it is, never more than was asked for. Which
secret goes to which provider is decided in `credentials`. Reads and writes that one file.
"""

import base64
import binascii
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.auth.auth_file import API_KEY, read_login

FILE_NAME = "auth.json"
CHATGPT = "chatgpt"
UNKNOWN_PLAN = "unknown"
_PLANS = ("free", "go", "plus", "pro", "team", "business", "enterprise", "edu")
_MOST_KEY_CHARACTERS = 4096
_PROFILE_CLAIM = "https://api.openai.com/profile"
_AUTH_CLAIM = "https://api.openai.com/auth"


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """`mode` is `apikey` or `chatgpt`."""

    mode: str
    token: str = field(repr=False)
    email: str | None = None
    plan_type: str | None = None


def current_login(env: Mapping[str, str], codex_home: str) -> Login | None:
    """Who OpenAI would be asked for, by the order in which credentials count. Raises BadAuthFile."""
    key = env.get("CODEX_API_KEY", "").strip()
    if key:
        return Login(mode=API_KEY, token=key)
    stored = read_login(os.path.join(codex_home, FILE_NAME))
    if stored is not None and stored.api_key is not None:
        return Login(mode=API_KEY, token=stored.api_key)
    if stored is not None and stored.access_token is not None:
        claims = _claims_of(stored.id_token or "")
        return Login(mode=CHATGPT, token=stored.access_token, email=_email_in(claims), plan_type=_plan_in(claims))
    key = env.get("OPENAI_API_KEY", "").strip()
    return Login(mode=API_KEY, token=key) if key else None


def log_in_with_key(codex_home: str, key: str, *, store: str) -> None:
    """Keep the key for this and later sessions. Raises UserFacing if it cannot be kept."""
    if store not in ("file", "auto"):
        raise UserFacing(
            f'cli_auth_credentials_store = "{store}" is not supported; set it to "file", or set CODEX_API_KEY instead'
        )
    key = key.strip()
    if not key or len(key) > _MOST_KEY_CHARACTERS or not key.isascii() or not key.isprintable():
        raise UserFacing("the key is empty, or no plain text")
    stored = {"auth_mode": API_KEY, "OPENAI_API_KEY": key}
    path = os.path.join(codex_home, FILE_NAME)
    try:
        os.makedirs(codex_home, mode=0o700, exist_ok=True)
        _replace(path, json.dumps(stored, indent=2).encode("ascii"))
    except OSError as error:
        raise UserFacing(f"cannot write {path}: {error.strerror} (os error {error.errno})") from None


def log_out(codex_home: str) -> bool:
    """Forget what is stored; gives whether anything was. Raises UserFacing."""
    path = os.path.join(codex_home, FILE_NAME)
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise UserFacing(f"cannot remove {path}: {error.strerror} (os error {error.errno})") from None
    return True


def _replace(path: str, data: bytes) -> None:
    """Whole or not at all, and never readable by others."""
    temporary = f"{path}.{os.getpid()}.new"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


# What an identity token says. It is not verified: it came with the login, and nothing is decided by it.


def _claims_of(token: str) -> Mapping[str, Any]:
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        return {}
    return claims if isinstance(claims, dict) else {}


def _email_in(claims: Mapping[str, Any]) -> str | None:
    profile = claims.get(_PROFILE_CLAIM)
    email = claims.get("email") or (profile.get("email") if isinstance(profile, dict) else None)
    return email if isinstance(email, str) else None


def _plan_in(claims: Mapping[str, Any]) -> str | None:
    auth = claims.get(_AUTH_CLAIM)
    plan = auth.get("chatgpt_plan_type") if isinstance(auth, dict) else None
    if not isinstance(plan, str):
        return None
    return plan.lower() if plan.lower() in _PLANS else UNKNOWN_PLAN
