"""Every call of an answer is answered, in order, whatever its tool does."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest
import trio
import trio.testing

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.items import FUNCTION_CALL, LOCAL_SHELL_CALL
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.session.tool_runs import ToolRuns
from pycodex.supervisor.tools.router import Router
from pycodex.supervisor.tools.tool import ToolAnswer, ToolCall, ToolScope, ToolSpec, call_of
from support.tool_calls import Bench, make_turn


@dataclass
class Fake:
    name: str
    act: Callable[[ToolCall], Awaitable[str]]
    parallel: bool = True
    kinds: tuple[str, ...] = (FUNCTION_CALL, LOCAL_SHELL_CALL)

    def spec(self, turn: TurnContext) -> ToolSpec:
        raise NotImplementedError

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolAnswer:
        del scope
        return ToolAnswer(await self.act(call))


def runs_of(nursery: trio.Nursery, *tools: Fake) -> ToolRuns:
    services: Any = None
    return ToolRuns(nursery, Router(tools), Bench(make_turn(), services).scope)


def start(runs: ToolRuns, name: str, call_id: str) -> None:
    item = {"type": FUNCTION_CALL, "name": name, "arguments": "{}", "call_id": call_id}
    call = call_of(item)
    assert call is not None
    runs.start(item, call)


def answers(items: list[dict[str, Any]]) -> dict[str, str]:
    return {item["call_id"]: item["output"] for item in items}


async def echo(call: ToolCall) -> str:
    return call.call_id


async def test_answers_come_in_the_order_of_the_calls() -> None:
    order: list[str] = []
    gates = {"a": trio.Event(), "b": trio.Event()}

    async def wait(call: ToolCall) -> str:
        await gates[call.call_id].wait()
        order.append(call.call_id)
        return call.call_id

    async with trio.open_nursery() as nursery:
        runs = runs_of(nursery, Fake("wait", wait))
        start(runs, "wait", "a")
        start(runs, "wait", "b")
        gates["b"].set()
        await trio.testing.wait_all_tasks_blocked()
        assert order == ["b"]
        gates["a"].set()
        assert list(answers(await runs.finished())) == ["a", "b"]
    assert len(runs) == 2


async def test_calls_that_end_before_anybody_waits_are_finished() -> None:
    async with trio.open_nursery() as nursery:
        runs = runs_of(nursery, Fake("echo", echo))
        assert await runs.finished() == []
        start(runs, "echo", "a")
        await trio.testing.wait_all_tasks_blocked()
        start(runs, "echo", "b")
        assert answers(await runs.finished()) == {"a": "a", "b": "b"}


async def test_tool_that_wants_to_be_alone_waits_for_those_before_and_holds_up_those_behind() -> None:
    inside: list[str] = []
    gate = trio.Event()

    async def note(call: ToolCall) -> str:
        inside.append(call.call_id)
        if call.call_id == "a":
            await gate.wait()
        return ""

    async with trio.open_nursery() as nursery:
        runs = runs_of(nursery, Fake("both", note), Fake("alone", note, parallel=False))
        for name, call_id in (("both", "a"), ("both", "b"), ("alone", "c"), ("both", "d")):
            start(runs, name, call_id)
        await trio.testing.wait_all_tasks_blocked()
        assert sorted(inside) == ["a", "b"]
        gate.set()
        await runs.finished()
        assert inside[2:] == ["c", "d"]


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (ModelFacing("try harder"), "try harder"),
        (RuntimeError("oops"), "bad failed unexpectedly: oops"),
        (ExceptionGroup("several", [ValueError("x")]), "bad failed unexpectedly: several (1 sub-exception)"),
    ],
)
async def test_error_of_a_tool_is_its_answer_and_nothing_else_fails(error: Exception, answer: str) -> None:
    async def fail(_: ToolCall) -> str:
        raise error

    async with trio.open_nursery() as nursery:
        runs = runs_of(nursery, Fake("bad", fail), Fake("echo", echo))
        start(runs, "bad", "a")
        start(runs, "echo", "b")
        assert answers(await runs.finished()) == {"a": answer, "b": "b"}


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("exec_command", r"aborted by user after \d+\.\ds"),
        ("shell", r"Wall time: \d+\.\d seconds\naborted by user"),
        ("shell_command", r"Wall time: \d+\.\d seconds\naborted by user"),
    ],
)
async def test_calls_that_were_cut_short_say_so(name: str, pattern: str) -> None:
    async def forever(_: ToolCall) -> str:
        await trio.sleep_forever()
        raise AssertionError

    async with trio.open_nursery() as nursery:
        runs = runs_of(nursery, Fake(name, forever), Fake("echo", echo))
        start(runs, "echo", "done")
        start(runs, name, "running")
        start(runs, "unknown", "waiting")
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    said = answers(runs.outputs())
    assert said["done"] == "done"
    assert re.fullmatch(pattern, said["running"])
    assert re.fullmatch(r"aborted by user after \d+\.\ds", said["waiting"])
