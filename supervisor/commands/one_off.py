"""One command from its order to its end, with what is written to it and what it says meanwhile.

Owns the steps, the bounds of input and output, and the exit code. Whoever awaits `run` keeps it alive: cancelled, the
whole tree of the command ends. What it may touch is up to `workplace`. Takes a wish, gives what became of it.
"""

import math
import os
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import trio

from pycodex.protocol.confinement import Confinement
from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.frames import (
    STDERR,
    STDIN_NONE,
    STDIN_OPEN,
    STDOUT,
    TIMEOUT,
    Exited,
    Failed,
    Output,
    Pty,
    Refused,
    RunCommand,
)
from pycodex.protocol.permissions import Permissions
from pycodex.supervisor.commands.workplace import Workplace

if TYPE_CHECKING:
    from pycodex.supervisor.workers.lease import LiveJob

TIMED_OUT_CODE = 124
NO_EXIT_CODE = -1
# What the end of a terminal by a signal looks like in the reference.
_KILLED_TERMINAL_CODE = 1
_SIGNAL_BASE = 128
# Longer than anybody waits, and what a worker's clock can count to.
_MAX_TIMEOUT_MS = 1_000_000_000
_DRAIN_MS = 2000
_CREDIT_BYTES = 256 << 10
MAX_KEPT_BYTES = 64 << 20
"""Of each stream, if all of it is wanted at the end."""
MAX_UNREAD_BYTES = 8 << 20
"""Of what was written to a command and not yet taken by it."""
_EVERYTHING = 1 << 62
_TERMINATED = "terminated"

Tell = Callable[[str, bytes, bool], Awaitable[None]]
"""A stream, a piece of it, and whether its cap is reached with that. More is sent only once it has returned."""


class NotStarted(ModelFacing):
    """The command could not be started."""


class NoLongerRunning(ModelFacing):
    """There is nothing left to write to, to resize or to end."""


class NotWritable(ModelFacing):
    """What was written cannot be passed on."""


