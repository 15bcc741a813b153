"""Who is logged in, and what is kept of a key."""

from typing import Any

import pytest

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.auth.auth_file import StoredLogin
from pycodex.supervisor.auth.login import Login, document_of_key, login_of
from support.issuer import ACCOUNT, EMAIL, jwt

KEY = StoredLogin(api_key="stored")


def test_a_key_is_kept_as_it_was_meant() -> None:
    assert document_of_key(" sk-1 \n") == {"auth_mode": "apikey", "OPENAI_API_KEY": "sk-1"}


@pytest.mark.parametrize("key", ["", "  ", "k" * 5000, "ä", "a\nb"])
def test_what_is_no_key_is_not_kept(key: str) -> None:
    with pytest.raises(UserFacing, match="no plain text"):
        document_of_key(key)


@pytest.mark.parametrize(
    ("env", "stored", "token"),
    [
        ({"CODEX_API_KEY": "first", "OPENAI_API_KEY": "last"}, KEY, "first"),
        ({"OPENAI_API_KEY": "last"}, KEY, "stored"),
        ({"OPENAI_API_KEY": " last\n"}, None, "last"),
        ({"OPENAI_API_KEY": "last"}, StoredLogin(), "last"),
        ({"OPENAI_API_KEY": " "}, None, None),
    ],
)
def test_the_order_is_that_of_requests(env: dict[str, str], stored: StoredLogin | None, token: str | None) -> None:
    login = login_of(env, stored)
    assert (login.token if login is not None else None) == token
    assert login is None or login.is_stored == (token == "stored")


def test_a_chatgpt_login_says_who_it_is() -> None:
    stored = StoredLogin(access_token="at", account_id="other", id_token=jwt(plan="Plus"))
    assert login_of({}, stored) == Login(
        mode="chatgpt", token="at", email=EMAIL, plan_type="plus", workspace=ACCOUNT, is_stored=True
    )


def test_tokens_of_a_client_are_told_apart() -> None:
    stored = StoredLogin(access_token="at", account_id="ws", id_token=jwt(), plan="pro", is_external=True)
    assert login_of({}, stored) == Login(
        mode="chatgptAuthTokens", token="at", email=EMAIL, plan_type="pro", workspace="ws", is_stored=True
    )


@pytest.mark.parametrize("id_token", [None, "", "no token"])
def test_a_token_that_says_nothing_is_no_obstacle(id_token: Any) -> None:
    expected = Login(mode="chatgpt", token="at", plan_type="unknown", is_stored=True)
    assert login_of({}, StoredLogin(access_token="at", id_token=id_token)) == expected


def test_a_token_is_not_shown_by_accident() -> None:
    assert "secret" not in repr(Login(mode="apikey", token="secret"))
    assert "secret" not in repr(StoredLogin(api_key="secret", access_token="secret", refresh_token="secret"))
