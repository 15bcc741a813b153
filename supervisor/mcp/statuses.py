"""What MCP servers offer, found out by asking each of them, and then leaving them again.

Owns the look at many servers at once. One that cannot be reached offers nothing, and keeps nobody waiting longer than
its own start may take.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial

import trio

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.config.mcp_servers import HttpServer, McpServer
from pycodex.supervisor.mcp.client import McpClient, McpTool, connected
from pycodex.supervisor.mcp.failures import McpFailure
from pycodex.supervisor.mcp.link import Json
from pycodex.supervisor.mcp.logins import McpLogins
from pycodex.supervisor.mcp.oauth import wants_login

MOST_AT_ONCE = 16
UNSUPPORTED = "unsupported"
NOT_LOGGED_IN = "notLoggedIn"
BEARER_TOKEN = "bearerToken"
OAUTH = "oAuth"

logger = logging.getLogger("pycodex.mcp")


@dataclass(slots=True)
class ServerStatus:
    name: str
    auth_status: str = UNSUPPORTED
    tools: tuple[McpTool, ...] = ()
    resources: tuple[Json, ...] = ()
    resource_templates: tuple[Json, ...] = ()


async def statuses(
    servers: Iterable[McpServer], env: Mapping[str, str], logins: McpLogins | None = None
) -> list[ServerStatus]:
    """In the order of the servers. Those that are disabled are not asked."""
    found = {server.name: ServerStatus(server.name) for server in servers}
    limiter = trio.CapacityLimiter(MOST_AT_ONCE)
    async with trio.open_nursery() as nursery:
        for server in servers:
            if server.enabled:
                opened = partial(connected, server, env=env, logins=logins)
                nursery.start_soon(_look, opened, found[server.name], limiter)
                nursery.start_soon(_look_at_login, server, env, logins, found[server.name])
    return list(found.values())


async def _look(
    opened: Callable[[], AbstractAsyncContextManager[McpClient]], status: ServerStatus, limiter: trio.CapacityLimiter
) -> None:
    try:
        async with limiter, opened() as client:
            status.tools = client.tools
            status.resources = await _listed(client, "resources/list", "resources", ("uri", "name"))
            status.resource_templates = await _listed(
                client, "resources/templates/list", "resourceTemplates", ("uriTemplate", "name")
            )
    except McpFailure as failure:
        logger.warning("MCP server %s: %s", status.name, failure)


async def _listed(client: McpClient, method: str, key: str, required: tuple[str, ...]) -> tuple[Json, ...]:
    try:
        items = await client.whole_list(method, key, timeout_s=client.server.startup_timeout_s)
    except McpFailure as failure:
        logger.debug("MCP server %s: %s", client.server.name, failure)
        return ()
    return tuple(item for item in items if all(isinstance(item.get(name), str) for name in required))


async def _look_at_login(
    server: McpServer, env: Mapping[str, str], logins: McpLogins | None, status: ServerStatus
) -> None:
    transport = server.transport
    if not isinstance(transport, HttpServer):
        return
    if transport.has_token:
        status.auth_status = BEARER_TOKEN
    elif logins is not None and await _is_logged_in(server.name, transport, logins):
        status.auth_status = OAUTH
    elif await wants_login(transport, env):
        status.auth_status = NOT_LOGGED_IN


async def _is_logged_in(name: str, transport: HttpServer, logins: McpLogins) -> bool:
    """Whether there are tokens that can be used, or renewed."""
    try:
        tokens = await logins.stored(name, transport)
    except UserFacing as error:
        logger.warning("MCP server %s: %s", name, error)
        return False
    return tokens is not None and tokens.is_usable
