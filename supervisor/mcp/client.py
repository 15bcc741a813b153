"""One MCP server, spoken to: the handshake, its tools and its resources.

Owns which requests there are, their time limits, and what an answer must look like. Whoever connects says how the
questions of the server are answered. Everything that a server says is untrusted: bounded, and checked for its form.
"""

import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import trio

from pycodex.protocol.jsonrpc import encode
from pycodex.supervisor.config.mcp_servers import McpServer, StdioServer
from pycodex.supervisor.mcp.failures import ConnectionLost, McpFailure, RpcFailure, TimedOut
from pycodex.supervisor.mcp.link import MOST_MESSAGE_BYTES, Json, Link
from pycodex.supervisor.mcp.names import server_name_problem
from pycodex.supervisor.mcp.peer import INVALID_PARAMS, METHOD_NOT_FOUND, Peer

if TYPE_CHECKING:
    from pycodex.supervisor.mcp.logins import McpLogins

PROTOCOL_VERSION = "2025-06-18"
CLIENT_INFO = {"name": "codex-mcp-client", "title": "Codex", "version": "0.116.0"}
MOST_PAGES = 64
MOST_LISTED = 4096
"""Tools, resources or templates of one server."""
MOST_LISTED_BYTES = MOST_MESSAGE_BYTES
"""After so much of a list no further page is asked for."""
MOST_TOOL_NAME_CHARS = 256
MOST_QUESTION_BYTES = 256 << 10
BETWEEN_QUESTIONS_S = 1.0
"""Nobody answers faster; a server that asks and withdraws all the time is not relayed faster either."""
DECLINED: Json = {"action": "decline"}
UNEXPECTED = "Unexpected response type"
_TOOL_FIELDS: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("title", "description"), str),
    **dict.fromkeys(("outputSchema", "annotations", "_meta"), dict),
    "icons": list,
}

Elicit = Callable[[str, Json], Awaitable[Json]]
"""Puts a question of a server (by its name) to the person; gives what the server is answered."""

logger = logging.getLogger("pycodex.mcp")


@dataclass(frozen=True, slots=True)
class McpTool:
    """As the server describes it: `name` and `inputSchema` are there, and what else is there is of the right type."""

    spec: Json

    @property
    def name(self) -> str:
        name: str = self.spec["name"]
        return name

    @property
    def annotations(self) -> Mapping[str, Any]:
        annotations: Mapping[str, Any] = self.spec.get("annotations", {})
        return annotations


class McpClient:
    """Made by `connected`."""

    def __init__(self, server: McpServer, peer: Peer) -> None:
        self.server = server
        self.tools: tuple[McpTool, ...] = ()
        """Those that the user wants of it, in the order of the server."""
        self._peer = peer

    @property
    def gone(self) -> trio.Event:
        return self._peer.over

    async def call_tool(self, tool: str, arguments: Json | None, *, meta: Json | None = None) -> Json:
        """What it answers: at least `content`. Raises McpFailure; who stops waiting withdraws the call."""
        params: Json = {"name": tool, **({} if arguments is None else {"arguments": arguments})}
        if meta:
            params["_meta"] = meta
        result = await self._peer.request("tools/call", params, timeout_s=self.server.tool_timeout_s)
        if not isinstance(result, dict) or not isinstance(result.setdefault("content", []), list):
            raise McpFailure(UNEXPECTED)
        return result

    async def page(self, method: str, key: str, cursor: str | None = None) -> tuple[list[Json], str | None]:
        """One page of a list, and where the next one begins."""
        params = {} if cursor is None else {"cursor": cursor}
        result = await self._peer.request(method, params, timeout_s=self.server.tool_timeout_s)
        return _page(result, key)

    async def read_resource(self, uri: str) -> list[Json]:
        result = await self._peer.request("resources/read", {"uri": uri}, timeout_s=self.server.tool_timeout_s)
        return _page(result, "contents")[0]

    async def whole_list(self, method: str, key: str, *, timeout_s: float) -> list[Json]:
        """Page after page, as far as that is reasonable, and all of them in the given time."""
        with self._peer.patience.limit(timeout_s):
            return await self._pages(method, key)
        raise TimedOut(f"awaiting {method}", timeout_s)

    async def _pages(self, method: str, key: str) -> list[Json]:
        found: list[Json] = []
        found_bytes = 0
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            items, following = _page(
                await self._peer.request(method, {} if cursor is None else {"cursor": cursor}), key
            )
            found += items
            if following is None or following == cursor or len(found) >= MOST_LISTED:
                break
            found_bytes += len(encode({key: items}))
            if found_bytes > MOST_LISTED_BYTES:
                logger.warning("MCP server %s: its %s are too many to be listed", self.server.name, key)
                break
            cursor = following
        return found[:MOST_LISTED]

    async def load_tools(self, *, declared: bool) -> None:
        """All pages of them in the time that a start may take."""
        timeout_s = self.server.startup_timeout_s
        specs: list[Json] | None = None
        with trio.move_on_after(timeout_s):
            try:
                specs = await self.whole_list("tools/list", "tools", timeout_s=timeout_s)
            except RpcFailure as failure:
                if declared or failure.code != METHOD_NOT_FOUND:
                    raise
                # It has said that it has no tools, and does not even know the question.
                specs = []
        if specs is None:
            raise TimedOut("awaiting tools/list", timeout_s)
        found = [tool for spec in specs if (tool := _tool(spec, self.server.name)) is not None]
        self.tools = tuple(tool for tool in found if self.server.offers(tool.name))


