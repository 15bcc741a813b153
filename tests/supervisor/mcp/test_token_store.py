"""Where logins to MCP servers are kept."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import keyring
import pytest

from pycodex.supervisor.auth.keyring_calls import NoKeyring
from pycodex.supervisor.mcp.token_store import BadCredentials, StoredTokens, TokenStore, store_key
from support.rings import Ring, put_back

URL = "http://127.0.0.1:43175/mcp"
KEY = "web|8a713127f4e0e11a"
TOKENS = StoredTokens(
    server_name="web",
    server_url=URL,
    client_id="c",
    access_token="at-secret",
    refresh_token="rt-secret",
    expires_at_ms=1795013596652,
    scopes=("a", "b"),
    token_endpoint="http://127.0.0.1:43175/token",
)
CODEX_ENTRY = {
    "server_name": "web",
    "server_url": URL,
    "client_id": "c",
    "access_token": "at-secret",
    "expires_at": 1795013596652,
    "refresh_token": "rt-secret",
    "scopes": [],
}


@pytest.fixture(autouse=True)
def ring() -> Iterator[Ring]:
    ring = Ring()
    with put_back():
        keyring.set_keyring(ring)
        yield ring


def test_the_key_is_the_one_that_codex_uses() -> None:
    assert store_key("web", URL) == KEY


@pytest.mark.parametrize("kind", ["file", "auto", "keyring"])
def test_what_was_kept_is_found_by_name_and_address_alone(tmp_path: Path, kind: str, ring: Ring) -> None:
    ring.is_there = kind == "keyring"
    store = TokenStore(str(tmp_path), kind)
    assert store.load("web", URL) is None
    store.save(TOKENS)
    assert store.load("web", URL) == TOKENS
    assert (store.load("web", URL + "/"), store.load("other", URL)) == (None, None)
    assert "secret" not in repr(TOKENS)
    assert (tmp_path / ".credentials.json").exists() is (kind != "keyring")


def test_an_entry_of_codex_is_read(tmp_path: Path) -> None:
    (tmp_path / ".credentials.json").write_text(json.dumps({KEY: CODEX_ENTRY}), encoding="utf-8")
    assert TokenStore(str(tmp_path), "file").load("web", URL) == replace(TOKENS, scopes=(), token_endpoint=None)


def test_an_entry_under_a_key_that_is_not_its_own_is_nobodys(tmp_path: Path) -> None:
    other = {**CODEX_ENTRY, "server_url": "https://elsewhere.example/mcp"}
    (tmp_path / ".credentials.json").write_text(json.dumps({KEY: other}), encoding="utf-8")
    assert TokenStore(str(tmp_path), "file").load("web", URL) is None


def test_a_keyring_entry_of_codex_is_read_and_the_file_is_left_behind(tmp_path: Path, ring: Ring) -> None:
    response = {"access_token": "at-secret", "token_type": "bearer", "expires_in": 1, "refresh_token": "rt-secret"}
    kept = {"server_name": "web", "url": URL, "client_id": "c", "token_response": response, "expires_at": 1795013596652}
    ring.kept["Codex MCP Credentials", KEY] = json.dumps(kept)
    store = TokenStore(str(tmp_path), "auto")
    assert store.load("web", URL) == replace(TOKENS, scopes=(), token_endpoint=None)
    others = {"x|1": {"server_name": "x"}}
    (tmp_path / ".credentials.json").write_text(json.dumps({KEY: CODEX_ENTRY, **others}), encoding="utf-8")
    store.save(TOKENS)
    assert json.loads((tmp_path / ".credentials.json").read_text(encoding="utf-8")) == others
    told = json.loads(ring.kept["Codex MCP Credentials", KEY])
    assert told["token_response"]["scope"] == "a b"


def test_without_a_keyring_nothing_is_kept_elsewhere(tmp_path: Path, ring: Ring) -> None:
    ring.is_there = False
    store = TokenStore(str(tmp_path), "keyring")
    with pytest.raises(NoKeyring):
        store.save(TOKENS)
    with pytest.raises(NoKeyring):
        store.load("web", URL)
    assert not (tmp_path / ".credentials.json").exists()


@pytest.mark.parametrize(
    "content",
    [
        "[1]",
        "{",
        json.dumps({KEY: 1}),
        json.dumps({KEY: {**CODEX_ENTRY, "access_token": "a\nb-secret"}}),
        json.dumps({KEY: {**CODEX_ENTRY, "expires_at": "soon-secret"}}),
        json.dumps({KEY: {**CODEX_ENTRY, "refresh_token": ["secret"]}}),
    ],
)
def test_what_cannot_be_used_is_named_without_its_secrets(tmp_path: Path, content: str) -> None:
    (tmp_path / ".credentials.json").write_text(content, encoding="utf-8")
    with pytest.raises(BadCredentials) as raised:
        TokenStore(str(tmp_path), "file").load("web", URL)
    assert "secret" not in str(raised.value).replace(str(tmp_path), "")


def test_when_tokens_end() -> None:
    now_ms = int(time.time() * 1000)
    soon, later = replace(TOKENS, expires_at_ms=now_ms + 10_000), replace(TOKENS, expires_at_ms=now_ms + 90_000)
    always = replace(TOKENS, expires_at_ms=None)
    assert (soon.is_expiring, later.is_expiring, always.is_expiring) == (True, False, False)
    assert (soon.is_usable, replace(soon, refresh_token=None).is_usable) == (True, False)
