"""exec_command: runs a command line, and leaves it running if it takes longer than the model wants to wait.

Owns the tool's arguments and its limits. How it runs is in `exec_runs`, the text of the answer in `exec_answer`.
"""

from typing import Any

from pycodex.protocol.items import FUNCTION_CALL
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.policy import escalation
from pycodex.supervisor.tools import exec_answer, shells, spec
from pycodex.supervisor.tools.arguments import (
    Field,
    Shape,
    boolean,
    choice,
    list_of,
    optional,
    parse,
    struct,
    text,
    u64,
    usize,
)
from pycodex.supervisor.tools.confine import working_directory
from pycodex.supervisor.tools.exec_runs import run_for
from pycodex.supervisor.tools.interception import intercepted
from pycodex.supervisor.tools.orchestrator import Command
from pycodex.supervisor.tools.tool import ToolAnswer, ToolCall, ToolScope, ToolSpec

NAME = "exec_command"
DEFAULT_YIELD_MS = 10_000
MIN_YIELD_MS = 250
MAX_YIELD_MS = 30_000

SHAPE = Shape(
    "ExecCommandArgs",
    (
        Field("cmd", text),
        Field("workdir", optional(text), None),
        Field("shell", optional(text), None),
        Field("login", optional(boolean), None),
        Field("tty", boolean, False),
        Field("yield_time_ms", u64, DEFAULT_YIELD_MS),
        Field("max_output_tokens", optional(usize), None),
        Field("sandbox_permissions", choice(*escalation.CHOICES), escalation.USE_DEFAULT),
        Field("additional_permissions", optional(struct("PermissionProfile")), None),
        Field("justification", optional(text), None),
        Field("prefix_rule", optional(list_of(text)), None),
    ),
    checked_whole=True,
)

_DESCRIPTION = (
    "Runs a command line in a shell and returns its output. A command that is still running after yield_time_ms keeps "
    "running, and the answer names a session ID for write_stdin."
)


class ExecCommand:
    name = NAME
    parallel = True
    kinds = (FUNCTION_CALL,)

    def __init__(self, *, login_allowed: bool) -> None:
        self.login_allowed = login_allowed

    def spec(self, turn: TurnContext) -> ToolSpec:
        del turn
        properties = {
            "cmd": spec.text("The command line."),
            "workdir": spec.text("Directory to run it in; the turn's working directory if left out."),
            "shell": spec.text("Path of the shell that runs it; the user's own if left out."),
            "tty": spec.flag("true gives the command a terminal, which write_stdin can type into. Default: false."),
            "yield_time_ms": spec.number(
                f"How long to wait for the end before answering, {MIN_YIELD_MS} to {MAX_YIELD_MS}. "
                f"Default: {DEFAULT_YIELD_MS}."
            ),
            "max_output_tokens": spec.number(
                f"More output than this is cut in the middle. Default: {exec_answer.DEFAULT_MAX_TOKENS}."
            ),
            "sandbox_permissions": spec.text(
                f'"{escalation.REQUIRE_ESCALATED}" asks to run it outside the sandbox. '
                f'Default: "{escalation.USE_DEFAULT}".'
            ),
            "justification": spec.text(
                f"Only with {escalation.REQUIRE_ESCALATED}: the question that the user is asked, in one sentence."
            ),
            "prefix_rule": spec.list_of(
                {"type": "string"},
                f"Only with {escalation.REQUIRE_ESCALATED}: first words of the command which the user may allow for "
                "good.",
            ),
        }
        if self.login_allowed:
            properties["login"] = spec.flag("Whether the shell reads the login profile. Default: true.")
        return spec.function(NAME, _DESCRIPTION, properties, required=("cmd",))

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolAnswer:
        given = parse(call.arguments, SHAPE)
        argv = self._argv(given, scope)
        escalation.check(
            scope.turn, asked=given["sandbox_permissions"], additional=given["additional_permissions"], verb="cannot"
        )
        cwd = working_directory(scope.turn, given["workdir"])
        terms = _terms(given, argv, cwd, call)
        patched = await intercepted(argv, cwd=cwd, call=call, scope=scope)
        if patched is not None:
            return ToolAnswer(f"Wall time: 0.0000 seconds\nOutput:\n{patched.output}", usage=patched.usage)
        if "\0" in cwd or any("\0" in word for word in argv):
            raise exec_answer.rejected(argv, "Failed to create unified exec process: nul byte found in provided data")
        yield_ms = min(max(given["yield_time_ms"], MIN_YIELD_MS), MAX_YIELD_MS)
        process = await run_for(terms, scope, wait_s=yield_ms / 1000)
        return exec_answer.answered(process, scope.services.processes, max_tokens=given["max_output_tokens"])

    def _argv(self, given: dict[str, Any], scope: ToolScope) -> tuple[str, ...]:
        shell = shells.chosen(given["shell"], users=scope.turn.shell, env=scope.services.env)
        login = shells.wants_login(given["login"], allowed=self.login_allowed)
        return shells.argv_for(shell, given["cmd"], login=login)


def _terms(given: dict[str, Any], argv: tuple[str, ...], cwd: str, call: ToolCall) -> Command:
    asked = given["sandbox_permissions"]
    return Command(
        argv=argv,
        cwd=cwd,
        call_id=call.call_id,
        family=NAME,
        tty=given["tty"],
        asked=asked,
        extra=escalation.extra_of(given["additional_permissions"], asked=asked, cwd=cwd),
        justification=given["justification"],
        prefix_rule=tuple(given["prefix_rule"] or ()),
    )
