"""Every call of an answer is answered, in order, whatever its tool does."""

import json
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from pycodex.protocol.confinement import Enforced
from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.frames import Exited
from pycodex.protocol.items import FUNCTION_CALL, LOCAL_SHELL_CALL
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.model.scripted import Reply, say, serve_script
from pycodex.supervisor.session.tool_runs import ToolRuns
from pycodex.supervisor.tools.router import Router
from pycodex.supervisor.tools.tool import ToolAnswer, ToolCall, ToolScope, ToolSpec, call_of
from support.engine import Place, lines_of, open_engine, plan, run
from support.exec_runs import run_exec
from support.tool_calls import Bench, make_turn


@dataclass
class Fake:
    name: str
    act: Callable[[ToolCall], Awaitable[str]]
    parallel: bool = True
    kinds: tuple[str, ...] = (FUNCTION_CALL, LOCAL_SHELL_CALL)
    usage: Exited | None = None

    def spec(self, turn: TurnContext) -> ToolSpec:
        raise NotImplementedError

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolAnswer:
        del scope
        return ToolAnswer(await self.act(call), usage=self.usage)


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


# What calls have taken


async def test_figures_are_those_of_calls_whose_process_has_ended() -> None:
    usage = Exited(job_id="j", code=0, wall_ms=5.0, enforced=Enforced(level="full"))

    async def forever(_: ToolCall) -> str:
        await trio.sleep_forever()
        raise AssertionError

    async with trio.open_nursery() as nursery:
        tools = (Fake("ran", echo, usage=usage), Fake("plain", echo), Fake("runs", forever, usage=usage))
        runs = runs_of(nursery, *tools)
        for name in ("ran", "plain", "runs"):
            start(runs, name, f"call of {name}")
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    figures = runs.figures()
    assert list(figures) == ["call of ran"]
    assert (figures["call of ran"]["wall_ms"], figures["call of ran"]["sandbox"]) == (5.0, "full")


async def test_answered_calls_are_in_the_log_for_those_who_want_it(caplog: pytest.LogCaptureFixture) -> None:
    async def answered() -> None:
        async with trio.open_nursery() as nursery:
            runs = runs_of(nursery, Fake("echo", echo))
            start(runs, "echo", "a")
            await runs.finished()

    with caplog.at_level(logging.WARNING, "pycodex.session"):
        await answered()
    assert caplog.records == []
    with caplog.at_level(logging.INFO, "pycodex.session"):
        await answered()
    (record,) = caplog.records
    assert json.loads(record.getMessage()) == {"tool": "echo", "call_id": "a", "figures": None, "preview": "a"}


def figures_in(lines: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """By the calls whose answers they stand beside; no other line may have any."""
    found = {}
    for line in lines:
        if "pycodex" in line:
            assert (line["type"], line["payload"]["type"]) == ("response_item", "function_call_output")
            found[line["payload"]["call_id"]] = line["pycodex"]
    return found


async def test_session_file_tells_what_each_command_has_taken(place: Place) -> None:
    first = Reply(
        parts=[
            *run("true", "one"),
            *run("true & true & wait", "several"),
            *run("head -c 3000000 /dev/zero | tr '\\0' x", "prints"),
            *run("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done", "works"),
            *plan("a step", call_id="no process"),
        ]
    )
    async with open_engine(place, [first, Reply(parts=say("done"))]) as engine:
        talk = await engine.start()
        await talk.turn("go")
        (path,) = place.sessions()
        figures = figures_in(lines_of(path))
        thread = await engine.threads.fork(engine.config(), str(path), source="exec")
        assert thread.rollout_path is not None
        assert figures_in(lines_of(thread.rollout_path)) == figures
    assert list(figures) == ["one", "several", "prints", "works"]
    for each in figures.values():
        assert each["wall_ms"] > 0
        assert each["cpu_ms"] > 0
        assert (1 << 20) < each["peak_rss_bytes"] < (1 << 30)
        assert each["dropped_bytes"] == 0
        assert each["sandbox"] in ("full", "landlock")
    assert figures["prints"]["output_bytes"] == 3_000_000
    assert figures["one"]["output_bytes"] == 0
    assert figures["works"]["cpu_ms"] > figures["one"]["cpu_ms"]
    if figures["one"]["sandbox"] == "full":
        assert figures["several"]["processes"] > figures["one"]["processes"] >= 1


async def test_command_that_still_runs_has_no_figures_yet(place: Place) -> None:
    first = Reply(parts=run("read x", "start", tty=True, yield_time_ms=250))
    async with open_engine(place, [first]) as engine:
        talk = await engine.start()
        await talk.turn("go")
        answers = {
            line["payload"]["call_id"]: line["payload"]["output"]
            for line in place.lines()
            if line["payload"].get("type") == "function_call_output"
        }
        assert "session ID" in answers["start"]
        assert figures_in(place.lines()) == {}


async def test_log_file_has_a_line_for_each_call(place: Place) -> None:
    async with serve_script([Reply(parts=run("echo hello", "c")), Reply(parts=say("done"))]) as server:
        place.point_at(server.base_url)
        ran = await run_exec(place, "go", env={"PYCODEX_LOG": "info"})
    assert ran.code == 0
    told = [json.loads(text) for text in logged(place.home) if text.startswith('{"tool"')]
    (line,) = told
    assert (line["tool"], line["call_id"]) == ("exec_command", "c")
    assert line["preview"].endswith("\nOutput:\nhello\n")
    (figures,) = figures_in(place.lines()).values()
    assert line["figures"] == figures


def logged(home: Path) -> list[str]:
    lines = (home / "log" / "pycodex.log").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines]
