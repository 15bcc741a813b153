"""Where the logins to MCP servers are kept: `.credentials.json` in CODEX_HOME, or the system's keyring.

Owns the form of both, which Codex reads and writes too, and that a login is found by the name and the address that it
was made for, and by nothing else. Everything here may block for a while: call it in a thread. No error repeats any of
it.
"""

import hashlib
import json
import os
import time
from dataclasses import dataclass, field
from typing import Any

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.auth import keyring_calls, secret_file

FILE_NAME = ".credentials.json"
FILE = "file"
KEYRING = "keyring"
EARLY_MS = 30_000
"""Tokens are renewed so long before they end."""
_SERVICE = "Codex MCP Credentials"

Json = dict[str, Any]


class BadCredentials(UserFacing):
    """There is something stored that cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTokens:
    server_name: str
    server_url: str
    client_id: str
    access_token: str = field(repr=False)
    refresh_token: str | None = field(default=None, repr=False)
    expires_at_ms: int | None = None
    scopes: tuple[str, ...] = ()
    token_endpoint: str | None = None
    """Who gave them: nobody else gets the refresh token. Not known of what Codex has stored."""

    @property
    def is_expiring(self) -> bool:
        return self.expires_at_ms is not None and time.time() * 1000 + EARLY_MS >= self.expires_at_ms

    @property
    def is_usable(self) -> bool:
        return not self.is_expiring or self.refresh_token is not None


def store_key(server_name: str, server_url: str) -> str:
    identity = json.dumps({"type": "http", "url": server_url, "headers": {}}, separators=(",", ":"), ensure_ascii=False)
    return f"{server_name}|{hashlib.sha256(identity.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


@dataclass(frozen=True, slots=True)
class TokenStore:
    """`kind` is a value of `mcp_oauth_credentials_store`."""

    codex_home: str
    kind: str

    @property
    def path(self) -> str:
        return os.path.join(self.codex_home, FILE_NAME)

    def load(self, server_name: str, server_url: str) -> StoredTokens | None:
        """Raises UserFacing."""
        key = store_key(server_name, server_url)
        if self.kind != FILE:
            try:
                text = keyring_calls.read(_SERVICE, key)
            except keyring_calls.NoKeyring:
                if self.kind == KEYRING:
                    raise
                text = None
            if text is not None:
                return _for(_from_keyring(text), server_name, server_url)
            if self.kind == KEYRING:
                return None
        entry = self._entries().get(key)
        return None if entry is None else _for(_from_entry(entry, self.path), server_name, server_url)

    def save(self, tokens: StoredTokens) -> None:
        """What is stored for other servers stays as it is. Raises UserFacing."""
        key = store_key(tokens.server_name, tokens.server_url)
        if self.kind != FILE:
            try:
                keyring_calls.write(_SERVICE, key, _to_keyring(tokens))
            except keyring_calls.NoKeyring:
                if self.kind == KEYRING:
                    raise
            else:
                self._forget(key)
                return
        self._write({**self._entries(), key: _to_entry(tokens)})

    def _forget(self, key: str) -> None:
        """A secret is in one place only."""
        entries = self._entries()
        if entries.pop(key, None) is not None:
            self._write(entries)

    def _entries(self) -> Json:
        data = secret_file.read(self.path)
        return {} if data is None else _object(data, self.path)

    def _write(self, entries: Json) -> None:
        if entries:
            secret_file.write(self.path, json.dumps(entries, separators=(",", ":")).encode("ascii"))
        else:
            secret_file.remove(self.path)


def _for(tokens: StoredTokens, server_name: str, server_url: str) -> StoredTokens | None:
    """Whatever its key says: what was made for another server is not for this one."""
    is_same = (tokens.server_name, tokens.server_url) == (server_name, server_url)
    return tokens if is_same else None


def _to_entry(tokens: StoredTokens) -> Json:
    return {
        "server_name": tokens.server_name,
        "server_url": tokens.server_url,
        "client_id": tokens.client_id,
        "access_token": tokens.access_token,
        "expires_at": tokens.expires_at_ms,
        "refresh_token": tokens.refresh_token,
        "scopes": list(tokens.scopes),
        "token_endpoint": tokens.token_endpoint,
    }


def _from_entry(entry: object, place: str) -> StoredTokens:
    if not isinstance(entry, dict):
        raise BadCredentials(f"{place} holds an entry that is no object")
    return StoredTokens(
        server_name=_text(entry, "server_name", place),
        server_url=_text(entry, "server_url", place),
        client_id=_text(entry, "client_id", place),
        access_token=_text(entry, "access_token", place),
        refresh_token=_text(entry, "refresh_token", place) if entry.get("refresh_token") else None,
        expires_at_ms=_time(entry, place),
        scopes=tuple(scope for scope in entry.get("scopes") or () if isinstance(scope, str)),
        token_endpoint=_text(entry, "token_endpoint", place) if entry.get("token_endpoint") else None,
    )


def _to_keyring(tokens: StoredTokens) -> str:
    response = {
        "access_token": tokens.access_token,
        "token_type": "bearer",
        **({"refresh_token": tokens.refresh_token} if tokens.refresh_token is not None else {}),
        **({"scope": " ".join(tokens.scopes)} if tokens.scopes else {}),
    }
    document = {
        "server_name": tokens.server_name,
        "url": tokens.server_url,
        "client_id": tokens.client_id,
        "token_response": response,
        "expires_at": tokens.expires_at_ms,
        "token_endpoint": tokens.token_endpoint,
    }
    return json.dumps(document, separators=(",", ":"))


def _from_keyring(text: str) -> StoredTokens:
    place = "the login in the keyring"
    told = _object(text, place)
    response, scope = told.get("token_response"), None
    if not isinstance(response, dict):
        raise BadCredentials(f"{place} holds no tokens")
    scope = response.get("scope")
    entry = {
        **told,
        "server_url": told.get("url"),
        "access_token": response.get("access_token"),
        "refresh_token": response.get("refresh_token"),
        "scopes": scope.split() if isinstance(scope, str) else (),
    }
    return _from_entry(entry, place)


def _object(data: bytes | str, place: str) -> Json:
    try:
        told = json.loads(data)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise BadCredentials(f"{place} does not hold a JSON object; mend or remove it, and log in again")
    return told


def _text(entry: Json, name: str, place: str) -> str:
    value = entry.get(name)
    if type(value) is not str or not value.strip() or not value.isascii() or not value.isprintable():
        raise BadCredentials(f"{place} has a `{name}` that is no plain text")
    return value


def _time(entry: Json, place: str) -> int | None:
    value = entry.get("expires_at")
    if value is not None and type(value) is not int:
        raise BadCredentials(f"{place} has an `expires_at` that is no number")
    return value
