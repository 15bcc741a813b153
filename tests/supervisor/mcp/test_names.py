"""Names of tools as the model knows them."""

import hashlib

import pytest

from pycodex.supervisor.mcp.names import by_qualified_name, qualified, sanitised, server_name_problem

LONG = "t" * 70


@pytest.mark.parametrize(
    ("server", "tool", "name"),
    [
        ("fs", "read", "mcp__fs__read"),
        ("t-1", "rpc-error", "mcp__t_1__rpc_error"),
        ("fs", "dot.name", "mcp__fs__dot_name"),
        ("fs", "größe", "mcp__fs__gr__e"),
        ("fs", "t" * 55, "mcp__fs__" + "t" * 55),
        (
            "f-s",
            LONG,
            "mcp__f_s__" + "t" * 14 + hashlib.sha1(f"mcp__f-s__{LONG}".encode()).hexdigest(),
        ),
    ],
)
def test_qualified(server: str, tool: str, name: str) -> None:
    assert qualified(server, tool) == name
    assert len(name) <= 64


def test_sorted_and_the_first_of_two_is_kept() -> None:
    tools = [("b", "x"), ("a", "dot.name"), ("a", "dot_name"), ("a", "b")]
    assert list(by_qualified_name(tools).items()) == [
        ("mcp__a__b", ("a", "b")),
        ("mcp__a__dot_name", ("a", "dot.name")),
        ("mcp__b__x", ("b", "x")),
    ]


@pytest.mark.parametrize("name", ["", "a b", "a.b", "ä", "a\n"])
def test_names_that_no_server_can_have(name: str) -> None:
    assert server_name_problem(name) == f"Invalid MCP server name '{name}': must match pattern ^[a-zA-Z0-9_-]+$"


def test_names_that_a_server_can_have() -> None:
    assert [server_name_problem(name) for name in ("a", "A-1_b")] == [None, None]
    assert sanitised("a-b.c d_1") == "a_b_c_d_1"
