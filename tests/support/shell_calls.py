"""Calls of one shell tool on a bench, and what its answers are made of.

Owns how a call is made without any other tool being there, and the reading of the two layouts.
"""

import base64
import json
import re
from typing import Any

from pycodex.protocol.items import FUNCTION_CALL, LOCAL_SHELL_CALL
from pycodex.supervisor.tools.router import Router
from pycodex.supervisor.tools.tool import Tool, ToolAnswer, ToolCall
from support.tool_calls import Bench

_FREEFORM = re.compile(
    r"Exit code: (?P<code>-?\d+)\n"
    r"Wall time: \d+(?:\.\d)? seconds\n"
    r"(?P<remarks>(?:.+\n)*?)"
    r"Output:\n(?P<output>(?s:.*))"
)


async def answer(bench: Bench, tool: Tool, arguments: object) -> ToolAnswer:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return await Router([tool]).run(ToolCall(FUNCTION_CALL, "call-1", tool.name, text), bench.scope)


async def answer_action(bench: Bench, tool: Tool, action: dict[str, Any], *, call_id: str = "call-1") -> ToolAnswer:
    """The same for a call in the form of a local shell's."""
    return await Router([tool]).run(ToolCall(LOCAL_SHELL_CALL, call_id, tool.name, "", action=action), bench.scope)


async def text_of(bench: Bench, tool: Tool, **arguments: object) -> str:
    output = (await answer(bench, tool, arguments)).output
    assert isinstance(output, str)
    return output


def read_structured(output: object) -> tuple[int, str]:
    """Exit code and output."""
    assert isinstance(output, str)
    told = json.loads(output)
    assert list(told) == ["output", "metadata"]
    assert list(told["metadata"])[:2] == ["exit_code", "duration_seconds"]
    return told["metadata"]["exit_code"], told["output"]


def remarks_in(output: object) -> list[str]:
    assert isinstance(output, str)
    remarks: list[str] = json.loads(output)["metadata"].get("remarks", [])
    return remarks


def read_freeform(output: str) -> tuple[int, str]:
    """Exit code and output."""
    found = _FREEFORM.fullmatch(output)
    assert found is not None, output
    return int(found["code"]), found["output"]


def said_in_deltas(bench: Bench, stream: str) -> bytes:
    deltas = bench.told("exec_command_output_delta")
    return b"".join(base64.b64decode(delta["chunk"]) for delta in deltas if delta["stream"] == stream)
