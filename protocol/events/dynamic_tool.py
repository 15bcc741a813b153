"""Events about tools that the client of a thread brought along, and runs itself."""

from pycodex.protocol.events.event import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class DynamicToolCallRequest(Event):
    """Answered by an `Answer` whose request id is the call id."""

    _tag = "dynamic_tool_call_request"
    _persisted_at_length = True

    call_id: "str"
    turn_id: "str"
    tool: "str"
    arguments: "Any"

    def to_wire(self) -> "dict[str, Any]":
        wire = super().to_wire()
        return {"type": wire["type"], "callId": self.call_id, "turnId": self.turn_id, **_rest(wire)}


class DynamicToolCallResponse(Event):
    """`duration` is `{"secs", "nanos"}`; `error` says why the client gave no answer."""

    _tag = "dynamic_tool_call_response"
    _persisted_at_length = True

    call_id: "str"
    turn_id: "str"
    tool: "str"
    arguments: "Any"
    content_items: "tuple[dict[str, Any], ...]"
    success: "bool"
    error: "str | None"
    duration: "dict[str, int]"


def _rest(wire: "dict[str, Any]") -> "dict[str, Any]":
    return {"tool": wire["tool"], "arguments": wire["arguments"]}