def _page(result: object, key: str) -> tuple[list[Json], str | None]:
    items = result.get(key) if isinstance(result, dict) else None
    if not isinstance(result, dict) or not isinstance(items, list):
        raise McpFailure(UNEXPECTED)
    cursor = result.get("nextCursor")
    return [item for item in items if isinstance(item, dict)], cursor if isinstance(cursor, str) and cursor else None


def _tool(spec: Json, server: str) -> McpTool | None:
    name, schema = spec.get("name"), spec.get("inputSchema")
    if not isinstance(name, str) or not _is_showable(name) or not isinstance(schema, dict):
        logger.warning("MCP server %s: a tool without a name or a schema is left out", server)
        return None
    others = {key: spec[key] for key, kind in _TOOL_FIELDS.items() if isinstance(spec.get(key), kind)}
    return McpTool({"name": name, "inputSchema": schema, **others})


def _is_showable(name: str) -> bool:
    """People are asked about tools by their names: they must see the whole of one, and nothing else."""
    return 0 < len(name) <= MOST_TOOL_NAME_CHARS and name.isprintable()


@asynccontextmanager
async def connected(
    server: McpServer, *, env: Mapping[str, str], elicit: Elicit | None = None, logins: "McpLogins | None" = None
) -> AsyncIterator[McpClient]:
    """A server for the time of the block; afterwards nothing of it is left. Raises McpFailure if it does not start.

    Without `elicit` every question of the server's is declined; without `logins` nobody is logged in.
    """
    problem = server_name_problem(server.name)
    if problem is not None:
        raise McpFailure(problem)
    link = _link(server, env, logins)
    asked = _Asked(server.name, elicit)
    peer = asked.peer = Peer(server.name, link, asked.serve)
    raised: BaseException | None = None
    async with trio.open_nursery() as nursery:
        try:
            yield await _started(McpClient(server, peer), link, peer, nursery)
        except BaseException as error:
            # Raised below: a nursery would wrap it.
            raised = error
        nursery.cancel_scope.cancel()
    if raised is not None:
        raise raised


def _link(server: McpServer, env: Mapping[str, str], logins: "McpLogins | None") -> Link:
    if isinstance(server.transport, StdioServer):
        from pycodex.supervisor.mcp.stdio import StdioLink

        return StdioLink(server.name, server.transport, env)
    from pycodex.supervisor.mcp.http import HttpLink

    if logins is None or server.transport.has_token:
        return HttpLink(server.name, server.transport, env)
    from pycodex.supervisor.mcp.logins import ServerLogin

    return HttpLink(server.name, server.transport, env, ServerLogin(logins, server.name, server.transport))


async def _started(client: McpClient, link: Link, peer: Peer, nursery: trio.Nursery) -> McpClient:
    timeout_s = client.server.startup_timeout_s
    result: Json | None = None
    with trio.move_on_after(timeout_s):
        await nursery.start(link.run)
        nursery.start_soon(peer.run)
        result = await _handshake(peer, link)
    if result is None:
        raise TimedOut("handshaking with MCP server", timeout_s)
    await client.load_tools(declared="tools" in _capabilities(result))
    return client


async def _handshake(peer: Peer, link: Link) -> Json:
    params: Json = {"protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": CLIENT_INFO}
    failed = "handshaking with MCP server failed"
    try:
        result = await peer.request("initialize", params)
    except RpcFailure as failure:
        raise McpFailure(f"{failed}: JSON-RPC error: {failure.code}: {failure.message}") from None
    except ConnectionLost as lost:
        said = "connection closed: initialize response" if str(lost) == str(ConnectionLost()) else str(lost)
        raise McpFailure(f"{failed}: {said}") from None
    version = result.get("protocolVersion") if isinstance(result, dict) else None
    if not isinstance(version, str):
        raise McpFailure(f"{failed}: the server's answer names no protocol version")
    link.agreed(version)
    await peer.notify("notifications/initialized")
    told: Json = result
    return told


def _capabilities(result: Json) -> Json:
    capabilities = result.get("capabilities")
    return capabilities if isinstance(capabilities, dict) else {}


class _Asked:
    """What a server may ask of us."""

    peer: Peer

    def __init__(self, name: str, elicit: Elicit | None) -> None:
        self._name = name
        self._elicit = elicit
        self._asking = trio.Lock()
        self._next_question_at = -math.inf

    async def serve(self, method: str, params: Any) -> Json:
        if method == "ping":
            return {}
        if method == "elicitation/create" and isinstance(params, dict):
            return DECLINED if self._elicit is None else await self._relayed(self._elicit, params)
        raise RpcFailure(METHOD_NOT_FOUND, method)

    async def _relayed(self, elicit: Elicit, params: Json) -> Json:
        if len(encode(params)) > MOST_QUESTION_BYTES:
            raise RpcFailure(INVALID_PARAMS, "the question is too long for a person")
        async with self._asking:
            await trio.sleep_until(self._next_question_at)
            self._next_question_at = trio.current_time() + BETWEEN_QUESTIONS_S
        with self.peer.patience.paused():
            return await elicit(self._name, params)
