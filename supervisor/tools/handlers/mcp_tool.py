"""A tool of an MCP server, offered to the model under a name of ours.

Owns its specification, the question to the person where the tool's hints call for one, and the text of what came of it.
The call itself is the connection's affair.
"""

from dataclasses import dataclass
from typing import Any

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.events.question import RequestUserInput
from pycodex.protocol.items import FUNCTION_CALL
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.mcp.connections import OfferedTool
from pycodex.supervisor.mcp.failures import McpFailure
from pycodex.supervisor.policy.mcp_tools import mcp_tool_key, needs_approval
from pycodex.supervisor.tools.arguments import PARSE_ERROR, parse_any
from pycodex.supervisor.tools.mcp_calls import McpCall, compact, output_of, text_output
from pycodex.supervisor.tools.tool import ToolAnswer, ToolCall, ToolScope, ToolSpec, Unanswered

ALLOW = "Allow"
ALLOW_FOR_SESSION = "Allow for this session"
CANCEL = "Cancel"
CANCELLED = "user cancelled MCP tool call"
REJECTED = "user rejected MCP tool call"
HEADER = "Approve app tool call?"
_OPTIONS = (
    {"label": ALLOW, "description": "Run the tool and continue."},
    {"label": ALLOW_FOR_SESSION, "description": "Run the tool, and do not ask about it again in this session."},
    {"label": CANCEL, "description": "Do not run it."},
)


class _Refused(Exception):
    """The person does not want the call."""


@dataclass(frozen=True, slots=True)
class McpToolHandler:
    name: str
    offered: OfferedTool
    parallel: bool = False
    kinds: tuple[str, ...] = (FUNCTION_CALL,)

    @property
    def _server(self) -> str:
        return self.offered.client.server.name

    def spec(self, turn: TurnContext) -> ToolSpec:
        del turn
        told = self.offered.tool.spec
        return {
            "type": "function",
            "name": self.name,
            "description": told.get("description", ""),
            "strict": False,
            "parameters": _parameters(told["inputSchema"]),
        }

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolAnswer:
        try:
            arguments = _arguments(call.arguments)
        except ModelFacing as error:
            return ToolAnswer(text_output(f"err: {error}"))
        tool = self.offered.tool
        told = McpCall(call, scope, {"server": self._server, "tool": tool.name, "arguments": arguments})
        try:
            await self._ask(call, scope)
        except _Refused as refusal:
            told.restart_clock()
            told.fail(str(refusal))
            return ToolAnswer(text_output(str(refusal)))
        failed = f"tool call error: tool call failed for `{self._server}/{tool.name}`\n\nCaused by:\n    "
        try:
            result = await told.result_of(lambda: self._called(arguments), failed=failed)
        except McpFailure as failure:
            return ToolAnswer(text_output(str(failure)))
        return ToolAnswer(output_of(result, takes_images=scope.turn.model_info.takes_images))

    async def _called(self, arguments: Any) -> dict[str, Any]:
        if arguments is not None and not isinstance(arguments, dict):
            raise McpFailure("MCP tool arguments must be a JSON object")
        return await self.offered.client.call_tool(self.offered.tool.name, arguments)

    async def _ask(self, call: ToolCall, scope: ToolScope) -> None:
        """Nothing where nobody needs to be asked, or has been already."""
        turn, approvals = scope.turn, scope.services.approvals
        tool = self.offered.tool
        key = mcp_tool_key(self._server, tool.name)
        hints, mode = tool.annotations, turn.permissions.mode
        if key in approvals or not needs_approval(hints, approval_policy=turn.approval_policy, mode=mode):
            return
        question_id = f"mcp_tool_call_approval_{call.call_id}"
        question = {
            "id": question_id,
            "header": HEADER,
            # As JSON: a name must not end its own quotes and go on as if we said it.
            "question": f"Allow the {self._server} MCP server to run tool {compact(tool.name)}?",
            "isOther": False,
            "isSecret": False,
            "options": list(_OPTIONS),
        }
        asked = RequestUserInput(call_id=call.call_id, turn_id=turn.turn_id, questions=(question,))
        try:
            choice = _choice(await scope.answer_to(call.call_id, lambda: scope.emit(asked)), question_id)
        except Unanswered:
            choice = None
        if choice == ALLOW_FOR_SESSION:
            approvals.grant([key])
        elif choice != ALLOW:
            raise _Refused(CANCELLED if choice in (None, CANCEL) else REJECTED)


def _arguments(text: str) -> Any:
    """None where the model gave none."""
    if not text.strip():
        return None
    try:
        return parse_any(text)
    except ModelFacing as error:
        raise ModelFacing(str(error).removeprefix(PARSE_ERROR)) from None


def _parameters(schema: dict[str, Any]) -> dict[str, Any]:
    """The server's schema. Providers want to see properties, even if there are none."""
    if isinstance(schema.get("properties"), dict):
        return schema
    return {**schema, "properties": {}}


def _choice(value: object, question_id: str) -> str | None:
    answers = value.get("answers") if isinstance(value, dict) else None
    answer = answers.get(question_id) if isinstance(answers, dict) else None
    given = answer.get("answers") if isinstance(answer, dict) else None
    first = given[0] if isinstance(given, list | tuple) and given else None
    return first if isinstance(first, str) else None
