"""The shell tool runs words, not lines, under either of its names."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pycodex.protocol.items import CUSTOM_TOOL_CALL
from pycodex.supervisor.tools.handlers.shell import ALIAS, Shell
from pycodex.supervisor.tools.router import Router
from pycodex.supervisor.tools.tool import ToolCall
from support.shell_calls import answer, read_structured, text_of
from support.tool_calls import FULL_ACCESS, READ_ONLY, Benches, make_turn

NEVER = (
    "approval policy is Never; reject command — you should not ask for escalated permissions "
    "if the approval policy is Never"
)


@pytest.mark.parametrize("name", ["shell", "container.exec"])
async def test_words_are_run_without_a_shell(benches: Benches, name: str) -> None:
    async with benches() as bench:
        output = await text_of(bench, Shell(name=name), command=["echo", "two  words", "$HOME", "*"])
    assert read_structured(output) == (0, "two  words $HOME *\n")


async def test_program_is_looked_for_on_the_path_of_the_command(benches: Benches, workspace: Path) -> None:
    program = workspace / "own-program"
    program.write_text("#!/bin/sh\necho mine\n")
    program.chmod(0o755)
    async with benches(env={"PATH": f"{workspace}:/usr/bin:/bin"}) as bench:
        assert read_structured(await text_of(bench, Shell(), command=["own-program"])) == (0, "mine\n")


async def test_where_and_how_long_can_be_said(benches: Benches, workspace: Path) -> None:
    (workspace / "sub").mkdir()
    async with benches() as bench:
        where = await text_of(bench, Shell(), command=["pwd"], workdir="sub")
        ended = await text_of(bench, Shell(), command=["sleep", "1000"], timeout_ms=10)
        also_ended = await text_of(bench, Shell(), command=["sleep", "1000"], timeout=10)
    assert read_structured(where) == (0, f"{workspace}/sub\n")
    assert [read_structured(output)[0] for output in (ended, also_ended)] == [124, 124]


async def test_answer_carries_what_the_call_used(benches: Benches) -> None:
    async with benches() as bench:
        usage = (await answer(bench, Shell(), {"command": ["echo", "hello"]})).usage
    assert usage is not None
    assert (usage.code, usage.output_bytes) == (0, 6)


@pytest.mark.parametrize(
    "given_fields", [{"sandbox_permissions": "require_escalated"}, {"with_escalated_permissions": True}]
)
async def test_escalation_cannot_be_asked_for_when_nobody_is_asked(
    benches: Benches, given_fields: dict[str, object]
) -> None:
    async with benches() as bench:
        assert await text_of(bench, Shell(), command=["true"], **given_fields) == NEVER
        assert bench.events == []


async def test_old_wish_for_escalation_is_taken_for_one(benches: Benches, workspace: Path) -> None:
    async with benches(READ_ONLY, {"approval_policy": "on-request"}) as bench:
        output = await text_of(bench, Shell(), command=["touch", "file"], with_escalated_permissions=True)
    assert output == "exec command rejected by user"
    assert not (workspace / "file").exists()


async def test_full_access_is_not_confined(benches: Benches, tmp_path: Path) -> None:
    async with benches(FULL_ACCESS) as bench:
        output = await text_of(bench, Shell(), command=["touch", str(tmp_path / "outside")])
    assert read_structured(output) == (0, "")
    assert (tmp_path / "outside").exists()


async def test_call_of_another_kind_is_not_answered(benches: Benches) -> None:
    async with benches() as bench:
        call = ToolCall(CUSTOM_TOOL_CALL, "call-1", "shell", '{"command":["true"]}')
        assert (await Router([Shell()]).run(call, bench.scope)).output == "aborted"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
ARGUMENTS = st.text(max_size=30) | (JSON | st.fixed_dictionaries({"command": JSON, "workdir": JSON})).map(json.dumps)


async def test_any_arguments_are_answered(benches: Benches) -> None:
    async with benches() as bench:
        for arguments in _examples(ARGUMENTS, 60):
            output = (await answer(bench, Shell(), arguments)).output
            assert isinstance(output, str)
            assert output.startswith(("failed to parse function arguments: ", "execution error: ", "command args", "{"))


def _examples(strategy: st.SearchStrategy[str], count: int) -> list[str]:
    found: list[str] = []

    @settings(max_examples=count, database=None, derandomize=True)
    @given(strategy)
    def collect(example: str) -> None:
        found.append(example)

    collect()
    return found


def test_schema_names_the_tool_as_it_is_called() -> None:
    schema = Shell(name=ALIAS).spec(make_turn())
    parameters = schema["parameters"]
    assert (schema["name"], schema["strict"], parameters["required"]) == ("container.exec", False, ["command"])
    assert {name: each["type"] for name, each in parameters["properties"].items()} == {
        "command": "array",
        "justification": "string",
        "prefix_rule": "array",
        "sandbox_permissions": "string",
        "timeout_ms": "number",
        "workdir": "string",
    }
