"""shell_command runs lines in the user's shell."""

from pathlib import Path

import pytest

from pycodex.protocol.model_info import BYTES, TruncationPolicy
from pycodex.protocol.turn_context import Shell
from pycodex.supervisor.tools.handlers.shell_command import ShellCommand
from support.shell_calls import read_freeform, text_of
from support.tool_calls import READ_ONLY, Benches, make_turn

TOOL = ShellCommand(login_allowed=True)


async def test_answer_is_told_in_lines(benches: Benches) -> None:
    async with benches() as bench:
        output = await text_of(bench, TOOL, command="echo $((1 + 1)) | cat; echo err >&2; exit 4", login=False)
    assert read_freeform(output) == (4, "2\nerr\n")


async def test_login_shell_is_the_default(benches: Benches) -> None:
    async with benches() as bench:
        login = await text_of(bench, TOOL, command="shopt -q login_shell && echo login")
        plain = await text_of(bench, TOOL, command="shopt -q login_shell || echo plain", login=False)
        commands = [begin["command"][:2] for begin in bench.told("exec_command_begin")]
    assert [read_freeform(login)[1], read_freeform(plain)[1]] == ["login\n", "plain\n"]
    assert commands == [["/bin/bash", "-lc"], ["/bin/bash", "-c"]]


async def test_login_shell_can_be_forbidden(benches: Benches) -> None:
    async with benches() as bench:
        refused = await text_of(bench, ShellCommand(login_allowed=False), command="true", login=True)
        assert bench.events == []
        plain = await text_of(bench, ShellCommand(login_allowed=False), command="shopt -q login_shell || echo plain")
    assert refused == "login shell is disabled by config; omit `login` or set it to false."
    assert read_freeform(plain) == (0, "plain\n")


async def test_shell_is_the_users(benches: Benches) -> None:
    async with benches(turn={"shell": Shell(name="sh", path="/bin/sh")}) as bench:
        output = await text_of(bench, TOOL, command="echo $0", login=False)
    assert read_freeform(output) == (0, "/bin/sh\n")


async def test_missing_shell_is_told(benches: Benches) -> None:
    async with benches(turn={"shell": Shell(name="bash", path="/nowhere/bash")}) as bench:
        output = await text_of(bench, TOOL, command="true")
    assert output == 'execution error: Io(Os { code: 2, kind: NotFound, message: "No such file or directory" })'


async def test_command_out_of_time_is_told_with_what_it_said(benches: Benches) -> None:
    async with benches() as bench:
        output = await text_of(bench, TOOL, command="echo begun; sleep 1000", login=False, timeout_ms=1500)
    code, told = read_freeform(output)
    first, rest = told.split("\n", 1)
    assert (code, rest) == (124, "begun\n")
    assert first.startswith("command timed out after ")


async def test_long_output_is_cut_and_its_lines_are_counted(benches: Benches) -> None:
    async with benches(turn={"truncation": TruncationPolicy(BYTES, 10)}) as bench:
        output = await text_of(bench, TOOL, command="seq 1 300", login=False)
    assert output.split("\n", 2)[2] == "Total output lines: 300\nOutput:\n1\n2\n3…1082 chars truncated…\n300\n"


async def test_empty_line_does_nothing(benches: Benches) -> None:
    async with benches() as bench:
        assert read_freeform(await text_of(bench, TOOL, command="")) == (0, "")


async def test_where_can_be_said(benches: Benches, workspace: Path) -> None:
    (workspace / "sub").mkdir()
    async with benches() as bench:
        output = await text_of(bench, TOOL, command="pwd", workdir="sub", login=False)
    assert read_freeform(output) == (0, f"{workspace}/sub\n")


async def test_environment_is_not_that_of_exec_command(benches: Benches) -> None:
    async with benches(env={"PATH": "/usr/bin:/bin", "TERM": "xterm"}) as bench:
        output = await text_of(bench, TOOL, command="echo $TERM ${NO_COLOR-unset} ${CODEX_CI-unset}", login=False)
    assert read_freeform(output) == (0, "xterm unset unset\n")


@pytest.mark.parametrize("asked", [{"sandbox_permissions": "require_escalated"}, {"with_escalated_permissions": True}])
async def test_escalation_does_not_run_without_an_approval(
    benches: Benches, workspace: Path, asked: dict[str, object]
) -> None:
    async with benches(READ_ONLY, {"approval_policy": "on-request"}) as bench:
        output = await text_of(bench, TOOL, command="touch file", **asked)
    assert output == "exec command rejected by user"
    assert not (workspace / "file").exists()


async def test_list_of_words_is_refused(benches: Benches) -> None:
    async with benches() as bench:
        output = await text_of(bench, TOOL, command=["ls"])
    assert output == (
        "failed to parse function arguments: invalid type: sequence, expected a string at line 1 column 12"
    )


def test_schema_follows_the_settings() -> None:
    schema = TOOL.spec(make_turn())
    properties = schema["parameters"]["properties"]
    assert (schema["name"], schema["parameters"]["required"]) == ("shell_command", ["command"])
    assert {name: each["type"] for name, each in properties.items()} == {
        "command": "string",
        "justification": "string",
        "login": "boolean",
        "prefix_rule": "array",
        "sandbox_permissions": "string",
        "timeout_ms": "number",
        "workdir": "string",
    }
    without = ShellCommand(login_allowed=False).spec(make_turn())["parameters"]["properties"]
    assert properties.keys() - without.keys() == {"login"}
