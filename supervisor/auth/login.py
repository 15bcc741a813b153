"""Who is logged in, and logging in with an API key.

Owns what may be told of a login: who it is, never more than was asked for; and the rule for keys. Which secret goes to
which provider is decided in `credentials`. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.auth.auth_file import API_KEY, CHATGPT, EXTERNAL, Json, StoredLogin
from pycodex.supervisor.auth.claims import account_id_in, claims_of, email_in, plan_in

_MOST_KEY_CHARACTERS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """`mode` is `apikey`, `chatgpt` or `chatgptAuthTokens`."""

    mode: str
    token: str = field(repr=False)
    email: str | None = None
    plan_type: str | None = None
    workspace: str | None = None
    is_stored: bool = False
    """Whether logging out ends it; keys of the environment stay."""


def login_of(env: Mapping[str, str], stored: StoredLogin | None) -> Login | None:
    """Who OpenAI would be asked for, by the order in which credentials count."""
    key = env.get("CODEX_API_KEY", "").strip()
    if key:
        return Login(mode=API_KEY, token=key)
    found = None if stored is None else stored_login(stored)
    if found is not None:
        return found
    key = env.get("OPENAI_API_KEY", "").strip()
    return Login(mode=API_KEY, token=key) if key else None


def stored_login(stored: StoredLogin) -> Login | None:
    if stored.api_key is not None:
        return Login(mode=API_KEY, token=stored.api_key, is_stored=True)
    if stored.access_token is None:
        return None
    claims = claims_of(stored.id_token or "")
    return Login(
        mode=EXTERNAL if stored.is_external else CHATGPT,
        token=stored.access_token,
        email=email_in(claims),
        plan_type=stored.plan or plan_in(claims),
        workspace=stored.account_id if stored.is_external else account_id_in(claims),
        is_stored=True,
    )


def document_of_key(key: str) -> Json:
    """What is stored of a key. Raises UserFacing if it cannot be one."""
    key = key.strip()
    if not key or len(key) > _MOST_KEY_CHARACTERS or not key.isascii() or not key.isprintable():
        raise UserFacing("the key is empty, or no plain text")
    return {"auth_mode": API_KEY, "OPENAI_API_KEY": key}
