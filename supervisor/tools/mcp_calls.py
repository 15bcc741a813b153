"""A call that goes to an MCP server, told from its beginning to its end.

Owns the two events around it, and the form in which what came of it is given to the model. What is asked of the server
is the tool's affair.
"""

import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import trio

from pycodex.protocol.durations import duration_of
from pycodex.protocol.events.mcp import McpToolCallBegin, McpToolCallEnd
from pycodex.protocol.items import input_image, input_text
from pycodex.supervisor.mcp.failures import McpFailure
from pycodex.supervisor.tools.tool import ToolCall, ToolScope

if TYPE_CHECKING:
    from pycodex.protocol.items import Part

NO_PICTURES = "<image content omitted because you do not support image input>"

Json = dict[str, Any]


class McpCall:
    """Of one call: tells its beginning when it is made, and its end once."""

    def __init__(self, call: ToolCall, scope: ToolScope, invocation: Json) -> None:
        self._told: Json = {"call_id": call.call_id, "invocation": invocation}
        self._scope = scope
        self._started_at = trio.current_time()
        scope.emit(McpToolCallBegin(**self._told))

    def restart_clock(self) -> None:
        """What has passed until now was somebody else's time."""
        self._started_at = trio.current_time()

    async def result_of(self, ask: Callable[[], Awaitable[Json]], *, failed: str) -> Json:
        """What the server answers; raises McpFailure, with `failed` in front. Either is told."""
        self.restart_clock()
        try:
            result = await ask()
        except McpFailure as failure:
            error = McpFailure(f"{failed}{failure}")
            self.fail(str(error))
            raise error from None
        self.end({"Ok": result})
        return result

    def fail(self, text: str) -> None:
        self.end({"Err": text})

    def end(self, result: Json) -> None:
        duration = duration_of(trio.current_time() - self._started_at)
        self._scope.emit(McpToolCallEnd(**self._told, duration=duration, result=result))


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def text_output(text: str) -> str:
    """A single text, in the form of a server's answer."""
    return compact([{"type": "text", "text": text}])


def output_of(result: Json, *, takes_images: bool) -> "str | list[Part]":
    """What the model gets of a server's answer."""
    structured = result.get("structuredContent")
    if structured is not None:
        return compact(structured)
    content: list[Any] = result["content"]
    if not takes_images:
        content = [{"type": "text", "text": NO_PICTURES} if _is_picture(block) else block for block in content]
    if not any(map(_is_picture, content)):
        return compact(content)
    return [_part(block) for block in content]


def _is_picture(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") == "image" and isinstance(block.get("data"), str)


def _part(block: Any) -> "Part":
    if not _is_picture(block):
        is_text = isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)
        return input_text(block["text"] if is_text else compact(block))
    data = block["data"]
    if data.startswith("data:"):
        return input_image(data)
    kind = block.get("mimeType")
    return input_image(f"data:{kind if isinstance(kind, str) and kind else 'application/octet-stream'};base64,{data}")
