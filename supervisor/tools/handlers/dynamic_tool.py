"""A tool of the client's: the call goes out as an event, and what the client answers goes to the model.

Owns the way of a call out and back, and what is told when there is no answer. How such tools are declared is in
`dynamic_tools`; who the client is nobody here knows.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import trio

from pycodex.protocol.durations import duration_of
from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.events.dynamic_tool import DynamicToolCallRequest, DynamicToolCallResponse
from pycodex.protocol.items import FUNCTION_CALL, input_image, input_text
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.tools.arguments import parse_any
from pycodex.supervisor.tools.dynamic_tools import Declaration
from pycodex.supervisor.tools.tool import ToolAnswer, ToolCall, ToolScope, ToolSpec, Unanswered

if TYPE_CHECKING:
    from pycodex.protocol.items import Part

CANCELLED = "dynamic tool call was cancelled before receiving a response"
INVALID = "dynamic tool response was invalid"

_NO_PARAMETERS = {"type": "object", "properties": {}}
# Kinds of what a client answers with: the field that holds the content, and the part that the model gets.
_PARTS = {"inputText": ("text", input_text), "inputImage": ("imageUrl", input_image)}


@dataclass(frozen=True, slots=True)
class _Reply:
    content_items: tuple[dict[str, Any], ...] = ()
    success: bool = False
    error: str | None = None


@dataclass(frozen=True, slots=True)
class DynamicTool:
    declaration: Declaration
    parallel: bool = False
    kinds: tuple[str, ...] = (FUNCTION_CALL,)

    @property
    def name(self) -> str:
        name: str = self.declaration["name"]
        return name

    @property
    def is_deferred(self) -> bool:
        """Whether the model gets to know it only when it searches for it."""
        return bool(self.declaration["deferLoading"])

    def spec(self, turn: TurnContext) -> ToolSpec:
        del turn
        return {
            "type": "function",
            "name": self.name,
            "description": self.declaration["description"],
            "strict": False,
            "parameters": _parameters(self.declaration["inputSchema"]),
        }

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolAnswer:
        arguments = parse_any(call.arguments)
        started_at = trio.current_time()
        told: dict[str, Any] = {
            "call_id": call.call_id,
            "turn_id": scope.turn.turn_id,
            "tool": self.declaration.get("tool", self.name),
            "namespace": self.declaration.get("namespace"),
            "arguments": arguments,
        }
        reply = await _reply_to(DynamicToolCallRequest(**told), scope)
        duration = duration_of(trio.current_time() - started_at)
        scope.emit(
            DynamicToolCallResponse(
                **told,
                content_items=reply.content_items,
                success=reply.success,
                error=reply.error,
                duration=duration,
            )
        )
        if reply.error is not None:
            raise ModelFacing(reply.error)
        return ToolAnswer(_output(reply.content_items))


def _parameters(schema: object) -> dict[str, Any]:
    """The client's schema. No provider takes parameters that are not an object."""
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        return dict(_NO_PARAMETERS)
    return {**_NO_PARAMETERS, **schema}


async def _reply_to(request: DynamicToolCallRequest, scope: ToolScope) -> _Reply:
    try:
        value = await scope.answer_to(request.call_id, lambda: scope.emit(request))
    except Unanswered:
        value = None
    if value is None:
        return _Reply(error=CANCELLED)
    given = value if isinstance(value, dict) else {}
    items, success = given.get("contentItems"), given.get("success")
    if isinstance(items, list | tuple) and all(map(_is_known, items)) and isinstance(success, bool):
        return _Reply(tuple(items), success)
    return _Reply(({"type": "inputText", "text": INVALID},))


def _is_known(item: object) -> bool:
    if not isinstance(item, dict):
        return False
    return any(item.get("type") == kind and isinstance(item.get(field), str) for kind, (field, _) in _PARTS.items())


def _output(items: "tuple[dict[str, Any], ...]") -> "str | list[Part]":
    """A single text stands for itself."""
    if len(items) == 1 and items[0]["type"] == "inputText":
        text: str = items[0]["text"]
        return text
    return [part(item[field]) for item in items for field, part in (_PARTS[item["type"]],)]
