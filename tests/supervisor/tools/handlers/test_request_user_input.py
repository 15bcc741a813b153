"""The person is asked where that is allowed, and the model hears the answer. Texts were observed on the reference."""

import json
from typing import Any, cast

import pytest
import trio
import trio.testing
from hypothesis import given

from pycodex.protocol.items import FUNCTION_CALL
from pycodex.supervisor.tools.handlers.request_user_input import RequestUserInput
from pycodex.supervisor.tools.router import Router
from pycodex.supervisor.tools.services import ToolServices
from pycodex.supervisor.tools.tool import ToolCall
from support.json_texts import arguments_naming
from support.tool_calls import Bench, make_turn

BAD = "failed to parse function arguments: "
CANCELLED = "request_user_input was cancelled before receiving a response"
NO_OPTIONS = "request_user_input requires non-empty options for every question"
OPTIONS = [{"label": "A", "description": "first"}, {"label": "B", "description": "second"}]
QUESTION = {"id": "q1", "header": "Pick", "question": "Which?", "options": OPTIONS}


def bench_in(mode: str = "plan", *features: str) -> Bench:
    return Bench(make_turn(mode=mode, features=frozenset(features)), cast(ToolServices, None))


async def ask(bench: Bench, arguments: object) -> str:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    call = ToolCall(FUNCTION_CALL, "call-1", "request_user_input", text)
    answer = await Router([RequestUserInput()]).run(call, bench.scope)
    assert isinstance(answer.output, str)
    return answer.output


async def answered(bench: Bench, arguments: object, value: object) -> str:
    """What the model hears when whoever is asked says `value`."""
    heard: list[str] = []

    async def run() -> None:
        heard.append(await ask(bench, arguments))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        await trio.testing.wait_all_tasks_blocked()
        assert bench.pending.answer("call-1", value)
    return heard[0]


async def test_question_goes_out_and_the_answer_comes_back() -> None:
    bench = bench_in()
    secret = {**QUESTION, "id": "q2", "isSecret": True}
    value = {"answers": {"q1": {"answers": ["Ä"]}, "q2": {"answers": []}}}
    output = await answered(bench, {"questions": [QUESTION, secret]}, value)
    assert output == '{"answers":{"q1":{"answers":["Ä"]},"q2":{"answers":[]}}}'
    (event,) = bench.events
    assert event.to_wire() == {
        "type": "request_user_input",
        "call_id": "call-1",
        "turn_id": "turn-1",
        "questions": [
            {**QUESTION, "isOther": True, "isSecret": False},
            {**QUESTION, "id": "q2", "isOther": True, "isSecret": True},
        ],
    }


@pytest.mark.parametrize(
    ("value", "output"),
    [
        ({"answers": {}}, '{"answers":{}}'),
        ({"answers": {"q1": {"answers": ["A"], "more": 1}}, "more": 1}, '{"answers":{"q1":{"answers":["A"]}}}'),
        (None, CANCELLED),
        ("A", CANCELLED),
        ({}, CANCELLED),
        ({"answers": ["A"]}, CANCELLED),
        ({"answers": {"q1": ["A"]}}, CANCELLED),
        ({"answers": {"q1": {"answers": "A"}}}, CANCELLED),
        ({"answers": {"q1": {"answers": [1]}}}, CANCELLED),
    ],
)
async def test_only_an_answer_is_passed_on(value: object, output: str) -> None:
    assert await answered(bench_in(), {"questions": [QUESTION]}, value) == output


async def test_whoever_gives_up_cancels_the_question() -> None:
    bench = bench_in()
    async with trio.open_nursery() as nursery:

        async def run() -> None:
            assert await ask(bench, {"questions": [QUESTION]}) == CANCELLED

        nursery.start_soon(run)
        await trio.testing.wait_all_tasks_blocked()
        bench.pending.give_up()


@pytest.mark.parametrize("arguments", ["null", "{}", {"questions": [QUESTION]}])
async def test_default_mode_asks_nobody(arguments: object) -> None:
    bench = bench_in("default")
    assert await ask(bench, arguments) == "request_user_input is unavailable in Default mode"
    assert bench.events == []


async def test_feature_allows_it_in_default_mode() -> None:
    bench = bench_in("default", "default_mode_request_user_input")
    assert await answered(bench, {"questions": [QUESTION]}, {"answers": {}}) == '{"answers":{}}'


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("null", f"{BAD}invalid type: null, expected struct RequestUserInputArgs at line 1 column 4"),
        (
            "[]",
            f"{BAD}invalid length 0, expected struct RequestUserInputArgs with 1 element at line 1 column 2",
        ),
        ("{}", f"{BAD}missing field `questions` at line 1 column 2"),
        ('{"questions":[{}]}', f"{BAD}missing field `id` at line 1 column 16"),
        ('{"questions":[{"id":"q","header":"h","question":"w"}]}', NO_OPTIONS),
        ('{"questions":[{"id":"q","header":"h","question":"w","options":null}]}', NO_OPTIONS),
        ('{"questions":[{"id":"q","header":"h","question":"w","options":[]}]}', NO_OPTIONS),
        (
            '{"questions":[{"id":"q","header":"h","question":"w","options":[{}]}]}',
            f"{BAD}missing field `label` at line 1 column 65",
        ),
        (
            '{"questions":[3]}',
            f"{BAD}invalid type: integer `3`, expected struct RequestUserInputQuestion at line 1 column 15",
        ),
        ('{"questions":{}}', f"{BAD}invalid type: map, expected a sequence at line 1 column 13"),
        (
            '{"questions":[{"id":"q","header":"h","question":"w","options":[3]}]}',
            f"{BAD}invalid type: integer `3`, expected struct RequestUserInputQuestionOption at line 1 column 64",
        ),
        (
            '{"questions":[{"id":"q","header":"h","question":"w","isOther":"x","options":[]}]}',
            f'{BAD}invalid type: string "x", expected a boolean at line 1 column 65',
        ),
        ('{"questions":[{"id":"q","id":"h"}]}', f"{BAD}duplicate field `id` at line 1 column 28"),
    ],
)
async def test_wrong_arguments(arguments: str, text: str) -> None:
    bench = bench_in()
    assert await ask(bench, arguments) == text
    assert bench.events == []


@pytest.mark.parametrize(
    "arguments",
    ['{"questions":[]}', '{"questions":[["q","h","w",false,false,[["l","d"]]]]}', '{"questions":[],"x":1}'],
)
async def test_unusual_arguments_that_are_asked(arguments: str) -> None:
    assert await answered(bench_in(), arguments, {"answers": {}}) == '{"answers":{}}'


def properties(schema: dict[str, Any]) -> dict[str, str]:
    return {name: each["type"] for name, each in schema["properties"].items()}


def test_schema() -> None:
    spec = RequestUserInput().spec(make_turn())
    assert properties(spec["parameters"]) == {"questions": "array"}
    question = spec["parameters"]["properties"]["questions"]["items"]
    assert properties(question) == {"header": "string", "id": "string", "options": "array", "question": "string"}
    assert question["required"] == ["id", "header", "question", "options"]
    option = question["properties"]["options"]["items"]
    assert properties(option) == {"description": "string", "label": "string"}
    assert option["required"] == ["label", "description"]


@given(arguments_naming("questions", "id", "header", "question", "options", "label", "description", "isSecret"))
async def test_no_arguments_break_it(arguments: str) -> None:
    with trio.move_on_after(0):
        assert await ask(bench_in(), arguments)
