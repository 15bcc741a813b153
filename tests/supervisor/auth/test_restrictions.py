"""Who must not be logged in, and is not any more."""

from pathlib import Path

import pytest

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.auth.login import Login
from pycodex.supervisor.auth.restrictions import Restrictions, enforce, violation
from support.issuer import store, stored_login

KEY = Login(mode="apikey", token="k")
CHATGPT = Login(mode="chatgpt", token="t", workspace="a")
LENT = Login(mode="chatgptAuthTokens", token="t")


@pytest.mark.parametrize(
    ("login", "restrictions", "wrong"),
    [
        (None, Restrictions(method="api", workspace="a"), None),
        (KEY, Restrictions(), None),
        (KEY, Restrictions(method="api", workspace="a"), None),
        (CHATGPT, Restrictions(method="chatgpt", workspace="a"), None),
        (CHATGPT, Restrictions(method="api"), "API key login is required, but ChatGPT"),
        (LENT, Restrictions(method="api"), "API key login is required, but ChatGPT"),
        (KEY, Restrictions(method="chatgpt"), "ChatGPT login is required, but an API key"),
        (CHATGPT, Restrictions(workspace="b"), "but current credentials belong to a. Logging out."),
        (LENT, Restrictions(workspace="b"), "but current credentials lack a workspace identifier. Logging out."),
    ],
)
def test_violations(login: Login | None, restrictions: Restrictions, wrong: str | None) -> None:
    found = violation(login, restrictions)
    assert (found is None) == (wrong is None)
    assert (wrong or "") in (found or "")


def test_a_stored_login_is_forgotten(tmp_path: Path) -> None:
    path = store(tmp_path, stored_login())
    enforce(Restrictions(method="chatgpt"), {}, str(tmp_path), store="file")
    assert path.exists()
    with pytest.raises(UserFacing, match="Logging out"):
        enforce(Restrictions(method="api"), {}, str(tmp_path), store="file")
    assert not path.exists()
    enforce(Restrictions(method="api"), {}, str(tmp_path), store="file")


def test_a_key_of_the_environment_costs_nobody_the_login(tmp_path: Path) -> None:
    path = store(tmp_path, stored_login())
    with pytest.raises(UserFacing, match="ChatGPT login is required"):
        enforce(Restrictions(method="chatgpt"), {"CODEX_API_KEY": "k"}, str(tmp_path), store="file")
    assert path.exists()
