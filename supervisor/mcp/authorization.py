"""What an authorization server is asked for the login to an MCP server, and what its answers mean.

Owns the parameters (RFC 6749, 7591, 7636, 8707) and the reading of answers; keeps nothing. No error repeats a secret
that was sent.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pycodex.supervisor.auth.grants import (
    LoginFailed,
    LoginRefused,
    Pkce,
    RefreshFailed,
    code_in,
    reason_in,
    token_in,
    without_secrets,
)
from pycodex.supervisor.auth.web import Send, WebAnswer, WebRequest, form_request, json_request
from pycodex.supervisor.mcp.oauth import AuthorizationServer, origin_of, scopes_in

CLIENT_NAME = "Codex"
_LONGEST_S = 10 * 365 * 24 * 3600
_REFUSALS = ("invalid_grant", "invalid_client", "unauthorized_client")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    access_token: str = field(repr=False)
    refresh_token: str | None = field(default=None, repr=False)
    expires_in_s: int | None = None
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Sends requests; what the configuration has for the MCP server goes along where that is who is asked."""

    send: Send
    server_url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    async def ask(self, request: WebRequest) -> WebAnswer:
        own = self.headers if origin_of(request.url) == origin_of(self.server_url) else {}
        headers = {**own, "accept": "application/json", **request.headers}
        return await self.send(WebRequest(method=request.method, url=request.url, headers=headers, body=request.body))


async def registered(asker: Asker, server: AuthorizationServer, redirect_uri: str) -> str:
    """The id that we are known by there. Raises LoginFailed or Unreachable."""
    if server.registration_endpoint is None:
        raise LoginFailed("Dynamic client registration not supported")
    wish = {
        "client_name": CLIENT_NAME,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_method": "none",
        "response_types": ["code"],
    }
    answer = await asker.ask(json_request(server.registration_endpoint, wish))
    if not answer.is_good:
        raise LoginFailed(f"client registration failed: {answer.status_text}: {reason_in(answer.text)}")
    told = answer.fields
    client_id = token_in(told, "client_id")
    if client_id is None:
        raise LoginFailed("client registration failed: the answer holds no client id")
    if told.get("token_endpoint_auth_method", "none") != "none":
        raise LoginFailed("client registration failed: only clients with a secret are let in")
    return client_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What the person is sent to the authorization server with, and what goes with the code that comes back."""

    server: AuthorizationServer
    client_id: str
    redirect_uri: str
    pkce: Pkce
    scopes: tuple[str, ...] = ()
    resource: str | None = None

    def url(self, state: str) -> str:
        from urllib.parse import quote_plus, urlencode

        fields = {
            "response_type": "code",
            "client_id": self.client_id,
            "state": state,
            "code_challenge": self.pkce.challenge,
            "code_challenge_method": "S256",
            "redirect_uri": self.redirect_uri,
            **({"scope": " ".join(self.scopes)} if self.scopes else {}),
            **_resource(self.resource),
        }
        place = self.server.authorization_endpoint.partition("#")[0]
        return f"{place}{'&' if '?' in place else '?'}{urlencode(fields, quote_via=quote_plus, safe='')}"

    async def grant(self, asker: Asker, code: str) -> Grant:
        """Raises LoginFailed or Unreachable."""
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "code_verifier": self.pkce.verifier,
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            **_resource(self.resource),
        }
        answer = await asker.ask(form_request(self.server.token_endpoint, fields))
        if not answer.is_good:
            reason = without_secrets(reason_in(answer.text), code, self.pkce.verifier)
            raise LoginFailed(f"OAuth token exchange failed: {answer.status_text}: {reason}")
        grant = _grant(answer)
        if grant is None:
            raise LoginFailed("OAuth token exchange failed: the answer holds no bearer token")
        return grant


async def refreshed(
    asker: Asker, token_endpoint: str, *, client_id: str, refresh_token: str, resource: str | None
) -> Grant:
    """Raises LoginRefused, RefreshFailed or Unreachable."""
    fields = {
        "grant_type": "refresh_token",
        "refresh_token": refresh_token,
        "client_id": client_id,
        **_resource(resource),
    }
    answer = await asker.ask(form_request(token_endpoint, fields))
    if not answer.is_good:
        reason = without_secrets(reason_in(answer.text), refresh_token)
        failure = LoginRefused if answer.status in (400, 401) and code_in(answer.text) in _REFUSALS else RefreshFailed
        raise failure(f"OAuth token refresh failed: {answer.status_text}: {reason}")
    grant = _grant(answer)
    if grant is None:
        raise RefreshFailed("OAuth token refresh failed: the answer holds no bearer token")
    return grant


def _resource(resource: str | None) -> dict[str, str]:
    return {"resource": resource.strip()} if resource and resource.strip() else {}


def _grant(answer: WebAnswer) -> Grant | None:
    told = answer.fields
    access, kind, seconds, scope = (
        token_in(told, "access_token"),
        told.get("token_type", "bearer"),
        told.get("expires_in"),
        told.get("scope"),
    )
    if access is None or not isinstance(kind, str) or kind.lower() != "bearer":
        return None
    is_time = isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 <= seconds < _LONGEST_S
    return Grant(
        access_token=access,
        refresh_token=token_in(told, "refresh_token"),
        expires_in_s=int(seconds) if is_time and seconds is not None else None,
        scopes=scopes_in(scope.split()) if isinstance(scope, str) else (),
    )
