"""The commands of one session, of which some go on after the call that started them.

Owns the table of those that do, who is removed from it when it is full, and one task for each process that reads what
it says, tells it as events, and keeps it for the next answer, also between turns. The workers' side is `PtySessions`.
Knows no tool: takes orders and what the events shall say, gives processes.
"""

import itertools
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import trio

from pycodex.protocol.durations import duration_of
from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.events.exec import (
    COMPLETED,
    FAILED,
    UNIFIED_EXEC_STARTUP,
    ExecCommandBegin,
    ExecCommandEnd,
    ExecCommandOutputDelta,
)
from pycodex.protocol.events.union import AnyEvent
from pycodex.protocol.frames import STDOUT, Exited, RunCommand
from pycodex.protocol.model_info import TruncationPolicy
from pycodex.supervisor.text.truncation import truncate_formatted
from pycodex.supervisor.tools.spool import MOST_BYTES, Spool, Spools
from pycodex.supervisor.tools.transcript import Pieces, Transcript
from pycodex.supervisor.workers.capture import Captured
from pycodex.supervisor.workers.late_pool import PoolSource

if TYPE_CHECKING:
    from pycodex.supervisor.workers.pty import Polled, PtySessions

MAX_KEPT = 64
WARN_FROM = 60
PROTECTED = 8
# Calls that run beside each other may for a moment start more than can be kept.
MAX_RUNNING = 4 * MAX_KEPT
# So much is read as fast as it comes; beyond it, once in a while, and the worker drops what does not fit.
UNPACED_BYTES = MOST_BYTES
PACE_BYTES = 512 << 10
PACE_S = 0.05
NO_EXIT_CODE = -1

