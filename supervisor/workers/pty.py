"""Processes that go on between calls: started, written to, polled, ended.

Owns their numbers, the output that nobody has polled yet, and the credit by which a worker learns that it was. Works
for terminals and for plain pipes. Knows nothing of the tools that use it. Lives as long as the pool it is given.
"""

import random
from collections.abc import Container
from dataclasses import dataclass

import trio

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.frames import Exited, RunCommand
from pycodex.supervisor.workers.capture import Captured, PollBuffer
from pycodex.supervisor.workers.lease import Job, JobOver, error_of
from pycodex.supervisor.workers.pool import Pool

MAX_SESSIONS = 64
PROCESS_IDS = range(1000, 100_000)
INTERRUPT = b"\x03"


class UnknownProcess(ModelFacing):
    """No process of that number: it never was, or its end was told already."""


class TooManyProcesses(ModelFacing):
    """As many as may be kept are running."""


@dataclass(frozen=True, slots=True)
class Polled:
    """What came since the last poll. `exited` is set once, when everything has been told."""

    output: Captured
    exited: Exited | None
    more: bool
    """Output is left that did not fit."""


@dataclass(frozen=True, slots=True)
class SessionInfo:
    process_id: int
    argv: tuple[str, ...]
    cwd: str
    tty: bool
    ended: bool
    started_at: float
    """On trio's clock."""


class _Session:
    def __init__(self, process_id: int, order: RunCommand) -> None:
        self.buffer = PollBuffer()
        self.job = Job(order, self.buffer)
        self.info = SessionInfo(
            process_id=process_id,
            argv=order.argv,
            cwd=order.cwd,
            tty=order.pty is not None,
            ended=False,
            started_at=trio.current_time(),
        )


class PtySessions:
    """The processes of one pool. They end with it at the latest."""

    def __init__(self, pool: Pool, *, max_sessions: int = MAX_SESSIONS) -> None:
        self._pool = pool
        self._max_sessions = max_sessions
        self._sessions: dict[int, _Session] = {}

    async def start(self, order: RunCommand, *, besides: Container[int] = (), number: int | None = None) -> int:
        """Give the order to a worker; gives the number, none of `besides`, by which the process is known.

        `number`: that of a process that has ended and whose place it takes.
        """
        if len(self._sessions) >= self._max_sessions:
            raise TooManyProcesses(f"{self._max_sessions} processes are running; end one of them first")
        process_id = self._free_number(besides) if number is None or number in self._sessions else number
        session = _Session(process_id, order)
        # Counted from now on, so that many starts at once cannot exceed the limit.
        self._sessions[process_id] = session
        try:
            await self._pool.hold(session.job)
        except BaseException:
            del self._sessions[process_id]
            raise
        return process_id

    async def started(self, process_id: int) -> None:
        """Until the command runs, or has run. Raises what it could not be started for; then the number is free."""
        job = self._session(process_id).job
        while job.started is None and job.end is None:
            await job.news()
        if job.started is None and not isinstance(job.end, Exited):
            self._sessions.pop(process_id, None)
            raise error_of(job.end)

    async def write(self, process_id: int, data: bytes, *, close: bool = False) -> None:
        await self._session(process_id).job.write(data, close=close)

    async def resize(self, process_id: int, rows: int, cols: int) -> None:
        await self._session(process_id).job.resize(rows, cols)

    async def interrupt(self, process_id: int) -> None:
        """As control-C on its terminal; without one, the end of the process."""
        session = self._session(process_id)
        if session.info.tty:
            await session.job.write(INTERRUPT)
        else:
            await session.job.stop("interrupt")

    async def poll(self, process_id: int, *, yield_ms: float, max_bytes: int) -> Polled:
        """New output, oldest first, after `yield_ms` or once there is enough of it or the process has ended.

        Raises what the job failed with; then, as after its end was told, the number is free.
        """
        session = self._session(process_id)
        job, buffer = session.job, session.buffer
        with trio.move_on_after(yield_ms / 1000):
            while job.end is None and buffer.waiting_bytes < max_bytes:
                await job.news()
        return await self._take(session, max_bytes)

    async def read(self, process_id: int) -> Polled:
        """All new output as soon as there is any, or the end. Raises as `poll` does."""
        session = self._session(process_id)
        while session.job.end is None and session.buffer.is_empty:
            await session.job.news()
        return await self._take(session, session.buffer.waiting_bytes)

    async def over(self, process_id: int) -> None:
        """Until the process has ended, however it did."""
        await self._session(process_id).job.wait()

    async def _take(self, session: _Session, max_bytes: int) -> Polled:
        job, buffer = session.job, session.buffer
        output = buffer.take(max_bytes)
        try:
            await job.grant(len(output.head) + len(output.tail))
        except JobOver:
            # It has just ended: the rest comes by itself.
            pass
        told = isinstance(job.end, Exited) or output == Captured()
        if job.end is None or not buffer.is_empty or not told:
            return Polled(output, None, not buffer.is_empty)
        self._sessions.pop(session.info.process_id, None)
        if not isinstance(job.end, Exited):
            raise error_of(job.end)
        return Polled(output, job.end, more=False)

    async def end(self, process_id: int, *, reason: str = "ended") -> Polled:
        """Stop the process with its whole tree, see it end, and tell what it said last."""
        session = self._session(process_id)
        await session.job.settle(reason)
        self._sessions.pop(process_id, None)
        output = session.buffer.take_rest()
        end = session.job.end
        return Polled(output, end if isinstance(end, Exited) else None, more=False)

    def list(self) -> tuple[SessionInfo, ...]:
        return tuple(
            SessionInfo(
                process_id=session.info.process_id,
                argv=session.info.argv,
                cwd=session.info.cwd,
                tty=session.info.tty,
                ended=session.job.end is not None,
                started_at=session.info.started_at,
            )
            for session in self._sessions.values()
        )

    def _free_number(self, besides: Container[int]) -> int:
        """Not the next one: a number that was given out must not soon mean another process."""
        while True:
            process_id = random.choice(PROCESS_IDS)
            if process_id not in self._sessions and process_id not in besides:
                return process_id

    def _session(self, process_id: int) -> _Session:
        session = self._sessions.get(process_id)
        if session is None:
            raise UnknownProcess(f"no process {process_id} is running")
        return session
