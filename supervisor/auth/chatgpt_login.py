"""What all ways to log in with ChatGPT have in common: their terms, and what is kept of one that has come about.

Owns which workspace is let in, and the form of what is stored. The ways themselves: `browser_login`, `device_login`.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pycodex.supervisor.auth.auth_file import CHATGPT, Json, StoredLogin
from pycodex.supervisor.auth.claims import account_id_in, claims_of, parsed_claims, plan_in, plan_named
from pycodex.supervisor.auth.grants import LoginFailed
from pycodex.supervisor.auth.keeper import time_now
from pycodex.supervisor.auth.oauth import ISSUER, Tokens
from pycodex.supervisor.auth.web import Send

Keep = Callable[[Json], Awaitable[None]]
"""Stores a login. Raises UserFacing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginTerms:
    send: Send
    keep: Keep
    originator: str
    issuer: str = ISSUER
    workspace: str | None = None
    """The only one that is let in; None: any."""


def check_workspace(terms: LoginTerms, tokens: Tokens) -> None:
    """Raises LoginFailed."""
    if terms.workspace is None:
        return
    actual = account_id_in(claims_of(tokens.id_token or ""))
    if actual is None:
        raise LoginFailed(
            "Login is restricted to a specific workspace, but the token did not include an chatgpt_account_id claim."
        )
    if actual != terms.workspace:
        raise LoginFailed(f"Login is restricted to workspace id {terms.workspace}.")


def document_of_tokens(tokens: Tokens, api_key: str | None) -> Json:
    """What is stored of a login."""
    return {
        "auth_mode": CHATGPT,
        "OPENAI_API_KEY": api_key,
        "tokens": {
            "id_token": tokens.id_token,
            "access_token": tokens.access_token,
            "refresh_token": tokens.refresh_token,
            "account_id": account_id_in(claims_of(tokens.id_token or "")),
        },
        "last_refresh": time_now(),
    }


def external_login(access_token: str, account_id: str, plan: str | None) -> StoredLogin:
    """The login of a client that keeps the tokens itself. Raises LoginFailed."""
    claims = parsed_claims(access_token)
    if claims is None or not access_token.isascii() or not access_token.isprintable():
        raise LoginFailed("invalid ID token format")
    if not account_id.isascii() or not account_id.isprintable():
        raise LoginFailed("the account id is no plain text")
    return StoredLogin(
        access_token=access_token,
        account_id=account_id,
        id_token=access_token,
        plan=plan_named(plan) if plan is not None else plan_in(claims),
        is_external=True,
    )
