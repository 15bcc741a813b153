"""Running a command to its end for the shell tools: the one way in which all of them do it.

Owns the order of the steps, the events, and what is kept of the output. Whether it runs and what it may touch is up to
the `orchestrator`, the text of the answer to `shell_answer`. Takes what a call wants, gives its answer; raises
ModelFacing where nothing was even begun.
"""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import trio

from pycodex.protocol.confinement import Confinement
from pycodex.protocol.durations import duration_of
from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.events.exec import (
    AGENT,
    COMPLETED,
    DECLINED,
    FAILED,
    ExecCommandBegin,
    ExecCommandEnd,
    ExecCommandOutputDelta,
)
from pycodex.protocol.events.union import AnyEvent
from pycodex.protocol.frames import STDERR, STDOUT, TIMEOUT, BadFrame, Exited, Failed, Output, Refused, RunCommand
from pycodex.protocol.model_info import TruncationPolicy
from pycodex.supervisor.policy import escalation
from pycodex.supervisor.text.charset import as_text
from pycodex.supervisor.text.truncation import truncate_formatted
from pycodex.supervisor.tools import shell_answer
from pycodex.supervisor.tools.asking import Declined
from pycodex.supervisor.tools.confine import environment, working_directory
from pycodex.supervisor.tools.interception import intercepted
from pycodex.supervisor.tools.login_shells import without_login
from pycodex.supervisor.tools.orchestrator import Attempt, Command, NotCleared, orchestrated
from pycodex.supervisor.tools.remarks import remarks_on
from pycodex.supervisor.tools.tool import RunScope, ToolAnswer, ToolCall, ToolScope

if TYPE_CHECKING:
    from pycodex.supervisor.workers.lease import LiveJob

FAMILY = "shell"
DEFAULT_TIMEOUT_MS = 10_000
# Longer than anybody waits, and what a worker's clock can count to.
MAX_TIMEOUT_MS = 1_000_000_000
DRAIN_MS = 2000
# So much is kept of each stream, and of both together.
KEPT_BYTES = 1 << 20
MAX_DELTA_BYTES = 8192
MAX_DELTAS = 10_000
TIMED_OUT_CODE = 124
NO_EXIT_CODE = -1
_SIGNAL_BASE = 128


