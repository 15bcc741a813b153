"""Events about MCP servers: their start, calls of their tools, and what they ask."""

from pycodex.protocol.events.event import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class McpStartupUpdate(Event):
    """`status` is `{"state"}`, of a failed start with `error`."""

    _tag = "mcp_startup_update"

    server: "str"
    status: "dict[str, Any]"


class McpStartupComplete(Event):
    """None of them is still starting. `failed` are maps of `server` and `error`."""

    _tag = "mcp_startup_complete"

    ready: "tuple[str, ...]"
    failed: "tuple[dict[str, Any], ...]"
    cancelled: "tuple[str, ...]"


class McpToolCallBegin(Event):
    """`invocation` is `{"server", "tool", "arguments"}`."""

    _tag = "mcp_tool_call_begin"

    call_id: "str"
    invocation: "dict[str, Any]"


class McpToolCallEnd(Event):
    """`result` is `{"Ok": what the server answered}` or `{"Err": text}`; `duration` is `{"secs", "nanos"}`."""

    _tag = "mcp_tool_call_end"
    _persisted_at_length = True

    call_id: "str"
    invocation: "dict[str, Any]"
    duration: "dict[str, int]"
    result: "dict[str, Any]"

    @property
    def success(self) -> "bool":
        answered = self.result.get("Ok")
        return answered is not None and answered.get("isError") is not True


class ElicitationRequest(Event):
    """A server asks the person something. Answered by an `Answer` whose request id is this id."""

    _tag = "elicitation_request"
    _optional = ("turn_id",)

    turn_id: "str | None"
    server_name: "str"
    id: "str"
    request: "dict[str, Any]"
