"""What `exec` answers when the engine asks something: nobody is there who could say more.

Owns these answers. Takes an event, gives the op that answers it, so that no turn waits for ever.
"""

from pycodex.protocol.events.dynamic_tool import DynamicToolCallRequest
from pycodex.protocol.events.mcp import ElicitationRequest
from pycodex.protocol.events.question import RequestUserInput
from pycodex.protocol.events.union import AnyEvent
from pycodex.protocol.ops import Answer


def refusal_of(event: AnyEvent) -> Answer | None:
    """None if the event asks nothing."""
    if isinstance(event, RequestUserInput):
        return Answer(request_id=event.call_id, value={"answers": {}})
    if isinstance(event, DynamicToolCallRequest):
        failed = {"type": "inputText", "text": "dynamic tool request failed"}
        return Answer(request_id=event.call_id, value={"contentItems": [failed], "success": False})
    if isinstance(event, ElicitationRequest):
        return Answer(request_id=event.id, value={"action": "cancel"})
    return None
