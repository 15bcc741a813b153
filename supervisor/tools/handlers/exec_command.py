"""exec_command: runs a command line, and leaves it running if it takes longer than the model wants to wait.

Owns the tool's arguments, its limits and the order of its steps. The process belongs to `processes`, what it may touch
to `confine`, the text of the answer to `exec_answer`.
"""

import os
from typing import Any

import trio

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.frames import BadFrame, Pty, RunCommand
from pycodex.protocol.items import FUNCTION_CALL
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.tools import escalation, exec_answer, shells, spec
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
from pycodex.supervisor.tools.clearance import NotCleared, cleared
from pycodex.supervisor.tools.confine import environment
from pycodex.supervisor.tools.interception import intercepted
from pycodex.supervisor.tools.login_shells import without_login
from pycodex.supervisor.tools.processes import Origin, Process
from pycodex.supervisor.tools.spool import MOST_BYTES
from pycodex.supervisor.tools.tool import ToolAnswer, ToolCall, ToolScope, ToolSpec

NAME = "exec_command"
DEFAULT_YIELD_MS = 10_000
MIN_YIELD_MS = 250
MAX_YIELD_MS = 30_000
# A command that lives longer counts as one that is kept.
SHORT_LIFE_S = 0.15
# How long output may go on after the exit while a descendant holds the pipe.
DRAIN_MS = 50
TERMINAL = Pty(rows=24, cols=80)

ENVIRONMENT = {
    "NO_COLOR": "1",
    "TERM": "dumb",
    "LANG": "C.UTF-8",
    "LC_CTYPE": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "COLORTERM": "",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GH_PAGER": "cat",
    "CODEX_CI": "1",
}

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
        cwd = os.path.join(scope.turn.cwd, given["workdir"]) if given["workdir"] else scope.turn.cwd
        patched = await intercepted(argv, cwd=cwd, call=call, scope=scope)
        if patched is not None:
            return ToolAnswer(f"Wall time: 0.0000 seconds\nOutput:\n{patched.output}", usage=patched.usage)
        order = await _order(given, argv, cwd, scope)
        process = await _start(call, argv, without_login(order, scope, fixed=ENVIRONMENT), scope)
        yield_ms = min(max(given["yield_time_ms"], MIN_YIELD_MS), MAX_YIELD_MS)
        await _wait(process, scope, until=process.started_at + yield_ms / 1000)
        return exec_answer.answered(process, scope.services.processes, max_tokens=given["max_output_tokens"])

    def _argv(self, given: dict[str, Any], scope: ToolScope) -> tuple[str, ...]:
        shell = shells.chosen(given["shell"], users=scope.turn.shell, env=scope.services.env)
        login = shells.wants_login(given["login"], allowed=self.login_allowed)
        return shells.argv_for(shell, given["cmd"], login=login)


async def _order(given: dict[str, Any], argv: tuple[str, ...], cwd: str, scope: ToolScope) -> RunCommand:
    turn, services = scope.turn, scope.services
    if "\0" in cwd or any("\0" in word for word in argv):
        raise exec_answer.rejected(argv, "Failed to create unified exec process: nul byte found in provided data")
    try:
        confined = await cleared(argv, scope, asked=given["sandbox_permissions"])
    except NotCleared as error:
        raise exec_answer.rejected(argv, str(error)) from None
    return RunCommand(
        job_id="",
        argv=argv,
        cwd=cwd,
        env={**environment(turn, services, confined), **ENVIRONMENT},
        confinement=confined,
        merge_streams=True,
        pty=TERMINAL if given["tty"] else None,
        drain_ms=DRAIN_MS,
        lossless_bytes=MOST_BYTES,
    )


async def _start(call: ToolCall, argv: tuple[str, ...], order: RunCommand, scope: ToolScope) -> Process:
    from pycodex.supervisor.policy.summaries import parsed_cmd

    origin = Origin(
        call_id=call.call_id,
        argv=argv,
        turn_id=scope.turn.turn_id,
        parsed_cmd=parsed_cmd(argv),
        truncation=scope.turn.truncation,
        emit=scope.emit,
    )
    try:
        return await scope.services.processes.start(order, origin)
    except BadFrame as error:
        raise exec_answer.rejected(argv[:2], f"Failed to create unified exec process: {error}") from None
    except ModelFacing as error:
        raise exec_answer.not_started(argv, error) from None


async def _wait(process: Process, scope: ToolScope, *, until: float) -> None:
    """For the end. Whoever is interrupted leaves the process running."""
    processes = scope.services.processes
    try:
        if not await process.wait(process.started_at + SHORT_LIFE_S):
            processes.keep(process, scope.warn)
            await process.wait(until)
    except trio.Cancelled:
        if not process.ended.is_set():
            processes.keep(process, scope.warn)
        raise
