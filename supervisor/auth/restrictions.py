"""`forced_login_method` and `forced_chatgpt_workspace_id`: who must not be logged in.

Owns the judgement, its words, and that a login which is not allowed is forgotten.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.auth.auth_file import API_KEY, login_in
from pycodex.supervisor.auth.login import Login, login_of
from pycodex.supervisor.auth.stores import store_of

CHATGPT_DISABLED = "ChatGPT login is disabled. Use API key login instead."
KEY_DISABLED = "API key login is disabled. Use ChatGPT login instead."


@dataclass(frozen=True, slots=True, kw_only=True)
class Restrictions:
    """`method` is `api` or `chatgpt`; None: any."""

    method: str | None = None
    workspace: str | None = None


def enforce(restrictions: Restrictions, env: Mapping[str, str], codex_home: str, *, store: str) -> None:
    """Raises UserFacing if whoever is logged in must not be; a stored login is then gone."""
    kept = store_of(store, codex_home, {})
    document = kept.load()
    login = login_of(env, None if document is None else login_in(document, kept.place))
    wrong = violation(login, restrictions)
    if login is None or wrong is None:
        return
    if login.is_stored:
        try:
            kept.remove()
        except UserFacing as error:
            wrong = f"{wrong} {error}"
    raise UserFacing(wrong, prefix="")


def violation(login: Login | None, restrictions: Restrictions) -> str | None:
    """What is wrong with who is logged in."""
    if login is None:
        return None
    is_key = login.mode == API_KEY
    if restrictions.method == "api" and not is_key:
        return "API key login is required, but ChatGPT is currently being used. Logging out."
    if restrictions.method == "chatgpt" and is_key:
        return "ChatGPT login is required, but an API key is currently being used. Logging out."
    if restrictions.workspace is None or is_key or login.workspace == restrictions.workspace:
        return None
    restricted = f"Login is restricted to workspace {restrictions.workspace}, but current credentials"
    if login.workspace is None:
        return f"{restricted} lack a workspace identifier. Logging out."
    return f"{restricted} belong to {login.workspace}. Logging out."
