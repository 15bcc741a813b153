"""Whether an MCP server that is reached over HTTP wants people to log in.

Owns where a server tells that (RFC 8414, as the MCP specification uses it). What it says is untrusted: capped, and only
looked at for its form. Knows no credentials.
"""

import json
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit, urlunsplit

import trio

from pycodex.supervisor.config.mcp_servers import HttpServer
from pycodex.supervisor.net.http import Http, NetworkFailure, open_http

DISCOVERY_S = 5.0
MOST_METADATA_BYTES = 256 << 10
_WELL_KNOWN = "/.well-known/oauth-authorization-server"


def metadata_urls(url: str) -> Iterator[str]:
    """Where to look, in this order."""
    parts = urlsplit(url)
    path = parts.path.strip("/")
    places = (f"{_WELL_KNOWN}/{path}", f"/{path}{_WELL_KNOWN}", _WELL_KNOWN) if path else (_WELL_KNOWN,)
    for place in places:
        yield urlunsplit((parts.scheme, parts.netloc, place, "", ""))


async def wants_login(server: HttpServer, env: Mapping[str, str]) -> bool:
    """Whether one can log in to it. No, if it does not say so in time."""
    with trio.move_on_after(DISCOVERY_S):
        async with open_http(env) as http:
            for url in metadata_urls(server.url):
                if await _has_metadata(http, url, server):
                    return True
    return False


async def _has_metadata(http: Http, url: str, server: HttpServer) -> bool:
    try:
        answer = await http.send("GET", url, list(server.http_headers.items()), None)
        told = await answer.text(most_bytes=MOST_METADATA_BYTES, seconds=DISCOVERY_S)
    except NetworkFailure:
        return False
    if answer.status != 200:
        return False
    try:
        metadata = json.loads(told)
    except (ValueError, RecursionError):
        return False
    endpoints = ("authorization_endpoint", "token_endpoint")
    return isinstance(metadata, dict) and all(isinstance(metadata.get(name), str) for name in endpoints)
