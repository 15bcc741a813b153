"""Running a command that may outlive its call, under the conditions that policy sets.

Owns the attempts of one call, and that a command begins and ends once in what is told of it, however often it was
tried. The processes themselves belong to `processes`, the conditions to the `orchestrator`. Takes what a call wants,
gives a process that has ended or that the call has waited for long enough; raises ModelFacing.
"""

from typing import Any

import trio

from pycodex.protocol.confinement import Confinement
from pycodex.protocol.durations import duration_of
from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.events.exec import DECLINED, UNIFIED_EXEC_STARTUP, ExecCommandBegin, ExecCommandEnd
from pycodex.protocol.frames import BadFrame, Pty, RunCommand
from pycodex.supervisor.tools import exec_answer
from pycodex.supervisor.tools.asking import Declined
from pycodex.supervisor.tools.confine import environment
from pycodex.supervisor.tools.login_shells import without_login
from pycodex.supervisor.tools.orchestrator import Attempt, Command, NotCleared, orchestrated
from pycodex.supervisor.tools.processes import NO_EXIT_CODE, Origin, Process
from pycodex.supervisor.tools.spool import MOST_BYTES
from pycodex.supervisor.tools.tool import ToolScope

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


async def run_for(command: Command, scope: ToolScope, *, wait_s: float) -> Process:
    """Whoever is interrupted leaves the process running. Whether the sandbox stopped it is judged within `wait_s`."""
    runs = _Runs(command, scope, wait_s)
    try:
        return await orchestrated(command, scope, Attempt(runs.attempt, runs.was_denied))
    except Declined as declined:
        runs.tell_declined()
        await declined.take_effect(scope)
        raise exec_answer.rejected(command.argv, str(declined)) from None
    except NotCleared as error:
        raise exec_answer.rejected(command.argv, str(error)) from None
    except BaseException:
        # There will be no other attempt: what came of the last one counts.
        runs.accept_last()
        raise


class _Runs:
    def __init__(self, command: Command, scope: ToolScope, wait_s: float) -> None:
        self._command = command
        self._scope = scope
        self._wait_s = wait_s
        self._last: Process | None = None

    async def attempt(self, confined: Confinement, may_retry: bool) -> Process:
        self._last = process = await self._started(confined, in_place_of=self._last, on_trial=may_retry)
        await self._wait(process)
        if not may_retry or not process.was_denied():
            process.accept()
        return process

    def was_denied(self, process: Process) -> bool:
        if not process.was_denied():
            return False
        self._scope.services.processes.forget(process)
        return True

    def accept_last(self) -> None:
        if self._last is not None:
            self._last.accept()

    def tell_declined(self) -> None:
        """The person does not want it, or not again: that is how it ends."""
        described = {
            **self._described(),
            "command": self._command.argv,
            "cwd": self._command.cwd,
            "source": UNIFIED_EXEC_STARTUP,
        }
        if self._last is None:
            self._scope.emit(ExecCommandBegin(**described))
        self._scope.emit(
            ExecCommandEnd(
                **described,
                stdout="",
                stderr="",
                aggregated_output="",
                exit_code=NO_EXIT_CODE,
                duration=duration_of(0.0),
                formatted_output="",
                status=DECLINED,
            )
        )

    def _described(self) -> dict[str, Any]:
        from pycodex.supervisor.policy.summaries import parsed_cmd

        return {
            "call_id": self._command.call_id,
            "turn_id": self._scope.turn.turn_id,
            "parsed_cmd": parsed_cmd(self._command.argv),
        }

    async def _started(self, confined: Confinement, *, in_place_of: Process | None, on_trial: bool) -> Process:
        scope, argv = self._scope, self._command.argv
        origin = Origin(
            **self._described(),
            argv=argv,
            truncation=scope.turn.truncation,
            emit=scope.emit,
            process_id=None if in_place_of is None else in_place_of.process_id,
        )
        try:
            order = without_login(self._order(confined), scope, fixed=ENVIRONMENT)
            return await scope.services.processes.start(order, origin, on_trial=on_trial)
        except BadFrame as error:
            raise exec_answer.rejected(argv[:2], f"Failed to create unified exec process: {error}") from None
        except ModelFacing as error:
            raise exec_answer.not_started(argv, error) from None

    def _order(self, confined: Confinement) -> RunCommand:
        return RunCommand(
            job_id="",
            argv=self._command.argv,
            cwd=self._command.cwd,
            exact_cwd=True,
            env={**environment(self._scope.turn, self._scope.services, confined), **ENVIRONMENT},
            confinement=confined,
            merge_streams=True,
            pty=TERMINAL if self._command.tty else None,
            drain_ms=DRAIN_MS,
            lossless_bytes=MOST_BYTES,
        )

    async def _wait(self, process: Process) -> None:
        """For the end."""
        processes = self._scope.services.processes
        try:
            if not await process.wait(process.started_at + SHORT_LIFE_S):
                processes.keep(process, self._scope.warn)
                await process.wait(process.started_at + self._wait_s)
        except trio.Cancelled:
            if not process.ended.is_set():
                processes.keep(process, self._scope.warn)
            raise
