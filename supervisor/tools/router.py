"""From a call of the model's to the tool that answers it.

Owns the names under which tools are found, and what is answered when there is none or the call is of the wrong kind.
Every call gets an answer: a ModelFacing error becomes one here. Knows no particular tool.
"""

from collections.abc import Iterable

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.items import CUSTOM_TOOL_CALL
from pycodex.supervisor.tools.tool import Tool, ToolAnswer, ToolCall, ToolScope

ABORTED = "aborted"


class Router:
    """`hidden` tools answer although they are not in the request's list."""

    def __init__(self, offered: Iterable[Tool], hidden: Iterable[Tool] = ()) -> None:
        self._offered = {tool.name: tool for tool in offered}
        self._known = {**{tool.name: tool for tool in hidden}, **self._offered}

    def is_parallel(self, call: ToolCall) -> bool:
        """Whether it may run beside others. What was not offered runs alone."""
        tool = self._offered.get(_full_name(call))
        return tool is not None and tool.parallel

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolAnswer:
        tool = self._known.get(_full_name(call))
        if tool is None:
            return ToolAnswer(unsupported(call))
        if call.kind not in tool.kinds:
            return ToolAnswer(ABORTED)
        try:
            return await tool.run(call, scope)
        except ModelFacing as error:
            return ToolAnswer(str(error))


def _full_name(call: ToolCall) -> str:
    return f"{call.namespace}:{call.name}" if call.namespace else call.name


def unsupported(call: ToolCall) -> str:
    """What is answered where no tool is."""
    if call.kind == CUSTOM_TOOL_CALL:
        return f"unsupported custom tool call: {call.name}"
    return f"unsupported call: {_full_name(call)}"
