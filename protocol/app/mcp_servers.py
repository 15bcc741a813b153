"""MCP servers: their state, tools and resources, and logging in to them."""

from typing import Annotated, Any, Literal

from pydantic import Field

from pycodex.protocol.app.wire import I64, U32, Named, Params, Sparse, Wire


class Tool(Wire):
    name: str
    title: Sparse[str | None] = None
    description: Sparse[str | None] = None
    input_schema: Any
    output_schema: Sparse[Any] = None
    annotations: Sparse[Any] = None
    icons: Sparse[list[Any] | None] = None
    meta: Annotated[Sparse[Any], Field(alias="_meta")] = None


class Resource(Wire):
    annotations: Sparse[Any] = None
    description: Sparse[str | None] = None
    mime_type: Sparse[str | None] = None
    name: str
    size: Sparse[I64 | None] = None
    title: Sparse[str | None] = None
    uri: str
    icons: Sparse[list[Any] | None] = None
    meta: Annotated[Sparse[Any], Field(alias="_meta")] = None


class ResourceTemplate(Wire):
    annotations: Sparse[Any] = None
    uri_template: str
    name: str
    title: Sparse[str | None] = None
    description: Sparse[str | None] = None
    mime_type: Sparse[str | None] = None


McpAuthStatus = Annotated[Literal["unsupported", "notLoggedIn", "bearerToken", "oAuth"], Named("McpAuthStatus")]


class McpServerStatus(Wire):
    name: str
    tools: dict[str, Tool]
    resources: list[Resource]
    resource_templates: list[ResourceTemplate]
    auth_status: McpAuthStatus


class ListMcpServerStatusParams(Params):
    cursor: str | None = None
    limit: U32 | None = None


class ListMcpServerStatusResponse(Wire):
    data: list[McpServerStatus]
    next_cursor: str | None = None


class McpServerRefreshResponse(Wire):
    pass


class McpServerOauthLoginParams(Params):
    name: str
    scopes: Sparse[list[str] | None] = None
    timeout_secs: Sparse[I64 | None] = None


class McpServerOauthLoginResponse(Wire):
    authorization_url: str


class McpServerOauthLoginCompletedNotification(Wire):
    name: str
    success: bool
    error: Sparse[str | None] = None


# What follows is not in 0.116.


class McpServerToolCallParams(Params):
    thread_id: str
    server: str
    tool: str
    arguments: Any = None
    meta: Annotated[Any, Field(alias="_meta")] = None


class McpServerToolCallResponse(Wire):
    content: list[Any]
    structured_content: Sparse[Any] = None
    is_error: Sparse[bool | None] = None
    meta: Annotated[Sparse[Any], Field(alias="_meta")] = None


class McpResourceReadParams(Params):
    thread_id: str | None = None
    server: str
    uri: str


class McpResourceReadResponse(Wire):
    contents: list[Any]


McpServerStartupState = Annotated[Literal["starting", "ready", "failed", "cancelled"], Named("McpServerStartupState")]


class McpServerStatusUpdatedNotification(Wire):
    thread_id: str | None = None
    name: str
    status: McpServerStartupState
    error: str | None = None
