"""auth.json: the credentials that a login left in CODEX_HOME.

Owns the form of what is stored, wherever it is kept; decides nothing. Its content is
secret: no error repeats any of it.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.auth import secret_file

FILE_NAME = "auth.json"
API_KEY = "apikey"
CHATGPT = "chatgpt"
EXTERNAL = "chatgptAuthTokens"
CHATGPT_MODES = (CHATGPT, EXTERNAL)


class BadAuthFile(UserFacing):
    """There is an auth.json that cannot be used."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} {reason}; log in again, or set CODEX_API_KEY")


Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class StoredLogin:
    """An API key, or the tokens of a ChatGPT login."""

    api_key: str | None = field(default=None, repr=False)
    access_token: str | None = field(default=None, repr=False)
    account_id: str | None = None
    id_token: str | None = field(default=None, compare=False, repr=False)
    """Says who it is; nothing depends on it."""
    refresh_token: str | None = field(default=None, compare=False, repr=False)
    last_refresh: str | None = field(default=None, compare=False)
    plan: str | None = field(default=None, compare=False)
    """Where whoever gave the tokens has named it."""
    is_external: bool = False
    """Whether a client gave the tokens: then only it can give newer ones."""


def read_login(path: str) -> StoredLogin | None:
    """What the file holds; None if there is none, or nothing in it."""
    stored = read_document(path)
    return None if stored is None else login_in(stored, path)


def read_document(path: str) -> Json | None:
    """All that the file holds, as it stands there; None if there is no file."""
    try:
        data = secret_file.read(path)
    except secret_file.Unreadable as error:
        raise BadAuthFile(path, error.reason) from None
    return None if data is None else parsed_document(data, path)


def parsed_document(data: bytes | str, place: str) -> Json:
    try:
        stored = json.loads(data)
    except (ValueError, RecursionError):
        raise BadAuthFile(place, "is not valid JSON") from None
    if not isinstance(stored, dict):
        raise BadAuthFile(place, "does not hold a JSON object")
    return stored


def login_in(stored: Json, place: str) -> StoredLogin | None:
    """`place` is where it is stored, for errors."""
    key = _text(place, stored, "OPENAI_API_KEY")
    mode = stored.get("auth_mode") or (API_KEY if key is not None else CHATGPT)
    if mode == API_KEY:
        return StoredLogin(api_key=key) if key else None
    if mode not in CHATGPT_MODES:
        raise BadAuthFile(place, "has an `auth_mode` that is none of apikey, chatgpt, chatgptAuthTokens")
    return _chatgpt_login(place, stored)


def _chatgpt_login(place: str, stored: Json) -> StoredLogin | None:
    tokens = stored.get("tokens")
    if tokens is None or stored.get("last_refresh") is None:
        return None
    if not isinstance(tokens, dict):
        raise BadAuthFile(place, "has `tokens` that are no object")
    token = _text(place, tokens, "access_token")
    if not token:
        return None
    identity, refreshed = tokens.get("id_token"), stored["last_refresh"]
    return StoredLogin(
        access_token=token,
        account_id=_text(place, tokens, "account_id"),
        id_token=identity if isinstance(identity, str) else None,
        refresh_token=_text(place, tokens, "refresh_token") or None,
        last_refresh=refreshed if isinstance(refreshed, str) else None,
    )


def write_document(path: str, stored: Json) -> None:
    """Whole or not at all, and never readable by others. Raises UserFacing."""
    secret_file.write(path, json.dumps(stored, indent=2).encode("ascii"))


def _text(place: str, stored: Json, name: str) -> str | None:
    value = stored.get(name)
    if value is None:
        return None
    if type(value) is not str or not value.isascii() or not value.isprintable():
        raise BadAuthFile(place, f"has a `{name}` that is no plain text")
    return value.strip()
