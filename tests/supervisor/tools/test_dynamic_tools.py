"""Tools of a client are taken as declared, or refused by name."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.supervisor.tools.dynamic_tools import BadDeclaration, declared, stored_tools
from support.json_texts import ANY_JSON

SCHEMA = {"type": "object", "properties": {"k": {"type": "string"}}}


def tool(name: str = "lookup", **more: Any) -> dict[str, Any]:
    return {"name": name, "description": "Looks it up.", "inputSchema": SCHEMA, **more}


def test_declaration_keeps_what_is_known_of_it() -> None:
    given = [tool(extra=1), tool("b", deferLoading=True), tool("c", deferLoading=None)]
    assert declared(given) == (
        {"name": "lookup", "description": "Looks it up.", "inputSchema": SCHEMA, "deferLoading": False},
        {"name": "b", "description": "Looks it up.", "inputSchema": SCHEMA, "deferLoading": True},
        {"name": "c", "description": "Looks it up.", "inputSchema": SCHEMA, "deferLoading": False},
    )
    assert stored_tools(given) == declared(given)


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in tool().items() if key != name}


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (tool(""), "dynamic tool name must not be empty"),
        (tool("  "), "dynamic tool name must not be empty"),
        (tool(" lookup"), "dynamic tool name has leading/trailing whitespace:  lookup"),
        (tool("mcp"), "dynamic tool name is reserved: mcp"),
        (tool("mcp__x"), "dynamic tool name is reserved: mcp__x"),
        (without("name"), "a dynamic tool needs a name, a description and an inputSchema"),
        (without("description"), "a dynamic tool needs a name, a description and an inputSchema"),
        (without("inputSchema"), "a dynamic tool needs a name, a description and an inputSchema"),
        (tool(name=3), "a dynamic tool needs a name, a description and an inputSchema"),  # type: ignore[arg-type]
        ("lookup", "a dynamic tool needs a name, a description and an inputSchema"),
    ],
)
def test_what_cannot_be_a_tool_is_refused_by_name_and_left_out_of_a_file(wrong: object, text: str) -> None:
    with pytest.raises(BadDeclaration) as raised:
        declared([tool("good"), wrong])
    assert str(raised.value) == text
    assert [each["name"] for each in stored_tools([wrong, tool("good")])] == ["good"]


def test_a_name_is_given_once() -> None:
    with pytest.raises(BadDeclaration, match="duplicate dynamic tool name: lookup"):
        declared([tool(), tool("b"), tool()])
    assert [each["name"] for each in stored_tools([tool(), tool("b"), tool()])] == ["lookup", "b"]


def test_thread_without_tools() -> None:
    assert declared([]) == stored_tools(None) == ()


PIECES = st.fixed_dictionaries(
    {}, optional={"name": ANY_JSON, "description": ANY_JSON, "inputSchema": ANY_JSON, "deferLoading": ANY_JSON}
)


@given(st.lists(ANY_JSON | PIECES))
def test_no_file_breaks_a_thread(given: list[Any]) -> None:
    known = stored_tools(given)
    assert declared(known) == known
