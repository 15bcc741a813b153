"""Logging in by key, logging out, and who is logged in."""

import base64
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.auth.login import Login, current_login, log_in_with_key, log_out


def token_of(claims: Any) -> str:
    payload = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{payload}.sig"


def store(home: Path, id_token: Any) -> None:
    tokens = {"access_token": "at", "id_token": id_token, "account_id": "a"}
    stored = {"auth_mode": "chatgpt", "tokens": tokens, "last_refresh": "2026-01-01T00:00:00Z"}
    (home / "auth.json").write_text(json.dumps(stored))


def test_a_key_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    log_in_with_key(str(tmp_path / "home"), " sk-1 \n", store="file")
    path = tmp_path / "home" / "auth.json"
    assert path.read_text() == '{\n  "auth_mode": "apikey",\n  "OPENAI_API_KEY": "sk-1"\n}'
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(path.parent) == ["auth.json"]
    assert current_login({}, str(path.parent)) == Login(mode="apikey", token="sk-1")


@pytest.mark.parametrize(("key", "store"), [("", "file"), ("  ", "file"), ("k" * 5000, "file"), ("ä", "file")])
def test_what_is_no_key_is_not_kept(tmp_path: Path, key: str, store: str) -> None:
    with pytest.raises(UserFacing):
        log_in_with_key(str(tmp_path), key, store=store)
    assert os.listdir(tmp_path) == []


def test_a_store_that_we_do_not_have_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserFacing, match="keyring"):
        log_in_with_key(str(tmp_path), "sk", store="keyring")


def test_a_home_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserFacing, match="os error"):
        log_in_with_key(str(tmp_path / "file"), "sk", store="file")


def test_logging_out_forgets_what_was_stored(tmp_path: Path) -> None:
    log_in_with_key(str(tmp_path), "sk", store="auto")
    assert log_out(str(tmp_path))
    assert not log_out(str(tmp_path))
    assert current_login({}, str(tmp_path)) is None


def test_the_order_is_that_of_requests(tmp_path: Path) -> None:
    log_in_with_key(str(tmp_path), "stored", store="file")
    env = {"CODEX_API_KEY": "first", "OPENAI_API_KEY": "last"}
    tokens = []
    for name in ("CODEX_API_KEY", "auth.json", "OPENAI_API_KEY", ""):
        login = current_login(env, str(tmp_path))
        tokens.append(login.token if login is not None else None)
        env.pop(name, None)
        if name == "auth.json":
            log_out(str(tmp_path))
    assert tokens == ["first", "stored", "last", None]


@pytest.mark.parametrize(
    ("claims", "email", "plan"),
    [
        ({"email": "a@b", "https://api.openai.com/auth": {"chatgpt_plan_type": "Plus"}}, "a@b", "plus"),
        ({"https://api.openai.com/profile": {"email": "c@d"}}, "c@d", None),
        ({"https://api.openai.com/auth": {"chatgpt_plan_type": "golden"}}, None, "unknown"),
        ([], None, None),
    ],
)
def test_a_chatgpt_login_says_who_it_is(tmp_path: Path, claims: Any, email: str | None, plan: str | None) -> None:
    store(tmp_path, token_of(claims))
    assert current_login({}, str(tmp_path)) == Login(mode="chatgpt", token="at", email=email, plan_type=plan)


@pytest.mark.parametrize("id_token", ["", "no token", "a.!!.c", "a.bm8.c", 5, None, {"raw": 1}])
def test_a_token_that_says_nothing_is_no_obstacle(tmp_path: Path, id_token: Any) -> None:
    store(tmp_path, id_token)
    assert current_login({}, str(tmp_path)) == Login(mode="chatgpt", token="at")


def test_a_token_is_not_shown_by_accident() -> None:
    assert "secret" not in repr(Login(mode="apikey", token="secret"))
