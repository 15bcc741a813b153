"""Whether an MCP server that is reached over HTTP wants people to log in, and who gives its logins out.

Owns where a server tells that (RFC 8414 and RFC 9728, as the MCP specification uses them), and to which places it may
lead. What it says is untrusted: capped, and only taken where its form is right. Knows no credentials.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import trio

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.config.mcp_servers import HttpServer
from pycodex.supervisor.net.http import Http, NetworkFailure, open_http

DISCOVERY_S = 5.0
MOST_METADATA_BYTES = 256 << 10
MOST_SCOPES = 100
_MOST_URL_CHARS = 4096
_WELL_KNOWN = "/.well-known/oauth-authorization-server"
_OPENID = "/.well-known/openid-configuration"
_RESOURCE = "/.well-known/oauth-protected-resource"
_LOOPBACK = ("127.0.0.1", "::1", "localhost")

Json = dict[str, Any]


class Unsafe(UserFacing):
    """A place that no secret may be sent to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationServer:
    authorization_endpoint: str
    token_endpoint: str
    registration_endpoint: str | None = None
    issuer: str | None = None
    scopes: tuple[str, ...] = ()
    """Those that it says there are."""
    takes_proofs: bool = True
    """Whether it lets us prove that it was us who asked (PKCE)."""


def is_safe(url: str, server_url: str) -> bool:
    """Whether secrets of the login to this server may go there: https, or both on this machine."""
    try:
        parts, own = urlsplit(url), urlsplit(server_url)
        is_local = parts.hostname in _LOOPBACK and own.scheme == "http" and own.hostname in _LOOPBACK
        is_fit = bool(parts.hostname) and (parts.scheme == "https" or (parts.scheme == "http" and is_local))
    except ValueError:
        return False
    is_plain = url.isascii() and url.isprintable() and len(url) <= _MOST_URL_CHARS and "@" not in parts.netloc
    return is_fit and is_plain


def check_place(url: str, server_url: str) -> str:
    """The address, if it is safe. Raises Unsafe."""
    if not is_safe(url, server_url):
        raise Unsafe("logging in leads to an address that is neither https nor, with a server here, on this machine")
    return url


def origin_of(url: str) -> tuple[str, str, int]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def metadata_urls(url: str, well_known: str = _WELL_KNOWN) -> Iterator[str]:
    """Where to look, in this order."""
    parts = urlsplit(url)
    path = parts.path.strip("/")
    places = (f"{well_known}/{path}", f"/{path}{well_known}", well_known) if path else (well_known,)
    for place in places:
        yield urlunsplit((parts.scheme, parts.netloc, place, "", ""))


async def wants_login(server: HttpServer, env: Mapping[str, str]) -> bool:
    """Whether one can log in to it. No, if it does not say so in time."""
    try:
        return await discovered(server, env) is not None
    except Unsafe:
        return False


async def discovered(server: HttpServer, env: Mapping[str, str]) -> AuthorizationServer | None:
    """Who gives out its logins: itself, or whom it names. None if it does not say so in time. Raises Unsafe."""
    with trio.move_on_after(DISCOVERY_S):
        async with open_http(env) as http:
            looking = _Looking(http, server)
            own = await looking.authorization_server(metadata_urls(server.url))
            if own is not None:
                return own
            named = await looking.named_issuer()
            if named is not None:
                places = (*metadata_urls(named), *metadata_urls(named, _OPENID))
                return await looking.authorization_server(places)
    return None


@dataclass(frozen=True, slots=True)
class _Looking:
    http: Http
    server: HttpServer

    async def authorization_server(self, places: Iterable[str]) -> AuthorizationServer | None:
        for place in places:
            told = await self._document(place)
            if told is not None and all(isinstance(told.get(name), str) for name in _ENDPOINTS):
                return _authorization_server(told, self.server.url)
        return None

    async def named_issuer(self) -> str | None:
        for place in metadata_urls(self.server.url, _RESOURCE):
            told = await self._document(place) or {}
            named = told.get("authorization_servers")
            if isinstance(named, list) and named and isinstance(named[0], str):
                return check_place(named[0], self.server.url)
        return None

    async def _document(self, url: str) -> Json | None:
        # What the configuration has for the server is not told to others.
        is_own = origin_of(url) == origin_of(self.server.url)
        headers = list(self.server.http_headers.items()) if is_own else []
        try:
            answer = await self.http.send("GET", url, headers, None)
            told = await answer.text(most_bytes=MOST_METADATA_BYTES, seconds=DISCOVERY_S)
        except NetworkFailure:
            return None
        if answer.status != 200:
            return None
        try:
            document = json.loads(told)
        except (ValueError, RecursionError):
            return None
        return document if isinstance(document, dict) else None


_ENDPOINTS = ("authorization_endpoint", "token_endpoint")


def _authorization_server(told: Json, server_url: str) -> AuthorizationServer:
    registration, issuer = told.get("registration_endpoint"), told.get("issuer")
    methods = told.get("code_challenge_methods_supported")
    return AuthorizationServer(
        authorization_endpoint=check_place(told["authorization_endpoint"], server_url),
        token_endpoint=check_place(told["token_endpoint"], server_url),
        registration_endpoint=check_place(registration, server_url) if isinstance(registration, str) else None,
        issuer=issuer if isinstance(issuer, str) else None,
        scopes=scopes_in(told.get("scopes_supported")),
        takes_proofs=not isinstance(methods, list) or "S256" in methods,
    )


def scopes_in(told: object) -> tuple[str, ...]:
    """Each once, without what cannot be one."""
    if not isinstance(told, list):
        return ()
    words = (word.strip() for word in told[:MOST_SCOPES] if isinstance(word, str))
    return tuple(dict.fromkeys(word for word in words if word and word.isascii() and word.isprintable()))