Emit = Callable[[AnyEvent], None]
Spawn = Callable[[Callable[[], Awaitable[None]]], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The call that starts a process, as the process's events tell it."""

    call_id: str
    turn_id: str
    argv: tuple[str, ...]
    """As it was asked for; what is run may do the same in another way."""
    parsed_cmd: tuple[dict[str, Any], ...]
    truncation: TruncationPolicy
    emit: Emit = field(repr=False)
    process_id: int | None = None
    """The number of a process that was told to have begun, has ended, and whose place this one takes."""


class Process:
    """One command from its start on. Made by `Processes.start`."""

    def __init__(
        self, process_id: int, order: RunCommand, origin: Origin, spools: Spools | None, *, on_trial: bool = False
    ) -> None:
        self.process_id = process_id
        self.argv = origin.argv
        self.cwd = order.cwd
        self.tty = order.pty is not None
        self.confined = not order.confinement.unconfined_because
        self.origin = origin
        self.exited: Exited | None = None
        self.lost: ModelFacing | None = None
        """Why there is no result, if there is none."""
        self.fresh = Transcript()
        """What no answer has told yet."""
        self.used = 0
        """When it was last used, in the order of uses."""
        self.is_known = False
        """Whether the model was told its number."""
        self.scope = trio.CancelScope()
        self.ended = trio.Event()
        self.started_at = trio.current_time()
        self._on_trial = on_trial
        self._untold_end: ExecCommandEnd | None = None
        self._said = Transcript()
        self._pieces = Pieces()
        self._spools = spools
        self._spool: Spool | None = None

    @property
    def exit_code(self) -> int:
        """As a shell would see it; where nothing stands between us and the process, a signal has no code."""
        if self.exited is None:
            return NO_EXIT_CODE
        if self.exited.code is not None:
            return self.exited.code
        if self.confined:
            return 128 + (self.exited.signal or 0)
        return 1 if self.tty else NO_EXIT_CODE

    async def wait(self, until: float) -> bool:
        """Whether it has ended, at this time on trio's clock at the latest."""
        if not self.ended.is_set():
            with trio.move_on_at(until):
                await self.ended.wait()
        return self.ended.is_set()

    def began(self) -> None:
        self.origin.emit(ExecCommandBegin(**self._described()))

    def said(self, output: Captured) -> None:
        data = output.data
        if self._spool is None and (output.dropped_bytes or not self._said.fits(data)):
            self._begin_spool()
        if self._spool is not None:
            self._spool.add(output.head)
            if output.dropped_bytes:
                self._spool.missing()
        if data:
            self.fresh.add(data)
            self._said.add(data)
            self._tell(self._pieces.cut(output))

    def spooled(self) -> Spool | None:
        """All that it has said so far, in a file; None if it cannot be kept."""
        if self._spool is None:
            self._begin_spool()
        return self._spool

    def _begin_spool(self) -> None:
        """Nothing was left out of what we hold until now."""
        if self._spools is None:
            return
        self._spool, self._spools = self._spools.begun(str(self.process_id)), None
        if self._spool is not None:
            self._spool.add(self._said.data)
            if self.ended.is_set():
                self._spool.close()

    def finish(self, *, exited: Exited | None = None, lost: ModelFacing | None = None) -> None:
        """Tell the end, once."""
        if self.ended.is_set():
            return
        self.exited, self.lost = exited, lost
        self._tell(self._pieces.rest())
        said = self._said.text()
        end = ExecCommandEnd(
            **self._described(),
            stdout=said,
            stderr="",
            aggregated_output=said,
            exit_code=self.exit_code,
            duration=duration_of(trio.current_time() - self.started_at),
            formatted_output=truncate_formatted(said, self.origin.truncation),
            status=COMPLETED if self.exit_code == 0 else FAILED,
        )
        if self._on_trial:
            self._untold_end = end
        else:
            self.origin.emit(end)
        self.ended.set()
        if self._spool is not None:
            self._spool.close()

    def was_denied(self) -> bool:
        """Whether it has ended because the sandbox stopped it, as far as can be told."""
        from pycodex.sandbox.denial import likely_denied

        if not self.confined or self.exited is None or self.exited.reason:
            return False
        return likely_denied(self.exit_code, self.exited.signal, self._said.text())

    def accept(self) -> None:
        """What came of it counts: its end is told, now or when it comes."""
        self._on_trial = False
        if self._untold_end is not None:
            self.origin.emit(self._untold_end)
            self._untold_end = None

    def _tell(self, pieces: Iterator[str]) -> None:
        for piece in pieces:
            self.origin.emit(ExecCommandOutputDelta(call_id=self.origin.call_id, stream=STDOUT, chunk=piece))

    def _described(self) -> dict[str, Any]:
        return {
            "call_id": self.origin.call_id,
            "process_id": str(self.process_id),
            "turn_id": self.origin.turn_id,
            "command": self.argv,
            "cwd": self.cwd,
            "parsed_cmd": self.origin.parsed_cmd,
            "source": UNIFIED_EXEC_STARTUP,
            "interaction_input": None,
        }


class Processes:
    """`spawn` starts a task that lives as long as the session, such as a nursery's `start_soon`."""

    def __init__(self, pool: PoolSource, spawn: Spawn, spools: Spools | None = None) -> None:
        self._pool = pool
        self._spools = spools
        self._opened: PtySessions | None = None
        self._spawn = spawn
        self._kept: dict[int, Process] = {}
        self._running: set[Process] = set()
        self._uses = itertools.count(1)

    @property
    def _sessions(self) -> "PtySessions":
        assert self._opened is not None, "no process was started yet"
        return self._opened

    async def start(self, order: RunCommand, origin: Origin, *, on_trial: bool = False) -> Process:
        """Run it, and tell that it has begun, unless it takes another's place. Raises what it could not start for.

        Until it has begun, a caller that is cancelled takes it along; afterwards it goes on. Of one that is `on_trial`
        no end is told until it is accepted: another may take its place.
        """
        pool = await self._pool.ready()
        # Only now: several first starts may have waited beside each other, and all must end in one table.
        if self._opened is None:
            from pycodex.supervisor.workers.pty import PtySessions

            self._opened = PtySessions(pool, max_sessions=MAX_RUNNING)
        process_id = await self._sessions.start(order, besides=self._kept, number=origin.process_id)
        try:
            await self._sessions.started(process_id)
        except trio.Cancelled:
            await self._sessions.end(process_id)
            raise
        process = Process(process_id, order, origin, self._spools, on_trial=on_trial)
        if origin.process_id is None:
            process.began()
        self._running.add(process)
        self._spawn(partial(self._follow, process))
        return process

    def keep(self, process: Process, warn: Callable[[str], None]) -> None:
        """Let it be found by its number from now on; somebody else may have to go for it."""
        if process.process_id in self._kept:
            return
        self._make_room()
        self.touch(process)
        self._kept[process.process_id] = process
        if len(self._kept) >= WARN_FROM:
            warn(
                f"The maximum number of unified exec processes you can keep open is {WARN_FROM} and you currently have "
                f"{len(self._kept)} processes open. Reuse older processes or close them to prevent automatic pruning "
                "of old processes"
            )

    def find(self, process_id: int) -> Process | None:
        return self._kept.get(process_id)

    def forget(self, process: Process) -> None:
        self._kept.pop(process.process_id, None)

    def touch(self, process: Process) -> None:
        process.used = next(self._uses)

    def kept(self) -> tuple[Process, ...]:
        return tuple(self._kept.values())

    async def write(self, process: Process, data: bytes) -> None:
        """To its terminal. What has ended takes nothing, which its answer will tell."""
        try:
            await self._sessions.write(process.process_id, data)
        except ModelFacing:
            await trio.lowlevel.checkpoint()

    async def end_all(self) -> None:
        """End every process with its whole tree, and see it end."""
        running = tuple(self._running)
        for process in running:
            process.scope.cancel()
        for process in running:
            await process.ended.wait()
        self._kept.clear()
        if self._spools is not None:
            self._spools.close()

    def _make_room(self) -> None:
        """The least recently used goes, rather one that has ended; the last few that were used stay."""
        if len(self._kept) < MAX_KEPT:
            return
        by_use = sorted(self._kept.values(), key=lambda process: process.used)
        candidates = by_use[:-PROTECTED]
        victim = next((process for process in candidates if process.ended.is_set()), candidates[0])
        del self._kept[victim.process_id]
        victim.scope.cancel()

    async def _follow(self, process: Process) -> None:
        try:
            with process.scope:
                await self._read(process)
        finally:
            if not process.ended.is_set():
                # Removed from the table, or the session is over.
                polled = await self._sessions.end(process.process_id)
                process.said(polled.output)
                process.finish()
            self._running.discard(process)
            if not process.is_known and process.process_id in self._kept:
                # Its call was interrupted: nobody will ask for it.
                self.forget(process)

    async def _read(self, process: Process) -> None:
        unpaced_bytes = UNPACED_BYTES
        while not process.ended.is_set():
            try:
                polled = await self._sessions.read(process.process_id)
            except ModelFacing as error:
                process.finish(lost=error)
                return
            _pass_on(polled, process)
            unpaced_bytes -= len(polled.output.data)
            if unpaced_bytes <= 0 and polled.exited is None:
                unpaced_bytes = PACE_BYTES
                with trio.move_on_after(PACE_S):
                    await self._sessions.over(process.process_id)


def _pass_on(polled: "Polled", process: Process) -> None:
    process.said(polled.output)
    if polled.exited is not None:
        process.finish(exited=polled.exited)
