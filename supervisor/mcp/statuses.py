"""What MCP servers offer, found out by asking each of them, and then leaving them again.

Owns the look at many servers at once. One that cannot be reached offers nothing, and keeps nobody waiting longer than
its own start may take.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import trio

from pycodex.supervisor.config.mcp_servers import HttpServer, McpServer
from pycodex.supervisor.mcp.client import McpClient, McpTool, connected
from pycodex.supervisor.mcp.failures import McpFailure
from pycodex.supervisor.mcp.link import Json
from pycodex.supervisor.mcp.oauth import wants_login

MOST_AT_ONCE = 16
UNSUPPORTED = "unsupported"
NOT_LOGGED_IN = "notLoggedIn"
BEARER_TOKEN = "bearerToken"

logger = logging.getLogger("pycodex.mcp")


@dataclass(slots=True)
class ServerStatus:
    name: str
    auth_status: str = UNSUPPORTED
    tools: tuple[McpTool, ...] = ()
    resources: tuple[Json, ...] = ()
    resource_templates: tuple[Json, ...] = ()


async def statuses(servers: Iterable[McpServer], env: Mapping[str, str]) -> list[ServerStatus]:
    """In the order of the servers. Those that are disabled are not asked."""
    found = {server.name: ServerStatus(server.name) for server in servers}
    limiter = trio.CapacityLimiter(MOST_AT_ONCE)
    async with trio.open_nursery() as nursery:
        for server in servers:
            if server.enabled:
                nursery.start_soon(partial(_look, server, env, found[server.name], limiter))
                nursery.start_soon(_look_at_login, server, env, found[server.name])
    return list(found.values())


async def _look(server: McpServer, env: Mapping[str, str], status: ServerStatus, limiter: trio.CapacityLimiter) -> None:
    try:
        async with limiter, connected(server, env=env) as client:
            status.tools = client.tools
            status.resources = await _listed(client, "resources/list", "resources", ("uri", "name"))
            status.resource_templates = await _listed(
                client, "resources/templates/list", "resourceTemplates", ("uriTemplate", "name")
            )
    except McpFailure as failure:
        logger.warning("MCP server %s: %s", server.name, failure)


async def _listed(client: McpClient, method: str, key: str, required: tuple[str, ...]) -> tuple[Json, ...]:
    try:
        items = await client.whole_list(method, key, timeout_s=client.server.startup_timeout_s)
    except McpFailure as failure:
        logger.debug("MCP server %s: %s", client.server.name, failure)
        return ()
    return tuple(item for item in items if all(isinstance(item.get(name), str) for name in required))


async def _look_at_login(server: McpServer, env: Mapping[str, str], status: ServerStatus) -> None:
    transport = server.transport
    if not isinstance(transport, HttpServer):
        return
    if transport.has_token:
        status.auth_status = BEARER_TOKEN
    elif await wants_login(transport, env):
        status.auth_status = NOT_LOGGED_IN
