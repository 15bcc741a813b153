"""Each secret goes to its owner, and to nobody else."""

import json
from pathlib import Path
from typing import Any

import pytest

from pycodex.supervisor.auth.auth_file import StoredLogin
from pycodex.supervisor.auth.credentials import Credentials, MissingCredentials, Token
from pycodex.supervisor.auth.keeper import LoginKeeper
from pycodex.supervisor.auth.web import WebAnswer, WebRequest
from pycodex.supervisor.config.provider import Provider

ALL = {"CODEX_API_KEY": "k-codex", "OPENAI_API_KEY": "k-openai", "MINE": "k-mine"}
FILE_KEY = {"auth_mode": "apikey", "OPENAI_API_KEY": "k-file"}
CHATGPT = {"tokens": {"access_token": "at", "account_id": "acct"}, "last_refresh": "2026-11-15T23:49:01Z"}
OPENAI = Provider(id="openai", name="OpenAI")
FRIEND = Provider(id="friend", name="friend", requires_openai_auth=True)
STRANGER = Provider(id="stranger", name="OpenAI", base_url="https://api.openai.com/v1")


async def nobody(_: WebRequest) -> WebAnswer:
    raise AssertionError("nobody is to be asked")


def credentials(env: dict[str, str], folder: Path) -> Credentials:
    return Credentials(env, LoginKeeper(str(folder), env=env, send=nobody, spawn=lambda *_: None))


async def token(provider: Provider, env: dict[str, str], folder: Path, auth: Any = None) -> Token | None:
    if auth is not None:
        (folder / "auth.json").write_text(json.dumps(auth))
    return await credentials(env, folder).token_for(provider)


@pytest.mark.parametrize("provider", [OPENAI, FRIEND])
@pytest.mark.parametrize(
    ("env", "auth", "expected"),
    [
        (ALL, FILE_KEY, Token("k-codex")),
        ({**ALL, "CODEX_API_KEY": " "}, FILE_KEY, Token("k-file")),
        ({"OPENAI_API_KEY": "k-openai"}, CHATGPT, Token("at", "acct", is_chatgpt=True)),
        ({"OPENAI_API_KEY": " k-openai\n"}, None, Token("k-openai")),
        ({"OPENAI_API_KEY": "k-openai"}, {}, Token("k-openai")),
    ],
)
async def test_order_for_those_who_may(
    provider: Provider, env: dict[str, str], auth: Any, expected: Token, tmp_path: Path
) -> None:
    assert await token(provider, env, tmp_path, auth) == expected


async def test_strangers_get_nothing_even_if_they_look_like_openai(tmp_path: Path) -> None:
    assert await token(STRANGER, ALL, tmp_path, FILE_KEY) is None


@pytest.mark.parametrize("provider_id", ["openai", "stranger"])
async def test_own_secret_comes_first(provider_id: str, tmp_path: Path) -> None:
    by_env = Provider(id=provider_id, name="x", env_key="MINE", bearer_token="k-bearer", requires_openai_auth=True)
    by_config = Provider(id=provider_id, name="x", bearer_token="k-bearer", requires_openai_auth=True)
    assert await token(by_env, ALL, tmp_path, FILE_KEY) == Token("k-mine")
    assert await token(by_config, ALL, tmp_path, FILE_KEY) == Token("k-bearer")


@pytest.mark.parametrize("env", [{}, {"MYKEY": " "}, ALL])
@pytest.mark.parametrize(("instructions", "end"), [(None, ""), ("Get one there.", " Get one there.")])
async def test_missing_key_is_named(env: dict[str, str], instructions: str | None, end: str, tmp_path: Path) -> None:
    provider = Provider(id="own", name="own", env_key="MYKEY", env_key_instructions=instructions)
    with pytest.raises(MissingCredentials) as caught:
        await token(provider, env, tmp_path)
    assert str(caught.value) == f"Missing environment variable: `MYKEY`.{end}"


async def test_openai_without_any_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(MissingCredentials) as caught:
        await token(OPENAI, {}, tmp_path)
    assert "\n" not in str(caught.value)
    assert "CODEX_API_KEY or OPENAI_API_KEY" in str(caught.value)


async def test_a_friend_without_any_is_asked_without(tmp_path: Path) -> None:
    assert await token(FRIEND, {}, tmp_path) is None


async def test_file_is_read_anew_each_time(tmp_path: Path) -> None:
    ours = credentials({"OPENAI_API_KEY": "k"}, tmp_path)
    assert await ours.token_for(OPENAI) == Token("k")
    (tmp_path / "auth.json").write_text(json.dumps(FILE_KEY))
    assert await ours.token_for(OPENAI) == Token("k-file")


async def test_a_key_that_is_refused_has_no_other(tmp_path: Path) -> None:
    assert await credentials({}, tmp_path).after_refusal(Token("k")) is None


async def test_tokens_of_a_client_go_to_openai_and_nobody_else(tmp_path: Path) -> None:
    env = {"OPENAI_API_KEY": "k"}
    keeper = LoginKeeper(str(tmp_path), env=env, send=nobody, spawn=lambda *_: None)
    keeper.external = StoredLogin(access_token="lent", account_id="a", is_external=True)
    ours = Credentials(env, keeper)
    assert await ours.token_for(OPENAI) == Token("lent", "a", is_chatgpt=True)
    assert await ours.token_for(STRANGER) is None


def test_token_does_not_show_itself() -> None:
    assert "secret" not in repr(Token("secret", "secret"))
