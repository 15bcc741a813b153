"""Both forms of the tool, and what the model may write in them."""

import json

import pytest
from lark import Lark
from lark.exceptions import UnexpectedInput

from pycodex.protocol.items import CUSTOM_TOOL_CALL, FUNCTION_CALL
from pycodex.protocol.patch.parse import parse_patch
from pycodex.supervisor.tools.handlers.apply_patch import ApplyPatch
from pycodex.supervisor.tools.router import Router
from pycodex.supervisor.tools.tool import ToolCall
from support.tool_calls import Bench, Benches, make_turn

ADD = "*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch\n"

PATCHES = (
    ADD,
    "*** Begin Patch\n*** Add File: a b.txt\n+\n+ y\n*** End Patch",
    "*** Begin Patch\n*** Delete File: gone\n*** End Patch\n",
    "*** Begin Patch\n*** Update File: u\n*** Move to: v\n@@ def f():\n a\n-b\n+c\n*** End Patch\n",
    "*** Begin Patch\n*** Update File: u\n@@\n-b\n+c\n \n@@\n-q\n*** End of File\n*** Delete File: e\n*** End Patch\n",
)
NO_PATCHES = (
    "",
    "*** Begin Patch\n*** End Patch\n",
    "*** Begin Patch\n*** Update File: u\n*** End Patch\n",
    "*** Begin Patch\n*** Add File: u\nno plus\n*** End Patch\n",
    "*** Begin Patch\n*** Rename File: u\n*** End Patch\n",
    ADD + "more",
)


async def answer(bench: Bench, kind: str, text: str) -> str:
    call = ToolCall(kind, "c", "apply_patch", text)
    output = (await Router([ApplyPatch(freeform=True)]).run(call, bench.scope)).output
    assert isinstance(output, str)
    return output


@pytest.mark.parametrize("text", PATCHES)
def test_grammar_takes_what_we_can_read(text: str) -> None:
    spec = ApplyPatch(freeform=True).spec(make_turn())
    Lark(spec["format"]["definition"]).parse(text)
    assert parse_patch(text).hunks


@pytest.mark.parametrize("text", NO_PATCHES)
def test_grammar_takes_nothing_else(text: str) -> None:
    spec = ApplyPatch(freeform=True).spec(make_turn())
    with pytest.raises(UnexpectedInput):
        Lark(spec["format"]["definition"]).parse(text)


def test_freeform_is_a_custom_tool_with_a_grammar() -> None:
    spec = ApplyPatch(freeform=True).spec(make_turn())
    assert list(spec) == ["type", "name", "description", "format"]
    assert (spec["type"], spec["name"]) == ("custom", "apply_patch")
    assert (spec["format"]["type"], spec["format"]["syntax"]) == ("grammar", "lark")


def test_function_form_explains_the_language() -> None:
    spec = ApplyPatch(freeform=False).spec(make_turn())
    assert spec["parameters"]["required"] == ["input"]
    start = spec["description"].index("*** Begin Patch")
    end = spec["description"].index("*** End Patch") + len("*** End Patch")
    assert len(parse_patch(spec["description"][start:end]).hunks) == 3


async def test_either_kind_of_call_is_answered(benches: Benches) -> None:
    async with benches() as bench:
        free = await answer(bench, CUSTOM_TOOL_CALL, ADD)
        function = await answer(bench, FUNCTION_CALL, json.dumps({"input": ADD.replace("a.txt", "b.txt")}))
    assert json.loads(free)["output"] == "Success. Updated the following files:\nA a.txt\n"
    assert json.loads(function)["output"] == "Success. Updated the following files:\nA b.txt\n"


async def test_function_call_without_a_patch(benches: Benches) -> None:
    async with benches() as bench:
        assert await answer(bench, FUNCTION_CALL, '{"patch":"x"}') == (
            "failed to parse function arguments: missing field `input` at line 1 column 13"
        )
