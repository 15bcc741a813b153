"""Every call finds its tool, or is told that there is none."""

from dataclasses import dataclass
from typing import cast

import pytest

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.items import CUSTOM_TOOL_CALL, FUNCTION_CALL, LOCAL_SHELL_CALL
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.tools.router import Router
from pycodex.supervisor.tools.tool import ToolAnswer, ToolCall, ToolScope, ToolSpec

SCOPE = cast(ToolScope, None)


@dataclass(frozen=True)
class Echo:
    name: str = "echo"
    parallel: bool = True
    kinds: tuple[str, ...] = (FUNCTION_CALL,)

    def spec(self, turn: TurnContext) -> ToolSpec:
        return {"name": self.name, "model": turn.model}

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolAnswer:
        assert scope is SCOPE
        if call.arguments == "bad":
            raise ModelFacing("that was wrong")
        if call.arguments == "bug":
            raise KeyError("bug")
        return ToolAnswer(f"{self.name} {call.arguments}")


ROUTER = Router([Echo(), Echo("docs:find", parallel=False)], hidden=[Echo("old")])


def function(name: str, arguments: str = "x", namespace: str | None = None) -> ToolCall:
    return ToolCall(FUNCTION_CALL, "c", name, arguments, namespace)


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (function("echo"), "echo x"),
        (function("old"), "old x"),
        (function("find", namespace="docs"), "docs:find x"),
        (function("echo", "bad"), "that was wrong"),
        (function("nothing"), "unsupported call: nothing"),
        (function("find"), "unsupported call: find"),
        (function("echo", namespace="docs"), "unsupported call: docs:echo"),
        (ToolCall(CUSTOM_TOOL_CALL, "c", "nothing", ""), "unsupported custom tool call: nothing"),
        (ToolCall(CUSTOM_TOOL_CALL, "c", "echo", ""), "aborted"),
        (ToolCall(LOCAL_SHELL_CALL, "c", "local_shell", ""), "unsupported call: local_shell"),
    ],
)
async def test_answer(call: ToolCall, answer: str) -> None:
    assert (await ROUTER.run(call, SCOPE)).output == answer


async def test_bug_of_a_tool_is_not_hidden() -> None:
    with pytest.raises(KeyError):
        await ROUTER.run(function("echo", "bug"), SCOPE)


def test_only_what_was_offered_as_parallel_runs_beside_others() -> None:
    calls = [function("echo"), function("find", namespace="docs"), function("old"), function("nothing")]
    assert [ROUTER.is_parallel(call) for call in calls] == [True, False, False, False]
