"""Calls of one tool that need not be offered, and hostile arguments for it.

Owns how such a call is made, and what a model could write in place of arguments. Knows no particular tool.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import trio
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from pycodex.protocol.items import FUNCTION_CALL
from pycodex.protocol.permissions import FsRule, Permissions
from pycodex.supervisor.tools.router import Router
from pycodex.supervisor.tools.tool import Tool, ToolAnswer, ToolCall
from support.tool_calls import Bench, Benches

CALL_ID = "call-1"
CALLS_AN_EXAMPLE = 12

# One pool serves many calls, so a few examples are many calls.
hostile_settings = settings(
    max_examples=8,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


async def answered(tool: Tool, bench: Bench, arguments: object) -> ToolAnswer:
    """`arguments` as a text are sent as they are."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return await Router([tool]).run(ToolCall(FUNCTION_CALL, CALL_ID, tool.name, text), bench.scope)


async def told(tool: Tool, bench: Bench, **arguments: object) -> str:
    output = (await answered(tool, bench, arguments)).output
    assert isinstance(output, str)
    return output


def denying(*paths: object) -> Permissions:
    """Everything can be read but these."""
    denied = (FsRule(path=str(path), access="none") for path in paths)
    return Permissions(mode="read-only", rules=(FsRule(special="root", access="read"), *denied))


def hostile_arguments(fields: Mapping[str, Iterable[Any]]) -> SearchStrategy[list[str]]:
    """Texts in place of arguments, most of them with some of these fields, each with one of its values or with any."""
    # No slash: a search of the whole disk is legal, but long.
    words = st.text(st.characters(codec="utf-8", exclude_characters="/"), max_size=8)
    scalars = st.none() | st.booleans() | st.integers() | st.floats() | words
    anything = st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3), max_leaves=6
    )
    named = {name: st.sampled_from(list(values)) | anything for name, values in fields.items()}
    likely = st.fixed_dictionaries({}, optional=named).map(json.dumps)
    return st.lists(likely | likely | anything.map(json.dumps) | words, min_size=1, max_size=CALLS_AN_EXAMPLE)


def survives(tool: Tool, benches: Benches, texts: list[str]) -> None:
    """Every call gets an answer."""

    async def calls() -> None:
        async with benches() as bench:
            for text in texts:
                answer = await answered(tool, bench, text)
                assert isinstance(answer.output, str | list)

    trio.run(calls)
