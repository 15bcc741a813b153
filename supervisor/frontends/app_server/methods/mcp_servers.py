"""`mcpServerStatus/list` and its like: the MCP servers that are configured.

Owns what can be said of a server without speaking to it: its name, and whether it is sent a token. We are no client of
MCP, so no server is started, and none has tools or resources for us.
"""

from collections.abc import Mapping
from typing import Any

from pycodex.protocol.app.mcp_servers import ListMcpServerStatusParams, McpServerOauthLoginParams
from pycodex.supervisor.frontends.app_server.latest_config import latest_config
from pycodex.supervisor.frontends.app_server.method import INTERNAL_ERROR, Caller, Json, Method, RpcError, Server
from pycodex.supervisor.frontends.app_server.paging import page


async def list_status(caller: Caller, params: ListMcpServerStatusParams) -> Json:
    servers = sorted(_configured(caller.server).items())
    found, cursor = page(servers, cursor=params.cursor, limit=params.limit, what="MCP servers")
    return {"data": [_status(name, server) for name, server in found], "nextCursor": cursor}


def _configured(server: Server) -> Mapping[str, Any]:
    servers: Mapping[str, Any] = latest_config(server).settings.values.get("mcp_servers", {})
    return servers


def _status(name: str, server: Mapping[str, Any]) -> Json:
    return {
        "name": name,
        "tools": {},
        "resources": [],
        "resourceTemplates": [],
        "authStatus": "bearerToken" if _has_token(server) else "unsupported",
    }


def _has_token(server: Mapping[str, Any]) -> bool:
    if "url" not in server or server.get("enabled") is False:
        return False
    names = [*server.get("http_headers", {}), *server.get("env_http_headers", {})]
    return "bearer_token_env_var" in server or any(name.lower() == "authorization" for name in names)


async def reload(caller: Caller, params: None) -> Json:
    del params
    # There is nothing to connect anew, but a mistake in the settings is told.
    latest_config(caller.server)
    return {}


async def log_in(caller: Caller, params: McpServerOauthLoginParams) -> Json:
    server = _configured(caller.server).get(params.name)
    if server is None:
        raise RpcError(f"No MCP server named '{params.name}' found.")
    if "url" not in server:
        raise RpcError("OAuth login is only supported for streamable HTTP servers.")
    raise RpcError(
        f"failed to login to MCP server '{params.name}': logging in to MCP servers is not supported",
        code=INTERNAL_ERROR,
    )


METHODS = (
    Method(name="mcpServerStatus/list", params=ListMcpServerStatusParams, run=list_status),
    Method(name="config/mcpServer/reload", params=None, run=reload),
    Method(name="mcpServer/oauth/login", params=McpServerOauthLoginParams, run=log_in),
)
