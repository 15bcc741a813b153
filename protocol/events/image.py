"""Events about pictures."""

from pycodex.protocol.events.event import Event


class ViewImageToolCall(Event):
    _tag = "view_image_tool_call"
    _persisted_at_length = True

    call_id: "str"
    path: "str"
