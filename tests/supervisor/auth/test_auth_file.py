"""auth.json, sound and otherwise."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pycodex.supervisor.auth.auth_file import BadAuthFile, StoredLogin, read_login

TOKENS = {"id_token": "jwt", "access_token": "at-secret", "refresh_token": "rt", "account_id": "acct-1"}
CHATGPT = {"auth_mode": "chatgpt", "OPENAI_API_KEY": None, "tokens": TOKENS, "last_refresh": "2026-11-15T23:49:01Z"}
LOGGED_IN = StoredLogin(access_token="at-secret", account_id="acct-1")


def stored(folder: Path, content: Any) -> str:
    path = folder / "auth.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


@pytest.mark.parametrize(
    ("content", "login"),
    [
        ({"auth_mode": "apikey", "OPENAI_API_KEY": "k"}, StoredLogin(api_key="k")),
        ({"OPENAI_API_KEY": "k"}, StoredLogin(api_key="k")),
        ({"OPENAI_API_KEY": "k", "tokens": TOKENS, "last_refresh": "x"}, StoredLogin(api_key="k")),
        ({**CHATGPT, "OPENAI_API_KEY": "k"}, LOGGED_IN),
        (CHATGPT, LOGGED_IN),
        ({**CHATGPT, "auth_mode": "chatgptAuthTokens"}, LOGGED_IN),
        ({**CHATGPT, "auth_mode": None}, LOGGED_IN),
        ({**CHATGPT, "tokens": {**TOKENS, "account_id": None}}, StoredLogin(access_token="at-secret")),
        ({**CHATGPT, "last_refresh": None}, None),
        ({**CHATGPT, "tokens": None}, None),
        ({"auth_mode": "apikey", "OPENAI_API_KEY": None}, None),
        ({"auth_mode": "apikey", "OPENAI_API_KEY": " "}, None),
        ({}, None),
    ],
)
def test_login(content: Any, login: StoredLogin | None, tmp_path: Path) -> None:
    assert read_login(stored(tmp_path, content)) == login


def test_no_file_no_login(tmp_path: Path) -> None:
    assert read_login(str(tmp_path / "auth.json")) is None
    assert read_login(str(tmp_path / "none" / "auth.json")) is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"OPENAI_API_KEY": "sk-secret"', "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ("[]", "does not hold a JSON object"),
        ({"OPENAI_API_KEY": 5}, "`OPENAI_API_KEY` that is no plain text"),
        ({"OPENAI_API_KEY": "sk-secret\nx"}, "`OPENAI_API_KEY` that is no plain text"),
        ({"auth_mode": "magic", "OPENAI_API_KEY": "sk-secret"}, "`auth_mode`"),
        ({**CHATGPT, "tokens": "at-secret"}, "`tokens` that are no object"),
        ({**CHATGPT, "tokens": {"access_token": ["at-secret"]}}, "`access_token`"),
        ("x" * (1 << 20) + "y", "is larger than"),
    ],
)
def test_bad_file_is_an_error_that_tells_no_secret(content: Any, reason: str, tmp_path: Path) -> None:
    path = stored(tmp_path, content)
    with pytest.raises(BadAuthFile, match=reason) as caught:
        read_login(path)
    assert str(caught.value).startswith(f"{path} ")
    assert "secret" not in str(caught.value)


def test_what_is_no_file_is_an_error_and_no_wait(tmp_path: Path) -> None:
    path = tmp_path / "auth.json"
    os.mkfifo(path)
    with pytest.raises(BadAuthFile, match="is not a regular file"):
        read_login(str(path))
    with pytest.raises(BadAuthFile, match="is not a regular file"):
        read_login(str(tmp_path))
