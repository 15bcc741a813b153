"""Calls meet at a barrier, or learn why not. The texts were observed on the reference."""

from typing import cast

import pytest
import trio
import trio.testing
from hypothesis import given

from pycodex.protocol.items import FUNCTION_CALL
from pycodex.supervisor.tools.handlers.sync_barrier import SyncBarrier
from pycodex.supervisor.tools.router import Router
from pycodex.supervisor.tools.tool import ToolCall, ToolScope
from support.json_texts import arguments_naming
from support.tool_calls import make_turn

BAD = "failed to parse function arguments: "


async def sync(arguments: str) -> str:
    call = ToolCall(FUNCTION_CALL, "c", "test_sync_tool", arguments)
    answer = await Router([SyncBarrier()]).run(call, cast(ToolScope, None))
    assert isinstance(answer.output, str)
    return answer.output


def at(name: str, participants: int, timeout_ms: int = 60_000) -> str:
    return f'{{"barrier":{{"id":"{name}","participants":{participants},"timeout_ms":{timeout_ms}}}}}'


class Calls:
    """Calls beside each other, and what became of those that are done."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.nursery = nursery
        self.answers: list[str] = []

    async def start(self, arguments: str) -> None:
        self.nursery.start_soon(self._run, arguments)
        await trio.testing.wait_all_tasks_blocked()

    async def _run(self, arguments: str) -> None:
        self.answers.append(await sync(arguments))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("{}", "ok"),
        ("[]", "ok"),
        ("[1]", "ok"),
        ('{"barrier":null,"sleep_before_ms":null,"x":1}', "ok"),
        ('{"barrier":["b",1]}', "ok"),
        ("null", f"{BAD}invalid type: null, expected struct TestSyncArgs at line 1 column 4"),
        ('{"barrier":{"id":"a"}}', f"{BAD}missing field `participants` at line 1 column 21"),
        ('{"barrier":{"id":"a","participants":0}}', "barrier participants must be greater than zero"),
        (
            '{"barrier":{"id":"a","participants":0,"timeout_ms":0}}',
            "barrier participants must be greater than zero",
        ),
        ('{"barrier":{"id":"a","participants":1,"timeout_ms":0}}', "barrier timeout must be greater than zero"),
        (
            '{"barrier":{"id":"a","participants":-1}}',
            f"{BAD}invalid value: integer `-1`, expected usize at line 1 column 38",
        ),
        (
            '{"barrier":{"id":"a","participants":1,"timeout_ms":null}}',
            f"{BAD}invalid type: null, expected u64 at line 1 column 55",
        ),
        ('{"sleep_before_ms":"x"}', f'{BAD}invalid type: string "x", expected u64 at line 1 column 22'),
        ('{"sleep_after_ms":1.5}', f"{BAD}invalid type: floating point `1.5`, expected u64 at line 1 column 21"),
        ('{"barrier":3}', f"{BAD}invalid type: integer `3`, expected struct BarrierArgs at line 1 column 12"),
        (
            '{"barrier":["b"]}',
            f"{BAD}invalid length 1, expected struct BarrierArgs with 3 elements at line 1 column 16",
        ),
    ],
)
async def test_answer(arguments: str, text: str) -> None:
    assert await sync(arguments) == text


async def test_nobody_goes_on_before_all_have_come(autojump_clock: trio.testing.MockClock) -> None:
    async with trio.open_nursery() as nursery:
        calls = Calls(nursery)
        await calls.start(at("m", 3))
        await calls.start(at("m", 3))
        assert calls.answers == []
        assert await sync(at("m", 2)) == "barrier m already registered with 3 participants"
        await calls.start(at("m", 3))
        assert calls.answers == ["ok"] * 3
    # What is over is forgotten.
    assert await sync(at("m", 1)) == "ok"


async def test_those_who_come_later_wait_for_others(autojump_clock: trio.testing.MockClock) -> None:
    async with trio.open_nursery() as nursery:
        calls = Calls(nursery)
        for _ in range(3):
            await calls.start(at("pairs", 2))
        assert calls.answers == ["ok"] * 2
        await calls.start(at("pairs", 2))
        assert calls.answers == ["ok"] * 4


async def test_who_waits_too_long_leaves(autojump_clock: trio.testing.MockClock) -> None:
    assert await sync('{"barrier":{"id":"t","participants":2}}') == "test_sync_tool barrier wait timed out"
    assert trio.current_time() == pytest.approx(1.0)
    async with trio.open_nursery() as nursery:
        calls = Calls(nursery)
        await calls.start(at("t", 3))
        assert await sync(at("t", 3, timeout_ms=20)) == "test_sync_tool barrier wait timed out"
        await calls.start(at("t", 3))
        assert calls.answers == []
        await calls.start(at("t", 3))
        assert calls.answers == ["ok"] * 3


async def test_whoever_is_interrupted_does_not_count(autojump_clock: trio.testing.MockClock) -> None:
    async with trio.open_nursery() as nursery:
        await Calls(nursery).start(at("i", 2))
        nursery.cancel_scope.cancel()
    assert await sync(at("i", 2)) == "test_sync_tool barrier wait timed out"


async def test_sleeps_are_slept(autojump_clock: trio.testing.MockClock) -> None:
    assert await sync('{"sleep_before_ms":1500,"sleep_after_ms":500}') == "ok"
    assert trio.current_time() == pytest.approx(2.0)


def test_schema() -> None:
    tool = SyncBarrier()
    spec = tool.spec(make_turn())
    assert (tool.parallel, spec["name"]) == (True, "test_sync_tool")
    assert list(spec["parameters"]["properties"]) == ["barrier", "sleep_after_ms", "sleep_before_ms"]
    assert spec["parameters"]["properties"]["barrier"]["required"] == ["id", "participants"]


@given(arguments_naming("barrier", "id", "participants", "timeout_ms", "sleep_before_ms", "sleep_after_ms"))
async def test_no_arguments_break_it(arguments: str) -> None:
    with trio.move_on_after(0):
        assert await sync(arguments)
