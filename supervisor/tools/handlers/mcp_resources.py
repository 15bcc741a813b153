"""list_mcp_resources, list_mcp_resource_templates and read_mcp_resource: what MCP servers have to read.

Owns the arguments and the texts. The three are offered where any server is configured, and told like calls of a
server's own tools.
"""

import re
from typing import Any

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.items import FUNCTION_CALL
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.mcp.connections import McpConnections
from pycodex.supervisor.mcp.failures import McpFailure
from pycodex.supervisor.tools import spec
from pycodex.supervisor.tools.arguments import Field, Shape, optional, parse, parse_any, text
from pycodex.supervisor.tools.mcp_calls import McpCall, compact
from pycodex.supervisor.tools.tool import ToolAnswer, ToolCall, ToolScope, ToolSpec

NOBODY = "codex"
"""Stands for the server where none is named."""
_SERVER = "Name of the server, as it is configured."
_LISTING = Shape("ListResourcesArgs", (Field("server", optional(text), None), Field("cursor", optional(text), None)))
_READING = Shape("ReadResourceArgs", (Field("server", text), Field("uri", text)))
_PLACE = re.compile(r" at line \d+ column \d+$")

Json = dict[str, Any]


class _ResourceTool:
    parallel = True
    kinds = (FUNCTION_CALL,)
    name = ""
    shape = _LISTING

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolAnswer:
        raw = parse_any(call.arguments) if call.arguments.strip() else None
        given = _fields(call.arguments, self.shape)
        server = (given["server"] or "").strip()
        told = McpCall(call, scope, {"server": server or NOBODY, "tool": self.name, "arguments": raw})
        servers = scope.services.mcp
        assert servers is not None, "offered where there are servers"
        try:
            answer = await self.asked(servers, server, given)
        except (McpFailure, ModelFacing) as failure:
            told.fail(str(failure))
            raise ModelFacing(str(failure)) from None
        output = compact(answer)
        told.end({"Ok": {"content": [{"type": "text", "text": output}], "isError": False}})
        return ToolAnswer(output)

    async def asked(self, servers: McpConnections, server: str, given: Json) -> Json:
        raise NotImplementedError


class _Listing(_ResourceTool):
    method = ""
    key = ""
    what = ""

    def spec(self, turn: TurnContext) -> ToolSpec:
        del turn
        return spec.function(
            self.name,
            f"Lists the {self.what} of MCP servers: data that a server has to read, such as files or records. Prefer "
            "them to searching the web where they fit.",
            {
                "server": spec.text(f"{_SERVER} Without it, all servers are asked."),
                "cursor": spec.text("Where the next page begins, from an earlier answer of the same server."),
            },
            required=(),
        )

    async def asked(self, servers: McpConnections, server: str, given: Json) -> Json:
        cursor = (given["cursor"] or "").strip() or None
        if server:
            return await self._of_one(servers, server, cursor)
        if cursor is not None:
            raise ModelFacing("cursor can only be used when a server is specified")
        found: list[Json] = []
        for client in servers.clients():
            try:
                items = await client.whole_list(self.method, self.key, timeout_s=client.server.tool_timeout_s)
            except McpFailure:
                # One that has none, or does not answer, hides nothing of the others.
                continue
            found += (_owned(client.server.name, item) for item in items)
        return {self.key: found}

    async def _of_one(self, servers: McpConnections, server: str, cursor: str | None) -> Json:
        try:
            items, following = await servers.client(server).page(self.method, self.key, cursor)
        except McpFailure as failure:
            raise ModelFacing(f"{self.method} failed: {failure}") from None
        listed = [_owned(server, item) for item in items]
        return {"server": server, self.key: listed, **({"nextCursor": following} if following else {})}


class ListMcpResources(_Listing):
    name = "list_mcp_resources"
    method = "resources/list"
    key = "resources"
    what = "resources"


class ListMcpResourceTemplates(_Listing):
    name = "list_mcp_resource_templates"
    method = "resources/templates/list"
    key = "resourceTemplates"
    what = "resource templates"


class ReadMcpResource(_ResourceTool):
    name = "read_mcp_resource"
    shape = _READING

    def spec(self, turn: TurnContext) -> ToolSpec:
        del turn
        return spec.function(
            self.name,
            "Reads one resource of an MCP server.",
            {"server": spec.text(_SERVER), "uri": spec.text("URI of the resource, from a list of that server.")},
            required=("server", "uri"),
        )

    async def asked(self, servers: McpConnections, server: str, given: Json) -> Json:
        uri = given["uri"].strip()
        for name, value in (("server", server), ("uri", uri)):
            if not value:
                raise ModelFacing(f"{name} must be provided")
        try:
            client = servers.client(server)
        except McpFailure as failure:
            raise ModelFacing(f"resources/read failed: {failure}") from None
        try:
            contents = await client.read_resource(uri)
        except McpFailure as failure:
            text_told = f"resources/read failed: resources/read failed for `{server}` ({uri}): {failure}"
            raise ModelFacing(text_told) from None
        return {"server": server, "uri": uri, "contents": contents}


def _owned(server: str, item: Json) -> Json:
    """With the server that has it, which no server can say of another."""
    return {"server": server, **{key: value for key, value in item.items() if key != "server"}}


def _fields(arguments: str, shape: Shape) -> Json:
    """What is wrong with a field is told without its place in the text, which was fine as a text."""
    try:
        return parse(arguments if arguments.strip() else "{}", shape)
    except ModelFacing as error:
        raise ModelFacing(_PLACE.sub("", str(error))) from None
