"""What is kept of a login, and which are not let in."""

from pathlib import Path

import pytest

from pycodex.supervisor.auth.auth_file import login_in
from pycodex.supervisor.auth.chatgpt_login import LoginTerms, check_workspace, document_of_tokens, external_login
from pycodex.supervisor.auth.grants import LoginFailed
from pycodex.supervisor.auth.oauth import Tokens
from pycodex.supervisor.auth.web import WebAnswer, WebRequest
from support.issuer import ACCOUNT, jwt

TOKENS = Tokens(id_token=jwt(), access_token="at", refresh_token="rt")


async def nobody(_: WebRequest) -> WebAnswer:
    raise AssertionError("nobody is to be asked")


async def nowhere(_: object) -> None:
    raise AssertionError("nothing is to be kept")


def terms(workspace: str | None) -> LoginTerms:
    return LoginTerms(send=nobody, keep=nowhere, originator="tests", workspace=workspace)


def test_what_is_kept_can_be_read_again(tmp_path: Path) -> None:
    login = login_in(document_of_tokens(TOKENS, None), str(tmp_path))
    assert login is not None
    assert (login.access_token, login.refresh_token, login.account_id) == ("at", "rt", ACCOUNT)


@pytest.mark.parametrize("workspace", [None, ACCOUNT])
def test_who_is_let_in(workspace: str | None) -> None:
    check_workspace(terms(workspace), TOKENS)


@pytest.mark.parametrize(
    ("id_token", "error"),
    [(jwt(), "restricted to workspace id ws"), (jwt(None), "did not include"), ("no token", "did not include")],
)
def test_who_is_not(id_token: str, error: str) -> None:
    with pytest.raises(LoginFailed, match=error):
        check_workspace(terms("ws"), Tokens(id_token=id_token))


@pytest.mark.parametrize(("plan", "expected"), [(None, "plus"), ("PRO", "pro"), ("golden", "unknown")])
def test_tokens_of_a_client(plan: str | None, expected: str) -> None:
    login = external_login(jwt(), "ws", plan)
    assert (login.account_id, login.plan, login.is_external, login.refresh_token) == ("ws", expected, True, None)


@pytest.mark.parametrize(("token", "account_id"), [("secret", "ws"), (f"{jwt()}\r\nx: y", "ws"), (jwt(), "w\ns")])
def test_what_could_not_be_sent_is_not_taken(token: str, account_id: str) -> None:
    with pytest.raises(LoginFailed) as caught:
        external_login(token, account_id, None)
    assert "secret" not in str(caught.value)
