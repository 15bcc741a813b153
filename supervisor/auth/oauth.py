"""What the issuer of ChatGPT logins is asked, and what its answers mean.

Owns the addresses, the parameters and the texts of refusals; keeps nothing. No error repeats a secret that was sent.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pycodex.supervisor.auth.grants import (
    LoginFailed,
    LoginRefused,
    RefreshFailed,
    code_in,
    reason_in,
    token_in,
    without_secrets,
)
from pycodex.supervisor.auth.web import Send, form_request, json_request

CLIENT_ID = "app_EMoamEEZ73f0CkXaXp7hrann"
ISSUER = "https://auth.openai.com"
REFRESH_URL_VARIABLE = "CODEX_REFRESH_TOKEN_URL_OVERRIDE"
_SCOPE = "openid profile email offline_access api.connectors.read api.connectors.invoke"

_NOT_REFRESHED = "Your access token could not be refreshed"
_SIGN_IN = "Please log out and sign in again."
_REFUSALS = {
    "refresh_token_expired": f"{_NOT_REFRESHED} because your refresh token has expired. {_SIGN_IN}",
    "refresh_token_reused": f"{_NOT_REFRESHED} because your refresh token was already used. {_SIGN_IN}",
    "refresh_token_invalidated": f"{_NOT_REFRESHED} because your refresh token was revoked. {_SIGN_IN}",
}
REFUSED = f"{_NOT_REFRESHED}. {_SIGN_IN}"
OTHER_ACCOUNT = (
    f"{_NOT_REFRESHED} because you have since logged out or signed in to another account. Please sign in again."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """After a refresh only those that are new."""

    id_token: str | None = field(default=None, repr=False)
    access_token: str | None = field(default=None, repr=False)
    refresh_token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorization:
    """What the person is sent to the issuer with."""

    issuer: str
    redirect_uri: str
    challenge: str
    state: str
    originator: str
    workspace: str | None = None

    @property
    def url(self) -> str:
        from urllib.parse import quote, urlencode

        fields = {
            "response_type": "code",
            "client_id": CLIENT_ID,
            "redirect_uri": self.redirect_uri,
            "scope": _SCOPE,
            "code_challenge": self.challenge,
            "code_challenge_method": "S256",
            "id_token_add_organizations": "true",
            "codex_cli_simplified_flow": "true",
            "state": self.state,
            "originator": self.originator,
        }
        if self.workspace is not None:
            fields["allowed_workspace_id"] = self.workspace
        return f"{self.issuer}/oauth/authorize?{urlencode(fields, quote_via=quote, safe='')}"


async def tokens_for_code(send: Send, issuer: str, *, code: str, redirect_uri: str, verifier: str) -> Tokens:
    """Raises LoginFailed or Unreachable."""
    fields = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_uri,
        "client_id": CLIENT_ID,
        "code_verifier": verifier,
    }
    answer = await send(form_request(f"{issuer}/oauth/token", fields))
    if not answer.is_good:
        reason = without_secrets(reason_in(answer.text), code, verifier)
        raise LoginFailed(f"token endpoint returned status {answer.status_text}: {reason}")
    found = answer.fields
    tokens = Tokens(**{name: token_in(found, name) for name in ("id_token", "access_token", "refresh_token")})
    if None in (tokens.id_token, tokens.access_token, tokens.refresh_token):
        raise LoginFailed("the token endpoint did not send all of id_token, access_token and refresh_token")
    return tokens


async def api_key_for(send: Send, issuer: str, id_token: str) -> str | None:
    """A key that some accounts get with their login; None if this one does not."""
    from pycodex.supervisor.auth.web import Unreachable

    fields = {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "client_id": CLIENT_ID,
        "requested_token": "openai-api-key",
        "subject_token": id_token,
        "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
    }
    try:
        answer = await send(form_request(f"{issuer}/oauth/token", fields))
    except Unreachable:
        return None
    return token_in(answer.fields, "access_token") if answer.is_good else None


async def refreshed_tokens(send: Send, env: Mapping[str, str], refresh_token: str) -> Tokens:
    """Raises LoginRefused or RefreshFailed."""
    from pycodex.supervisor.auth.web import Unreachable

    url = env.get(REFRESH_URL_VARIABLE) or f"{ISSUER}/oauth/token"
    content = {"client_id": CLIENT_ID, "grant_type": "refresh_token", "refresh_token": refresh_token}
    try:
        answer = await send(json_request(url, content))
    except Unreachable as error:
        raise RefreshFailed(f"Failed to refresh token: {error}") from error
    if answer.status == 401:
        raise LoginRefused(_REFUSALS.get((code_in(answer.text) or "").lower(), REFUSED))
    if not answer.is_good:
        reason = without_secrets(reason_in(answer.text), refresh_token)
        raise RefreshFailed(f"Failed to refresh token: {answer.status_text}: {reason}")
    found = answer.fields
    tokens = Tokens(**{name: token_in(found, name) for name in ("id_token", "access_token", "refresh_token")})
    if tokens.access_token is None:
        raise RefreshFailed("Failed to refresh token: the answer holds no access token")
    return tokens
