"""auth.json: the credentials that a login left in CODEX_HOME.

Owns reading and checking the file; decides nothing. Its content is secret: no error repeats any of it.
"""

import json
import os
from dataclasses import dataclass, field
from stat import S_ISREG
from typing import Any

from pycodex.protocol.errors import UserFacing

API_KEY = "apikey"
CHATGPT_MODES = ("chatgpt", "chatgptAuthTokens")
_MOST_BYTES = 1 << 20


class BadAuthFile(UserFacing):
    """There is an auth.json that cannot be used."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} {reason}; log in again, or set CODEX_API_KEY")


@dataclass(frozen=True, slots=True)
class StoredLogin:
    """An API key, or the tokens of a ChatGPT login."""

    api_key: str | None = None
    access_token: str | None = None
    account_id: str | None = None
    id_token: str | None = field(default=None, compare=False, repr=False)
    """Says who it is; nothing depends on it."""


def read_login(path: str) -> StoredLogin | None:
    """What the file holds; None if there is none, or nothing in it."""
    data = _read(path)
    if data is None:
        return None
    try:
        stored = json.loads(data)
    except (ValueError, RecursionError):
        raise BadAuthFile(path, "is not valid JSON") from None
    if not isinstance(stored, dict):
        raise BadAuthFile(path, "does not hold a JSON object")
    key = _text(path, stored, "OPENAI_API_KEY")
    mode = stored.get("auth_mode") or (API_KEY if key is not None else "chatgpt")
    if mode == API_KEY:
        return StoredLogin(api_key=key) if key else None
    if mode not in CHATGPT_MODES:
        raise BadAuthFile(path, "has an `auth_mode` that is none of apikey, chatgpt, chatgptAuthTokens")
    return _chatgpt_login(path, stored)


def _chatgpt_login(path: str, stored: dict[str, Any]) -> StoredLogin | None:
    tokens = stored.get("tokens")
    if tokens is None or stored.get("last_refresh") is None:
        return None
    if not isinstance(tokens, dict):
        raise BadAuthFile(path, "has `tokens` that are no object")
    token = _text(path, tokens, "access_token")
    if not token:
        return None
    identity = tokens.get("id_token")
    return StoredLogin(
        access_token=token,
        account_id=_text(path, tokens, "account_id"),
        id_token=identity if isinstance(identity, str) else None,
    )


def _text(path: str, stored: dict[str, Any], name: str) -> str | None:
    value = stored.get(name)
    if value is None:
        return None
    if type(value) is not str or not value.isascii() or not value.isprintable():
        raise BadAuthFile(path, f"has a `{name}` that is no plain text")
    return value.strip()


def _read(path: str) -> bytes | None:
    """The bytes of a regular file of a sensible size; a pipe in its place must not hold us up."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise BadAuthFile(path, f"cannot be read: {error.strerror}") from None
    try:
        status = os.fstat(fd)
        if not S_ISREG(status.st_mode):
            raise BadAuthFile(path, "is not a regular file")
        if status.st_size > _MOST_BYTES:
            raise BadAuthFile(path, f"is larger than {_MOST_BYTES} bytes")
        return os.read(fd, _MOST_BYTES)
    finally:
        os.close(fd)
