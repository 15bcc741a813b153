"""Events about tools that the client of a thread brought along, and runs itself."""

from pycodex.protocol.events.event import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class DynamicToolCallRequest(Event):
    """Answered by an `Answer` whose request id is the call id."""

    _tag = "dynamic_tool_call_request"
    _optional = ("namespace",)
    _persisted_at_length = True

    call_id: "str"
    turn_id: "str"
    tool: "str"
    arguments: "Any"
    namespace: "str | None" = None
    """The group that the client has put the tool into."""

    def to_wire(self) -> "dict[str, Any]":
        wire = super().to_wire()
        return {"type": wire["type"], "callId": self.call_id, "turnId": self.turn_id, **_rest(wire)}


class DynamicToolCallResponse(Event):
    """`duration` is `{"secs", "nanos"}`; `error` says why the client gave no answer."""

    _tag = "dynamic_tool_call_response"
    _optional = ("namespace",)
    _persisted_at_length = True

    call_id: "str"
    turn_id: "str"
    tool: "str"
    arguments: "Any"
    content_items: "tuple[dict[str, Any], ...]"
    success: "bool"
    error: "str | None"
    duration: "dict[str, int]"
    namespace: "str | None" = None


def _rest(wire: "dict[str, Any]") -> "dict[str, Any]":
    return {name: wire[name] for name in ("tool", "arguments", "namespace") if name in wire}