class TooMuchOutput(ModelFacing):
    """All of the output was wanted, and it is more than we keep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    argv: tuple[str, ...]
    cwd: str
    permissions: Permissions
    env: Mapping[str, str | None] = field(default_factory=dict)
    timeout_ms: int | None = None
    cap_bytes: int | None = None
    """Of each stream; the rest is dropped. None: none is."""
    pty: Pty | None = None
    has_stdin: bool = False
    unconfined_because: str = ""
    """Why no sandbox is around it, whatever the permissions say; empty: they hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Streams are empty if they were told piece by piece."""

    exit_code: int
    stdout: bytes = b""
    stderr: bytes = b""
    is_cut: bool = False
    capped: frozenset[str] = frozenset()
    """The streams that have reached their cap."""


class OneOff:
    """`run` it once; the other methods may be used as soon as it exists."""

    def __init__(self, wish: Wish, tell: Tell | None = None) -> None:
        self.wish = wish
        self._tell = tell
        self._job: LiveJob | None = None
        self._is_confined = True
        self._begun = trio.Event()
        self._is_unwanted = False
        self._unread: deque[bytes] = deque()
        self._unread_bytes = 0
        self._is_closed = not (wish.has_stdin or wish.pty)
        self._more_input = trio.Event()

    async def run(self, workplace: Workplace) -> Outcome:
        """To the end. Raises ModelFacing if it never began or its worker was lost."""
        try:
            return await self._run(workplace)
        finally:
            self._begun.set()

    async def _run(self, workplace: Workplace) -> Outcome:
        from pycodex.supervisor.workers.lease import LiveJob

        pool = await workplace.pool.ready()
        order = self._order(workplace, pool.runtime_dir)
        self._is_confined = not order.confinement.unconfined_because
        job = LiveJob(order)
        await pool.hold(job)
        self._job = job
        self._begun.set()
        failure: ModelFacing | None = None
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._pass_input, job)
                if self._is_unwanted:
                    await job.stop(_TERMINATED)
                try:
                    outcome = await self._follow(job)
                except ModelFacing as error:
                    # Raised below: a nursery would wrap it.
                    failure = error
                nursery.cancel_scope.cancel()
        finally:
            if job.end is None:
                await job.settle("cancelled")
        if failure is not None:
            raise failure
        return outcome

    def _order(self, workplace: Workplace, runtime_dir: str) -> RunCommand:
        wish = self.wish
        if any("\0" in text for text in (wish.cwd, *wish.argv, *wish.env, *filter(None, wish.env.values()))):
            raise NotStarted("nul byte found in provided data")
        if wish.unconfined_because:
            confined = Confinement(unconfined_because=wish.unconfined_because, limits=workplace.config.limits)
        else:
            confined = workplace.confinement(wish.permissions, runtime_dir=runtime_dir)
        return RunCommand(
            job_id="",
            argv=wish.argv,
            cwd=wish.cwd,
            env=workplace.environment(confined, wish.env),
            confinement=confined,
            stdin=STDIN_OPEN if wish.has_stdin and wish.pty is None else STDIN_NONE,
            pty=wish.pty,
            timeout_ms=None if wish.timeout_ms is None else min(wish.timeout_ms, _MAX_TIMEOUT_MS),
            drain_ms=_DRAIN_MS,
            head_bytes=wish.cap_bytes,
            credit_bytes=_CREDIT_BYTES,
            lossless_bytes=_EVERYTHING,
        )

    async def started(self) -> bool:
        """Once it runs, or never will; whether it does or did."""
        await self._begun.wait()
        job = self._job
        while job is not None and job.started is None and job.end is None:
            await job.news()
        return job is not None and job.started is not None

    # What it says

    async def _follow(self, job: "LiveJob") -> Outcome:
        streams = {STDOUT: bytearray(), STDERR: bytearray()}
        room = dict.fromkeys(streams, math.inf if self.wish.cap_bytes is None else self.wish.cap_bytes)
        async for fact in job:
            if isinstance(fact, Output):
                room[fact.stream] -= len(fact.data)
                if self._tell is not None:
                    await self._tell(fact.stream, fact.data, room[fact.stream] <= 0)
                else:
                    streams[fact.stream] += fact.data
                    _check_size(streams[fact.stream])
                await job.grant(len(fact.data))
            elif isinstance(fact, Failed):
                raise NotStarted(_why_failed(fact))
            elif isinstance(fact, Refused):
                raise NotStarted(fact.text)
            elif isinstance(fact, Exited):
                return Outcome(
                    exit_code=self._exit_code(fact),
                    stdout=bytes(streams[STDOUT]),
                    stderr=bytes(streams[STDERR]),
                    is_cut=fact.dropped_bytes > 0,
                    capped=frozenset(stream for stream in streams if room[stream] <= 0),
                )
        raise NotStarted("its worker never told its end")

    def _exit_code(self, exited: Exited) -> int:
        if exited.reason == TIMEOUT:
            return TIMED_OUT_CODE
        if exited.code is not None and exited.reason != _TERMINATED:
            return exited.code
        if exited.reason != _TERMINATED and self._is_confined:
            return _SIGNAL_BASE + (exited.signal or 0)
        return _KILLED_TERMINAL_CODE if self.wish.pty is not None else NO_EXIT_CODE

    # What is said to it

    def write(self, data: bytes, *, close: bool) -> None:
        """Have it passed on, in order. Raises NotWritable if it is closed, or too much waits already."""
        if self._is_closed:
            raise NotWritable("stdin is already closed")
        if self._unread_bytes + len(data) > MAX_UNREAD_BYTES:
            raise NotWritable(
                f"stdin is full: {self._unread_bytes} bytes wait to be read, and {MAX_UNREAD_BYTES} may at most"
            )
        if data:
            self._unread.append(data)
            self._unread_bytes += len(data)
        self._is_closed = close
        self._more_input.set()

    async def _pass_input(self, job: "LiveJob") -> None:
        from pycodex.supervisor.workers.lease import JobOver

        try:
            while True:
                await self._more_input.wait()
                self._more_input = trio.Event()
                while self._unread:
                    data = self._unread.popleft()
                    await job.write(data)
                    self._unread_bytes -= len(data)
                if self._is_closed:
                    await job.write(b"", close=True)
                    return
        except JobOver:
            # It ended without reading all of it, which is its right.
            return

    async def resize(self, rows: int, cols: int) -> None:
        """Raises NoLongerRunning."""
        from pycodex.supervisor.workers.lease import JobOver

        await self._begun.wait()
        try:
            if self._job is not None:
                return await self._job.resize(rows, cols)
        except JobOver:
            pass
        raise NoLongerRunning("the command has ended")

    async def terminate(self) -> None:
        """End it and all that it started."""
        self._is_unwanted = True
        if self._job is not None:
            await self._job.stop(_TERMINATED)


def _check_size(stream: bytearray) -> None:
    if len(stream) > MAX_KEPT_BYTES:
        raise TooMuchOutput(
            f"the command has written more than {MAX_KEPT_BYTES} bytes; set a cap, or have the output streamed"
        )


def _why_failed(failed: Failed) -> str:
    return f"{os.strerror(failed.errno)} (os error {failed.errno})" if failed.errno else failed.text
