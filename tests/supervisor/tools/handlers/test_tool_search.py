"""Deferred tools are found by what they are for."""

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.protocol.items import TOOL_SEARCH_CALL, output_for
from pycodex.supervisor.tools.dynamic_tools import declared
from pycodex.supervisor.tools.handlers.dynamic_tool import DynamicTool
from pycodex.supervisor.tools.handlers.tool_search import ToolSearch
from pycodex.supervisor.tools.router import Router
from pycodex.supervisor.tools.services import ToolServices
from pycodex.supervisor.tools.tool import call_of
from support.json_texts import ANY_JSON
from support.tool_calls import Bench, make_turn

SCHEMA = {"type": "object", "properties": {"place": {"type": "string", "description": "A city."}}}
TOOLS = tuple(
    DynamicTool(declaration)
    for declaration in declared(
        {"name": name, "description": description, "inputSchema": schema, "deferLoading": True}
        for name, description, schema in (
            ("weather", "Tells what it is like outside.", SCHEMA),
            ("send_mail", "Sends a mail.", {"type": "object"}),
            ("find_mail", "Finds mails by their text.", {"type": "object"}),
        )
    )
)


async def search(arguments: object) -> dict[str, Any]:
    """What the model gets to see of a search."""
    bench = Bench(make_turn(), cast(ToolServices, None))
    item = {"type": "tool_search_call", "call_id": "s", "execution": "client", "arguments": arguments}
    call = call_of(item)
    assert call is not None
    assert call.kind == TOOL_SEARCH_CALL
    return output_for(item, (await Router([ToolSearch(TOOLS)]).run(call, bench.scope)).output)


async def found(arguments: object) -> list[str]:
    return [tool["name"] for tool in (await search(arguments))["tools"]]


async def test_found_tool_is_answered_whole() -> None:
    assert await search({"query": "weather"}) == {
        "type": "tool_search_output",
        "call_id": "s",
        "status": "completed",
        "execution": "client",
        "tools": [
            {
                "type": "function",
                "name": "weather",
                "description": "Tells what it is like outside.",
                "strict": False,
                "parameters": SCHEMA,
                "defer_loading": True,
            }
        ],
    }


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"query": "mail"}, ["send_mail", "find_mail"]),
        ({"query": "mail", "limit": 1}, ["send_mail"]),
        ({"query": "mail", "limit": None}, ["send_mail", "find_mail"]),
        ({"query": "city"}, ["weather"]),
        ({"query": "place"}, ["weather"]),
        ({"query": "outside"}, ["weather"]),
        ({"query": "object type string"}, []),
        ({"query": "nothing"}, []),
        ({"query": " "}, []),
        ({"query": 3}, []),
        ({"query": "mail", "limit": 0}, []),
        ({"query": "mail", "limit": True}, []),
        ({"query": "mail", "limit": "1"}, []),
        ({}, []),
        (None, []),
        ([], []),
    ],
)
async def test_whatever_is_asked_the_answer_is_a_list(arguments: object, names: list[str]) -> None:
    assert await found(arguments) == names


async def test_by_itself_it_returns_eight() -> None:
    many = tuple(
        DynamicTool(each)
        for each in declared({"name": f"mail{n}", "description": "mail", "inputSchema": {}} for n in range(12))
    )
    call = call_of({"type": "tool_search_call", "execution": "client", "arguments": {"query": "mail"}})
    assert call is not None
    answer = await ToolSearch(many).run(call, Bench(make_turn(), cast(ToolServices, None)).scope)
    assert len(answer.output) == 8


async def test_odd_schemas_can_be_searched() -> None:
    fields: tuple[Any, ...] = ([], {"a": True}, {"a": {"description": ["plum"]}})
    schemas: tuple[Any, ...] = (*({"properties": each} for each in fields), 3)
    odd = declared({"name": f"t{n}", "description": "d", "inputSchema": s} for n, s in enumerate(schemas))
    call = call_of({"type": "tool_search_call", "execution": "client", "arguments": {"query": "plum"}})
    assert call is not None
    search_tool = ToolSearch(tuple(map(DynamicTool, odd)))
    answer = await search_tool.run(call, Bench(make_turn(), cast(ToolServices, None)).scope)
    assert [tool["name"] for tool in cast(list[dict[str, Any]], answer.output)] == ["t2"]


def test_schema() -> None:
    spec = ToolSearch(TOOLS).spec(make_turn())
    assert (spec["type"], spec["execution"]) == ("tool_search", "client")
    parameters = spec["parameters"]
    assert {name: each["type"] for name, each in parameters["properties"].items()} == {
        "limit": "number",
        "query": "string",
    }
    assert parameters["required"] == ["query"]


@given(ANY_JSON | st.fixed_dictionaries({}, optional={"query": ANY_JSON, "limit": ANY_JSON}))
async def test_no_arguments_break_it(arguments: object) -> None:
    assert isinstance((await search(arguments))["tools"], list)
