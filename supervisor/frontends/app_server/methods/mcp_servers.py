"""`mcpServerStatus/list` and its like: the MCP servers that are configured, and what they offer.

Owns what clients are told of servers. For its list it connects to each server by itself, and leaves it again: threads
have connections of their own, which `config/mcpServer/reload` renews.
"""

from typing import TYPE_CHECKING

from pycodex.protocol.app.mcp_servers import ListMcpServerStatusParams, McpServerOauthLoginParams
from pycodex.supervisor.config.mcp_servers import HttpServer
from pycodex.supervisor.frontends.app_server.latest_config import latest_config
from pycodex.supervisor.frontends.app_server.method import INTERNAL_ERROR, Caller, Json, Method, RpcError
from pycodex.supervisor.frontends.app_server.paging import page

if TYPE_CHECKING:
    from pycodex.supervisor.mcp.client import McpTool
    from pycodex.supervisor.mcp.statuses import ServerStatus


async def list_status(caller: Caller, params: ListMcpServerStatusParams) -> Json:
    servers = list(latest_config(caller.server).mcp_servers.values())
    found, cursor = page(servers, cursor=params.cursor, limit=params.limit, what="MCP servers")
    if not found:
        return {"data": [], "nextCursor": cursor}
    from pycodex.supervisor.mcp.statuses import statuses

    return {"data": [_told(each) for each in await statuses(found, caller.server.env)], "nextCursor": cursor}


def _told(status: "ServerStatus") -> Json:
    return {
        "name": status.name,
        "tools": _told_tools(status.tools),
        "resources": list(status.resources),
        "resourceTemplates": list(status.resource_templates),
        "authStatus": status.auth_status,
    }


def _told_tools(tools: "tuple[McpTool, ...]") -> Json:
    """By the names that the model would know them by; of two with the same name it knows the first."""
    from pycodex.supervisor.mcp.names import sanitised

    told: Json = {}
    for tool in tools:
        told.setdefault(sanitised(tool.name), tool.spec)
    return told


async def reload(caller: Caller, params: None) -> Json:
    del params
    # There is nothing to connect anew, but a mistake in the settings is told.
    latest_config(caller.server)
    return {}


async def log_in(caller: Caller, params: McpServerOauthLoginParams) -> Json:
    server = latest_config(caller.server).mcp_servers.get(params.name)
    if server is None:
        raise RpcError(f"No MCP server named '{params.name}' found.")
    if not isinstance(server.transport, HttpServer):
        raise RpcError("OAuth login is only supported for streamable HTTP servers.")
    raise RpcError(
        f"failed to login to MCP server '{params.name}': logging in to MCP servers is not supported",
        code=INTERNAL_ERROR,
    )


METHODS = (
    Method(name="mcpServerStatus/list", params=ListMcpServerStatusParams, run=list_status, may_wait=True),
    Method(name="config/mcpServer/reload", params=None, run=reload),
    Method(name="mcpServer/oauth/login", params=McpServerOauthLoginParams, run=log_in),
)
