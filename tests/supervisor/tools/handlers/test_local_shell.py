"""A local shell call runs like any other command, and a malformed one is told."""

from pathlib import Path
from typing import Any

import pytest

from pycodex.protocol.items import CUSTOM_TOOL_CALL
from pycodex.supervisor.tools.handlers.local_shell import LocalShell
from pycodex.supervisor.tools.router import Router
from pycodex.supervisor.tools.tool import ToolCall, call_of
from support.shell_calls import answer_action, read_structured, text_of
from support.tool_calls import FULL_ACCESS, Benches, make_turn


async def test_action_is_run(benches: Benches, workspace: Path) -> None:
    (workspace / "sub").mkdir()
    action = {
        "type": "exec",
        "command": ["bash", "-c", "pwd; exit 3"],
        "working_directory": "sub",
        "timeout_ms": 60_000,
    }
    async with benches() as bench:
        answer = await answer_action(bench, LocalShell(), action)
    assert read_structured(answer.output) == (3, f"{workspace}/sub\n")
    assert answer.usage is not None


async def test_item_of_the_model_leads_here(benches: Benches) -> None:
    item = {"type": "local_shell_call", "id": "ls_1", "status": "completed"}
    call = call_of({**item, "action": {"type": "exec", "command": ["echo", "four"]}})
    assert call is not None
    async with benches() as bench:
        answer = await Router([LocalShell()]).run(call, bench.scope)
        assert bench.told("exec_command_end")[0]["call_id"] == "ls_1"
    assert read_structured(answer.output) == (0, "four\n")


async def test_environment_and_user_are_passed_over(benches: Benches) -> None:
    command = ["bash", "-c", "echo ${A-unset}; id -u"]
    async with benches(FULL_ACCESS) as bench:
        plain = await answer_action(bench, LocalShell(), {"type": "exec", "command": command})
        asked = await answer_action(
            bench, LocalShell(), {"type": "exec", "command": command, "env": {"A": "1"}, "user": "nobody"}
        )
    assert read_structured(asked.output) == read_structured(plain.output)
    assert read_structured(asked.output)[1].startswith("unset\n")


async def test_fields_may_be_null(benches: Benches, workspace: Path) -> None:
    action = {"type": "exec", "command": ["pwd"], "working_directory": None, "timeout_ms": None}
    async with benches() as bench:
        answer = await answer_action(bench, LocalShell(), action)
    assert read_structured(answer.output) == (0, f"{workspace}\n")


async def test_time_is_bounded(benches: Benches) -> None:
    async with benches() as bench:
        answer = await answer_action(
            bench, LocalShell(), {"type": "exec", "command": ["sleep", "1000"], "timeout_ms": 10}
        )
    assert read_structured(answer.output)[0] == 124


async def test_function_of_that_name_is_the_shell_tool(benches: Benches) -> None:
    async with benches() as bench:
        ran = await text_of(bench, LocalShell(), command=["echo", "as function"])
        refused = await text_of(bench, LocalShell(), command="x")
    assert read_structured(ran) == (0, "as function\n")
    assert refused.startswith('failed to parse function arguments: invalid type: string "x", expected a sequence')


async def test_call_of_another_kind_is_not_answered(benches: Benches) -> None:
    async with benches() as bench:
        call = ToolCall(CUSTOM_TOOL_CALL, "call-1", "local_shell", "")
        assert (await Router([LocalShell()]).run(call, bench.scope)).output == "aborted"


async def test_call_without_any_id_is_not_run(benches: Benches) -> None:
    async with benches() as bench:
        answer = await answer_action(bench, LocalShell(), {"type": "exec", "command": ["true"]}, call_id="")
        assert bench.events == []
    assert answer.output == "LocalShellCall without call_id or id"


@pytest.mark.parametrize(
    ("action", "wrong"),
    [
        ({}, "`type` must be exec"),
        ({"type": "bogus", "command": ["true"]}, "`type` must be exec"),
        ({"type": "exec"}, "`command` must be a list of strings"),
        ({"type": "exec", "command": "true"}, "`command` must be a list of strings"),
        ({"type": "exec", "command": ["echo", 1]}, "`command` must be a list of strings"),
        ({"type": "exec", "command": ["echo", "\ud800"]}, "`command` must be a list of strings"),
        ({"type": "exec", "command": ["true"], "working_directory": 1}, "`working_directory` must be a string"),
        ({"type": "exec", "command": ["true"], "timeout_ms": -1}, "`timeout_ms` must be a whole number, not below 0"),
        ({"type": "exec", "command": ["true"], "timeout_ms": 1.5}, "`timeout_ms` must be a whole number, not below 0"),
        ({"type": "exec", "command": ["true"], "timeout_ms": True}, "`timeout_ms` must be a whole number, not below 0"),
    ],
)
async def test_action_that_makes_no_sense_is_told(benches: Benches, action: dict[str, Any], wrong: str) -> None:
    async with benches() as bench:
        answer = await answer_action(bench, LocalShell(), action)
        assert bench.events == []
    assert answer.output == f"failed to parse the action of a local shell call: {wrong}"


def test_specification_has_no_parameters() -> None:
    assert LocalShell().spec(make_turn()) == {"type": "local_shell"}
