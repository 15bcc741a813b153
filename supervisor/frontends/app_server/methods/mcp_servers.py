"""`mcpServerStatus/list` and its like: the MCP servers that are configured, and what they offer.

Owns what clients are told of servers. For its list it connects to each server by itself, and leaves it again: threads
have connections of their own, which `config/mcpServer/reload` renews.
"""

from typing import TYPE_CHECKING

from pycodex.protocol.app.mcp_servers import (
    ListMcpServerStatusParams,
    McpResourceReadParams,
    McpServerOauthLoginParams,
    McpServerToolCallParams,
)
from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.config.mcp_servers import HttpServer
from pycodex.supervisor.frontends.app_server.connection import Call
from pycodex.supervisor.frontends.app_server.latest_config import latest_config
from pycodex.supervisor.frontends.app_server.method import INTERNAL_ERROR, Caller, Json, Method, RpcError
from pycodex.supervisor.frontends.app_server.methods.calls import call_of, end_of, loaded
from pycodex.supervisor.frontends.app_server.paging import page
from pycodex.supervisor.mcp.failures import McpFailure

if TYPE_CHECKING:
    from pycodex.supervisor.frontends.app_server.login_attempts import Completed
    from pycodex.supervisor.mcp.client import McpTool
    from pycodex.supervisor.mcp.connections import McpConnections
    from pycodex.supervisor.mcp.logins import McpLogins
    from pycodex.supervisor.mcp.statuses import ServerStatus

LOGIN_S = 300.0
"""How long a person may take, if the client does not say."""
MOST_LOGIN_S = 24 * 3600.0


async def list_status(caller: Caller, params: ListMcpServerStatusParams) -> Json:
    servers = list(latest_config(caller.server).mcp_servers.values())
    found, cursor = page(servers, cursor=params.cursor, limit=params.limit, what="MCP servers")
    if not found:
        return {"data": [], "nextCursor": cursor}
    from pycodex.supervisor.mcp.statuses import statuses

    told = await statuses(found, caller.server.env, _logins(call_of(caller)))
    return {"data": [_told(each) for each in told], "nextCursor": cursor}


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
    """Every thread that is loaded connects anew, when its next turn begins."""
    del params
    call = call_of(caller)
    servers = latest_config(call.server).mcp_servers
    for live in call.server.live.all():
        live.thread.use_mcp_servers(servers, _logins(call))
    return {}


async def call_tool(caller: Caller, params: McpServerToolCallParams) -> Json:
    """By the client itself: no model has asked for it, and nobody is asked whether it may be done."""
    servers = _servers_of(call_of(caller), params.thread_id)
    arguments, meta = params.arguments, params.meta
    if arguments is not None and not isinstance(arguments, dict):
        raise RpcError("arguments must be an object")
    try:
        result = await servers.call_tool(
            params.server, params.tool, arguments, meta=meta if isinstance(meta, dict) else None
        )
    except McpFailure as failure:
        raise RpcError(str(failure), code=INTERNAL_ERROR) from None
    known = ("content", "structuredContent", "isError", "_meta")
    return {key: result[key] for key in known if result.get(key) is not None}


async def read_resource(caller: Caller, params: McpResourceReadParams) -> Json:
    call = call_of(caller)
    try:
        if params.thread_id is not None:
            client = await _servers_of(call, params.thread_id).ready(params.server)
            return {"contents": await client.read_resource(params.uri)}
        return {"contents": await _read_by_itself(call, params.server, params.uri)}
    except McpFailure as failure:
        raise RpcError(str(failure), code=INTERNAL_ERROR) from None


async def _read_by_itself(call: Call, name: str, uri: str) -> list[Json]:
    """Without a thread the server is connected to for this alone."""
    from pycodex.supervisor.mcp.client import connected

    server = latest_config(call.server).mcp_servers.get(name)
    if server is None or not server.enabled:
        raise McpFailure(f"unknown MCP server '{name}'")
    async with connected(server, env=call.server.env, logins=_logins(call)) as client:
        return await client.read_resource(uri)


def _servers_of(call: Call, thread_id: str) -> "McpConnections":
    servers = loaded(call, thread_id).thread.mcp
    if servers is None:
        raise RpcError("the thread has no MCP servers")
    return servers


def _logins(call: Call) -> "McpLogins":
    return call.server.threads.mcp_logins(call.server.codex_home)


async def log_in(caller: Caller, params: McpServerOauthLoginParams) -> Json:
    call = call_of(caller)
    config = latest_config(call.server)
    server = config.mcp_servers.get(params.name)
    if server is None:
        raise RpcError(f"No MCP server named '{params.name}' found.")
    if not isinstance(server.transport, HttpServer):
        raise RpcError("OAuth login is only supported for streamable HTTP servers.")
    from pycodex.supervisor.mcp.login import McpLoginTerms
    from pycodex.supervisor.mcp.oauth import scopes_in

    terms = McpLoginTerms(
        name=params.name,
        server=server.transport,
        logins=_logins(call),
        scopes=None if params.scopes is None else scopes_in(params.scopes),
        callback_port=config.mcp_oauth_callback_port,
        callback_url=config.mcp_oauth_callback_url,
    )
    limit_s = LOGIN_S if params.timeout_secs is None else min(max(params.timeout_secs, 1), MOST_LOGIN_S)
    try:
        url = await call.server.logins.start_mcp(call.nursery, terms, _tell_end(call, params.name), limit_s=limit_s)
    except UserFacing as error:
        raise RpcError(f"failed to login to MCP server '{params.name}': {error}", code=INTERNAL_ERROR) from None
    return {"authorizationUrl": url}


def _tell_end(call: Call, name: str) -> "Completed":
    """Everybody is told how it has ended, but not before its beginning was answered."""
    answered = end_of(call)

    async def completed(_: str, error: str | None) -> None:
        await answered.wait()
        outcome: Json = {"name": name, "success": error is None, **({} if error is None else {"error": error})}
        call.server.broadcast("mcpServer/oauthLogin/completed", outcome)

    return completed


METHODS = (
    Method(name="mcpServerStatus/list", params=ListMcpServerStatusParams, run=list_status, may_wait=True),
    Method(name="config/mcpServer/reload", params=None, run=reload),
    Method(name="mcpServer/oauth/login", params=McpServerOauthLoginParams, run=log_in, may_wait=True),
    Method(name="mcpServer/tool/call", params=McpServerToolCallParams, run=call_tool, may_wait=True),
    Method(name="mcpServer/resource/read", params=McpResourceReadParams, run=read_resource, may_wait=True),
)
