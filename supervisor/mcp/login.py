"""Logging in to an MCP server: from what it tells about itself to tokens that are kept.

Owns the sequence: who gives out logins, what we are known by there, where the person is sent, and the code that the
browser comes back with. Nobody is sent anywhere here; whoever calls says how long it may take.
"""

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.auth.browser_return import MOST_SHOWN, BrowserReturn
from pycodex.supervisor.auth.callback_server import HOST, bind
from pycodex.supervisor.auth.grants import LoginFailed, new_pkce
from pycodex.supervisor.config.mcp_servers import HttpServer
from pycodex.supervisor.mcp.authorization import Asking, registered
from pycodex.supervisor.mcp.logins import McpLogins, with_grant
from pycodex.supervisor.mcp.oauth import AuthorizationServer, check_place, discovered
from pycodex.supervisor.mcp.token_store import StoredTokens

_CALLBACK = "/callback"


@dataclass(frozen=True, slots=True, kw_only=True)
class McpLoginTerms:
    name: str
    server: HttpServer
    logins: McpLogins
    scopes: tuple[str, ...] | None = None
    """None: those of the configuration, or else those that there are."""
    callback_port: int | None = None
    """None: any."""
    callback_url: str | None = None
    """Where the browser is sent back to, if something else than us leads it here."""


async def log_in(terms: McpLoginTerms, ready: Callable[[str], None]) -> None:
    """Until it has come about; whoever must not wait for ever cancels it. `ready` is told where to send the person.

    Raises LoginFailed or other UserFacing errors.
    """
    _check(terms)
    place = await discovered(terms.server, terms.logins.env)
    if place is None:
        raise LoginFailed("No authorization support detected")
    if not place.takes_proofs:
        raise LoginFailed("the authorization server does not support PKCE with S256")
    listener = await bind(terms.callback_port or 0)
    async with listener:
        port = listener.socket.getsockname()[1]
        redirect_uri = terms.callback_url or f"http://{HOST}:{port}{_CALLBACK}"
        asking = await _asking(terms, place, redirect_uri)
        back = BrowserReturn(path=urlsplit(redirect_uri).path or "/", take=_Taking(terms, asking).take)
        ready(asking.url(back.state))
        await back.wait(listener)


def _check(terms: McpLoginTerms) -> None:
    check_place(terms.server.url, terms.server.url)
    if terms.callback_port == 0:
        raise LoginFailed("invalid MCP OAuth callback port `0`: port must be between 1 and 65535")
    if terms.callback_url is not None:
        try:
            parts = urlsplit(terms.callback_url)
            is_url = parts.scheme in ("http", "https") and bool(parts.hostname)
        except ValueError:
            is_url = False
        if not is_url:
            raise LoginFailed(f"invalid MCP OAuth callback URL `{terms.callback_url}`")


async def _asking(terms: McpLoginTerms, place: AuthorizationServer, redirect_uri: str) -> Asking:
    return Asking(
        server=place,
        client_id=await registered(terms.logins.asker(terms.server), place, redirect_uri),
        redirect_uri=redirect_uri,
        pkce=new_pkce(),
        scopes=terms.scopes if terms.scopes is not None else terms.server.scopes or place.scopes,
        resource=terms.server.oauth_resource,
    )


@dataclass(frozen=True, slots=True)
class _Taking:
    terms: McpLoginTerms
    asking: Asking

    async def take(self, fields: dict[str, str]) -> None:
        """What the browser has brought. Raises UserFacing."""
        code, issuer = fields.get("code"), self.asking.server.issuer
        if not code:
            raise LoginFailed(_told_error(fields.get("error"), fields.get("error_description")))
        if issuer is not None and fields.get("iss", issuer) != issuer:
            raise LoginFailed("failed to handle OAuth callback: it came from another authorization server")
        terms, server = self.terms, self.terms.server
        try:
            grant = await self.asking.grant(terms.logins.asker(server), code)
            tokens = StoredTokens(
                server_name=terms.name,
                server_url=server.url,
                client_id=self.asking.client_id,
                access_token=grant.access_token,
                token_endpoint=self.asking.server.token_endpoint,
            )
            await terms.logins.save(server, with_grant(tokens, grant))
        except UserFacing as error:
            raise LoginFailed(f"failed to handle OAuth callback: {error}") from error


def _told_error(code: str | None, description: str | None) -> str:
    code, description = (" ".join((text or "").split())[:MOST_SHOWN] for text in (code, description))
    if code and description:
        return f"OAuth provider returned `{code}`: {description}"
    if code:
        return f"OAuth provider returned `{code}`"
    return f"OAuth error: {description}" if description else "OAuth provider returned an error"