class Layout(Protocol):
    """One of the layouts in `shell_answer`."""

    def __call__(
        self, output: str, exit_code: int, seconds: float, policy: TruncationPolicy, *, remarks: tuple[str, ...]
    ) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a call wants to be run."""

    argv: tuple[str, ...]
    layout: Layout
    workdir: str | None = None
    timeout_ms: int | None = None
    asked: str = escalation.USE_DEFAULT
    """Its `sandbox_permissions`."""
    additional: dict[str, Any] | None = None
    justification: str | None = None
    prefix_rule: tuple[str, ...] = ()


async def carry_out(wish: Wish, call: ToolCall, scope: ToolScope) -> ToolAnswer:
    turn = scope.turn
    escalation.check_additional(turn, asked=wish.asked, additional=wish.additional)
    escalation.check(turn, asked=wish.asked, additional=wish.additional, verb="should not")
    cwd = working_directory(turn, wish.workdir)
    terms = _terms(wish, cwd, call)
    if wish.argv:
        answer = await intercepted(wish.argv, cwd=cwd, call=call, scope=scope)
        if answer is not None:
            return answer
    command = ShellCommand(wish.argv, cwd, call.call_id, scope)
    command.began()
    if not wish.argv:
        return command.declined(shell_answer.EMPTY_COMMAND)
    if "\0" in cwd or any("\0" in word for word in wish.argv):
        return command.failed(shell_answer.NUL_BYTE)
    deltas = Deltas(call.call_id, scope.emit)
    attempt = Attempt(lambda confined, _: run(wish, cwd, confined, deltas, scope), Said.was_denied)
    try:
        said = await orchestrated(terms, scope, attempt)
    except Declined as declined:
        answer = command.declined(shell_answer.REJECTED)
        await declined.take_effect(scope)
        return answer
    except NotCleared as error:
        return command.failed(str(error))
    except (ModelFacing, BadFrame) as error:
        return command.failed(shell_answer.not_run(error))
    if said.killed_by is not None:
        return command.failed(shell_answer.killed_by(said.killed_by), usage=said.exited)
    return command.ended(said, wish.layout)


def _terms(wish: Wish, cwd: str, call: ToolCall) -> Command:
    return Command(
        argv=wish.argv,
        cwd=cwd,
        call_id=call.call_id,
        family=FAMILY,
        asked=wish.asked,
        extra=escalation.extra_of(wish.additional, asked=wish.asked, cwd=cwd),
        justification=wish.justification,
        prefix_rule=wish.prefix_rule,
    )


async def run(wish: Wish, cwd: str, confined: Confinement, deltas: "Deltas", scope: RunScope) -> "Said":
    """Whoever is cancelled here takes the whole tree along, and nothing more is told of it."""
    order = without_login(_order(wish, cwd, confined, scope), scope, fixed={})
    pool = await scope.services.pool.ready()
    async with pool.running(order, session_id=scope.turn.thread_id) as job:
        started_at = trio.current_time()
        streams, exited = await _read(job, deltas)
        seconds = trio.current_time() - started_at
    is_confined = not confined.unconfined_because
    return Said(streams[STDOUT], streams[STDERR], exited, seconds=seconds, is_confined=is_confined)


def _order(wish: Wish, cwd: str, confined: Confinement, scope: RunScope) -> RunCommand:
    timeout_ms = DEFAULT_TIMEOUT_MS if wish.timeout_ms is None else wish.timeout_ms
    return RunCommand(
        job_id="",
        argv=wish.argv,
        cwd=cwd,
        exact_cwd=True,
        env=environment(scope.turn, scope.services, confined),
        confinement=confined,
        timeout_ms=min(timeout_ms, MAX_TIMEOUT_MS),
        drain_ms=DRAIN_MS,
        head_bytes=KEPT_BYTES,
        # Enough for all that is kept, so that none of it ever waits.
        credit_bytes=2 * KEPT_BYTES,
    )


async def _read(job: "LiveJob", deltas: "Deltas") -> tuple[dict[str, bytes], Exited]:
    from pycodex.supervisor.workers.lease import WorkerLost, error_of

    streams = {STDOUT: bytearray(), STDERR: bytearray()}
    async for fact in job:
        if isinstance(fact, Output):
            streams[fact.stream] += fact.data
            deltas.tell(fact.stream, fact.data)
        elif isinstance(fact, Refused | Failed):
            raise error_of(fact)
        elif isinstance(fact, Exited):
            return {name: bytes(data) for name, data in streams.items()}, fact
    raise WorkerLost("its worker never told its end")


class Said:
    """What a command said, and how it ended."""

    def __init__(self, stdout: bytes, stderr: bytes, exited: Exited, *, seconds: float, is_confined: bool) -> None:
        self.exited = exited
        self.seconds = seconds
        is_cut = exited.dropped_bytes > 0
        self.stdout = as_text(stdout, is_cut=is_cut)
        self.stderr = as_text(stderr, is_cut=is_cut)
        out_bytes, err_bytes = shares(len(stdout), len(stderr))
        shown_out = self.stdout if out_bytes == len(stdout) else as_text(stdout[:out_bytes], is_cut=True)
        shown_err = self.stderr if err_bytes == len(stderr) else as_text(stderr[:err_bytes], is_cut=True)
        self.aggregated = shown_out + shown_err
        self._is_confined = is_confined

    @property
    def timed_out(self) -> bool:
        return self.exited.reason == TIMEOUT

    @property
    def killed_by(self) -> int | None:
        """The signal that ended it, where that was neither us nor inside the sandbox, which tells it as a code."""
        return None if self._is_confined or self.exited.reason else self.exited.signal

    def was_denied(self) -> bool:
        """Whether the sandbox stopped it, as far as can be told; what we ended ourselves it did not stop."""
        from pycodex.sandbox.denial import likely_denied

        if not self._is_confined or self.exited.reason:
            return False
        return likely_denied(self.exit_code, self.exited.signal, f"{self.stdout}\n{self.stderr}")

    @property
    def exit_code(self) -> int:
        if self.timed_out:
            return TIMED_OUT_CODE
        return _SIGNAL_BASE + (self.exited.signal or 0) if self.exited.code is None else self.exited.code

    @property
    def content(self) -> str:
        return shell_answer.with_timeout(self.aggregated, self.seconds) if self.timed_out else self.aggregated


def shares(stdout_bytes: int, stderr_bytes: int) -> tuple[int, int]:
    """How much of each stream is shown where both are shown together.

    If there is too much, a third belongs to stdout and the rest to stderr, which leaves to stdout what it does not use.
    """
    if stdout_bytes + stderr_bytes <= KEPT_BYTES:
        return stdout_bytes, stderr_bytes
    stderr_share = min(stderr_bytes, KEPT_BYTES - min(stdout_bytes, KEPT_BYTES // 3))
    return min(stdout_bytes, KEPT_BYTES - stderr_share), stderr_share


class Deltas:
    """Tells what a command says while it says it, in pieces of bounded size and number."""

    def __init__(self, call_id: str, emit: Callable[[AnyEvent], None]) -> None:
        self._call_id = call_id
        self._emit = emit
        self._left = {STDOUT: MAX_DELTAS, STDERR: MAX_DELTAS}

    def tell(self, stream: str, data: bytes) -> None:
        for start in range(0, len(data), MAX_DELTA_BYTES):
            if not self._left[stream]:
                return
            self._left[stream] -= 1
            chunk = base64.b64encode(data[start : start + MAX_DELTA_BYTES]).decode("ascii")
            self._emit(ExecCommandOutputDelta(call_id=self._call_id, stream=stream, chunk=chunk))


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """One command as its events tell of it."""

    argv: tuple[str, ...]
    cwd: str
    call_id: str
    scope: RunScope
    source: str = AGENT

    def began(self) -> None:
        self.scope.emit(ExecCommandBegin(**self._described()))

    def ended(self, said: Said, layout: Layout) -> ToolAnswer:
        policy = self.scope.turn.truncation
        self.scope.emit(
            ExecCommandEnd(
                **self._described(),
                stdout=said.stdout,
                stderr=said.stderr,
                aggregated_output=said.aggregated,
                exit_code=said.exit_code,
                duration=duration_of(said.seconds),
                formatted_output=truncate_formatted(said.content, policy),
                status=COMPLETED if said.exit_code == 0 else FAILED,
            )
        )
        remarks = tuple(remarks_on(said.exited))
        text = layout(said.content, said.exit_code, said.seconds, policy, remarks=remarks)
        return ToolAnswer(text, usage=said.exited)

    def declined(self, text: str) -> ToolAnswer:
        return self._told_without_output(text, DECLINED)

    def failed(self, text: str, *, usage: Exited | None = None) -> ToolAnswer:
        return self._told_without_output(text, FAILED, usage=usage)

    def _told_without_output(self, text: str, status: str, *, usage: Exited | None = None) -> ToolAnswer:
        self.scope.emit(
            ExecCommandEnd(
                **self._described(),
                stdout="",
                stderr=text,
                aggregated_output=text,
                exit_code=NO_EXIT_CODE,
                duration=duration_of(0.0),
                formatted_output=text,
                status=status,
            )
        )
        return ToolAnswer(text, usage=usage)

    def _described(self) -> dict[str, Any]:
        from pycodex.supervisor.policy.summaries import parsed_cmd

        return {
            "call_id": self.call_id,
            "turn_id": self.scope.turn.turn_id,
            "command": self.argv,
            "cwd": self.cwd,
            "parsed_cmd": parsed_cmd(self.argv),
            "source": self.source,
        }
