"""Processes that go on between calls: started, written to, polled, ended.

Owns their numbers, the output that nobody has polled yet, and the credit by which a worker learns that it was. Works
for terminals and for plain pipes. Knows nothing of the tools that use it. Lives as long as the pool it is given.
"""

import itertools
from dataclasses import dataclass

import trio

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.frames import Exited, RunCommand
from pycodex.supervisor.workers.capture import Captured, PollBuffer
from pycodex.supervisor.workers.lease import Job, JobOver, error_of
from pycodex.supervisor.workers.pool import Pool

MAX_SESSIONS = 64
FIRST_PROCESS_ID = 1000
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
        self._numbers = itertools.count(FIRST_PROCESS_ID)

    async def start(self, order: RunCommand) -> int:
        """Give the order to a worker; gives the number by which the process is known from now on."""
        if len(self._sessions) >= self._max_sessions:
            raise TooManyProcesses(f"{self._max_sessions} processes are running; end one of them first")
        process_id = next(self._numbers)
        session = _Session(process_id, order)
        # Counted from now on, so that many starts at once cannot exceed the limit.
        self._sessions[process_id] = session
        try:
            await self._pool.hold(session.job)
        except BaseException:
            del self._sessions[process_id]
            raise
        return process_id

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
        output = buffer.take(max_bytes)
        try:
            await job.grant(len(output.head) + len(output.tail))
        except JobOver:
            # It has just ended: the rest comes by itself.
            pass
        told = isinstance(job.end, Exited) or output == Captured()
        if job.end is None or not buffer.is_empty or not told:
            return Polled(output, None, not buffer.is_empty)
        self._sessions.pop(process_id, None)
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

    def _session(self, process_id: int) -> _Session:
        session = self._sessions.get(process_id)
        if session is None:
            raise UnknownProcess(f"no process {process_id} is running")
        return session
