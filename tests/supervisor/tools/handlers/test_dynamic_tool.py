"""A call of a client's tool goes out, and what the client says goes to the model."""

import json
from typing import Any, cast

import pytest
import trio
import trio.testing
from hypothesis import given

from pycodex.protocol.events.dynamic_tool import DynamicToolCallRequest, DynamicToolCallResponse
from pycodex.protocol.items import FUNCTION_CALL
from pycodex.supervisor.tools.dynamic_tools import declared
from pycodex.supervisor.tools.handlers.dynamic_tool import DynamicTool
from pycodex.supervisor.tools.router import Router
from pycodex.supervisor.tools.services import ToolServices
from pycodex.supervisor.tools.tool import ToolCall
from support.json_texts import ANY_JSON
from support.tool_calls import Bench, make_turn

SCHEMA = {"type": "object", "properties": {"k": {"enum": ["a"]}}, "required": ["k"]}
CANCELLED = "dynamic tool call was cancelled before receiving a response"
INVALID = "dynamic tool response was invalid"
PLUM = {"type": "inputText", "text": "plum"}
PICTURE = {"type": "inputImage", "imageUrl": "data:image/png;base64,AAAA"}


def tool(schema: object = SCHEMA, **more: Any) -> DynamicTool:
    (declaration,) = declared([{"name": "lookup", "description": "Looks.", "inputSchema": schema, **more}])
    return DynamicTool(declaration)


@pytest.fixture
def bench() -> Bench:
    return make_bench()


def make_bench() -> Bench:
    return Bench(make_turn(), cast(ToolServices, None))


async def call(bench: Bench, arguments: str = '{"k":"a"}') -> object:
    made = ToolCall(FUNCTION_CALL, "call-1", "lookup", arguments)
    return (await Router([tool()]).run(made, bench.scope)).output


async def answered(bench: Bench, value: object, arguments: str = '{"k":"a"}') -> object:
    """What the model gets when the client says `value`."""
    outputs: list[object] = []

    async def run() -> None:
        outputs.append(await call(bench, arguments))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        await trio.testing.wait_all_tasks_blocked()
        assert bench.pending.answer("call-1", value)
    return outputs[0]


async def test_call_is_told_when_it_goes_out_and_when_it_is_back(
    bench: Bench, mock_clock: trio.testing.MockClock
) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(call, bench)
        await trio.testing.wait_all_tasks_blocked()
        (request,) = bench.events
        assert request.to_wire() == {
            "type": "dynamic_tool_call_request",
            "callId": "call-1",
            "turnId": "turn-1",
            "tool": "lookup",
            "arguments": {"k": "a"},
        }
        mock_clock.jump(1.5)
        bench.pending.answer("call-1", {"contentItems": [PLUM], "success": True})
    response = bench.events[1]
    assert response == DynamicToolCallResponse(
        call_id="call-1",
        turn_id="turn-1",
        tool="lookup",
        arguments={"k": "a"},
        content_items=(PLUM,),
        success=True,
        error=None,
        duration={"secs": 1, "nanos": 500_000_000},
    )


@pytest.mark.parametrize(
    ("items", "output"),
    [
        ([], []),
        ([PLUM], "plum"),
        ([PICTURE], [{"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]),
        (
            [PLUM, PICTURE],
            [
                {"type": "input_text", "text": "plum"},
                {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
            ],
        ),
        ([PLUM, PLUM], [{"type": "input_text", "text": "plum"}] * 2),
    ],
)
@pytest.mark.parametrize("success", [True, False])
async def test_content_goes_to_the_model(bench: Bench, items: list[Any], output: object, success: bool) -> None:
    assert await answered(bench, {"contentItems": items, "success": success}) == output
    response = bench.events[-1]
    assert isinstance(response, DynamicToolCallResponse)
    assert (response.success, response.error) == (success, None)


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"contentItems": [PLUM]},
        {"contentItems": [PLUM], "success": 1},
        {"contentItems": PLUM, "success": True},
        {"contentItems": ["plum"], "success": True},
        {"contentItems": [{"type": "odd"}], "success": True},
        {"contentItems": [{"type": ["odd"]}], "success": True},
        {"contentItems": [{"type": "inputText"}], "success": True},
        {"contentItems": [{"type": "inputImage", "imageUrl": 3}], "success": True},
        "plum",
        [],
    ],
)
async def test_answer_that_is_none_is_told_to_both_sides(bench: Bench, value: object) -> None:
    assert await answered(bench, value) == INVALID
    response = bench.events[-1]
    assert isinstance(response, DynamicToolCallResponse)
    assert response.content_items == ({"type": "inputText", "text": INVALID},)
    assert not response.success


async def test_client_that_gives_nothing(bench: Bench) -> None:
    assert await answered(bench, None) == CANCELLED
    assert was_cancelled(bench)


async def test_client_that_is_gone(bench: Bench) -> None:
    async with trio.open_nursery() as nursery:

        async def run() -> None:
            assert await call(bench) == CANCELLED

        nursery.start_soon(run)
        await trio.testing.wait_all_tasks_blocked()
        bench.pending.give_up()
    assert was_cancelled(bench)


def was_cancelled(bench: Bench) -> bool:
    response = bench.events[-1]
    assert isinstance(response, DynamicToolCallResponse)
    return (response.content_items, response.success, response.error) == ((), False, CANCELLED)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("nope", "expected ident at line 1 column 2"),
        ("", "EOF while parsing a value at line 1 column 0"),
        ('"x" y', "trailing characters at line 1 column 5"),
    ],
)
async def test_what_is_no_json_does_not_go_out(bench: Bench, arguments: str, text: str) -> None:
    assert await call(bench, arguments) == f"failed to parse function arguments: {text}"
    assert bench.events == []


@pytest.mark.parametrize(("text", "arguments"), [("[1]", [1]), ("null", None), ('{"a":1.0,"a":2}', {"a": 2})])
async def test_any_json_goes_out(bench: Bench, text: str, arguments: object) -> None:
    assert await answered(bench, {"contentItems": [PLUM], "success": True}, text) == "plum"
    request = bench.events[0]
    assert isinstance(request, DynamicToolCallRequest)
    assert request.arguments == arguments


@pytest.mark.parametrize(
    ("schema", "parameters"),
    [
        (SCHEMA, SCHEMA),
        ({"type": "object"}, {"type": "object", "properties": {}}),
        ({}, {"type": "object", "properties": {}}),
        ({"properties": {"a": {}}}, {"type": "object", "properties": {"a": {}}}),
        ({"type": "string"}, {"type": "object", "properties": {}}),
        (True, {"type": "object", "properties": {}}),
        (None, {"type": "object", "properties": {}}),
    ],
)
def test_parameters_are_always_an_object(schema: object, parameters: object) -> None:
    assert tool(schema).spec(make_turn()) == {
        "type": "function",
        "name": "lookup",
        "description": "Looks.",
        "strict": False,
        "parameters": parameters,
    }


def test_deferred_tool_is_known_as_such() -> None:
    assert [tool().is_deferred, tool(deferLoading=True).is_deferred] == [False, True]


@given(ANY_JSON.map(json.dumps), ANY_JSON)
async def test_neither_arguments_nor_answers_break_it(arguments: str, value: object) -> None:
    bench = make_bench()
    outputs: list[object] = []

    async def run() -> None:
        outputs.append(await call(bench, arguments))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        await trio.testing.wait_all_tasks_blocked()
        bench.pending.answer("call-1", value)
    assert len(outputs) == 1
