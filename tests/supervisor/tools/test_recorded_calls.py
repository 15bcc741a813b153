"""A recorded call is read as its tool has read it."""

import json
from typing import Any

import pytest

from pycodex.protocol.turn_context import Shell
from pycodex.supervisor.tools.recorded_calls import Reader, RecordedCommand

READER = Reader(Shell("bash", "/bin/bash"), {"PATH": "/usr/bin:/bin"}, login_allowed=True)
PATCH = "*** Begin Patch\n*** Add File: a\n+a\n*** End Patch"


def called(name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "function_call", "name": name, "arguments": json.dumps(arguments), "call_id": "c"}


def local(**action: Any) -> dict[str, Any]:
    return {"type": "local_shell_call", "call_id": "c", "status": "completed", "action": {"type": "exec", **action}}


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (
            called("exec_command", cmd="ls -l"),
            RecordedCommand(argv=("/bin/bash", "-lc", "ls -l"), verb="cannot"),
        ),
        (
            called("exec_command", cmd="ls", login=False, shell="/bin/sh", workdir="x"),
            RecordedCommand(argv=("/bin/sh", "-c", "ls"), verb="cannot"),
        ),
        (
            called(
                "exec_command",
                cmd="npm i",
                sandbox_permissions="require_escalated",
                justification="j",
                prefix_rule=["npm"],
            ),
            RecordedCommand(
                argv=("/bin/bash", "-lc", "npm i"), asked="require_escalated", prefix_rule=("npm",), verb="cannot"
            ),
        ),
        (called("shell_command", command="ls"), RecordedCommand(argv=("/bin/bash", "-lc", "ls"))),
        (called("shell", command=["ls", "-l"]), RecordedCommand(argv=("ls", "-l"))),
        (called("container.exec", command=["ls"]), RecordedCommand(argv=("ls",))),
        (called("local_shell", command=["ls"]), RecordedCommand(argv=("ls",))),
        (
            called("shell", command=["ls"], with_escalated_permissions=True),
            RecordedCommand(argv=("ls",), asked="require_escalated"),
        ),
        (local(command=["ls", "-l"]), RecordedCommand(argv=("ls", "-l"))),
    ],
)
def test_tools_that_run_commands(item: dict[str, Any], expected: RecordedCommand) -> None:
    assert READER.command_of(item) == expected


@pytest.mark.parametrize(
    "item",
    [
        called("update_plan", plan=[]),
        called("write_stdin", session_id=1),
        called("exec_command"),
        called("exec_command", cmd=1),
        {"type": "function_call", "name": "exec_command", "arguments": "{", "call_id": "c"},
        {"type": "function_call", "name": "exec_command", "call_id": "c"},
        {"type": "function_call", "arguments": "{}", "call_id": "c"},
        {"type": "local_shell_call", "call_id": "c"},
        local(command="ls"),
        local(command=[]),
        called("shell", command=[]),
        called("shell", command=["apply_patch", PATCH]),
        called("exec_command", cmd=f"apply_patch <<'E'\n{PATCH}\nE\n"),
        called("exec_command", cmd=PATCH),
    ],
)
def test_calls_that_run_none(item: dict[str, Any]) -> None:
    assert READER.command_of(item) is None


def test_login_that_is_forbidden_ran_nothing() -> None:
    reader = Reader(READER.users, READER.env, login_allowed=False)
    assert reader.command_of(called("exec_command", cmd="ls", login=True)) is None
    assert reader.command_of(called("exec_command", cmd="ls")) == RecordedCommand(
        argv=("/bin/bash", "-c", "ls"), verb="cannot"
    )
