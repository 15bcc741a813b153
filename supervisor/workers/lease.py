"""One job as its caller sees it: what arrives, what can be sent, how it ends.

Owns the state of a job from its order to its last fact, checks every fact against what was ordered, and guarantees the
end: a caller that goes away stops the job, a worker that does not stop is killed. Knows of the worker only that it can
be written to and killed. Takes facts from the receive loop, gives them to one reader.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import trio

from pycodex.protocol.confinement import Confinement
from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.frames import (
    STDERR,
    STDOUT,
    Credit,
    Exited,
    Failed,
    Output,
    Refused,
    Resize,
    RunCommand,
    RunFileJob,
    Started,
    Stop,
    WriteStdin,
    encode,
)
from pycodex.protocol.ids import new_job_id
from pycodex.supervisor.workers.capture import Captured, Collector, OutputQueue, Sink
from pycodex.supervisor.workers.endpoint import Congested, JobFact, Unroutable

STOP_GRACE_S = 2.0
# A worker enforces the timeout itself; this much later it is taken for stuck.
WATCHDOG_SLACK_S = 10.0
STDIN_CHUNK_BYTES = 64 << 10
CONGESTION_WAIT_S = 0.01
# What a frame or two may exceed the exact count by.
ALLOWANCE_SLACK_BYTES = 64 << 10

CONFINED = "confined"
NETWORK = "network"
UNCONFINED = "unconfined"
FLAVOURS = (CONFINED, NETWORK, UNCONFINED)

RunOrder = RunCommand | RunFileJob
FollowUp = WriteStdin | Resize | Stop | Credit


class WorkerLost(ModelFacing):
    """The process that ran the call is gone without a result; what the call did until then is unknown."""


class JobRefused(ModelFacing):
    """The sandbox cannot enforce what was asked; nothing was run."""


class JobFailed(ModelFacing):
    """The job could not be started. `errno` is 0 when no system call is to blame."""

    def __init__(self, text: str, *, errno: int = 0) -> None:
        super().__init__(text)
        self.errno = errno


class JobOver(ModelFacing):
    """There is nothing to write to: the process has ended."""


class PoolClosed(ModelFacing):
    """The workers are being shut down."""


End = Exited | Refused | Failed | WorkerLost


@dataclass(frozen=True, slots=True)
class Completed:
    """A command that ran to its end. Exactly one of `code` and `signal` is set."""

    code: int | None
    signal: int | None
    stdout: Captured
    stderr: Captured
    exited: Exited


class Carrier(Protocol):
    """The worker that runs a job."""

    def post(self, order: FollowUp) -> None:
        """Raises Congested or Unroutable."""
        ...

    def kill(self, why: str) -> None:
        """End the worker and its tree now, and the job with it."""
        ...


def flavour_of(confinement: Confinement) -> str:
    if confinement.unconfined_because:
        return UNCONFINED
    return NETWORK if confinement.network else CONFINED


class Job:
    """One order and what came of it."""

    def __init__(self, order: RunOrder, sink: Sink) -> None:
        if not order.job_id:
            order = order.replace(job_id=new_job_id())
        self.job_id = order.job_id
        self.flavour = flavour_of(order.confinement)
        self.frame = encode(order)
        self.sink = sink
        self.started: Started | None = None
        self.end: End | None = None
        self.on_end: Callable[[Job], None] | None = None
        self._carrier: Carrier | None = None
        # What credit lets through, and what waits for credit and comes at the end without it.
        credit_bytes = order.credit_bytes if isinstance(order, RunCommand) else order.output_cap_bytes
        self._allowance_bytes = credit_bytes + order.output_cap_bytes + ALLOWANCE_SLACK_BYTES
        self._patience_s = math.inf
        self._deadline = math.inf
        if order.timeout_ms is not None:
            drain_ms = order.drain_ms if isinstance(order, RunCommand) else 0
            self._patience_s = (order.timeout_ms + drain_ms) / 1000 + WATCHDOG_SLACK_S
        self._sequences = {STDOUT: -1, STDERR: -1}
        self._news: trio.Event | None = None

    # From the worker's side

    def carried_by(self, carrier: Carrier) -> None:
        """The order is on its way; the frame is not needed again."""
        self._carrier = carrier
        self.frame = b""
        if self._patience_s != math.inf:
            self._deadline = trio.current_time() + self._patience_s

    def accept(self, fact: JobFact) -> str | None:
        """Take one fact in; gives what is wrong with it, if anything."""
        if self.end is not None:
            return f"{type(fact).__name__} after the end"
        if isinstance(fact, Output):
            return self._accept_output(fact)
        if isinstance(fact, Started):
            if self.started is not None:
                return "second Started"
            self.started = fact
            if self.sink.wakes:
                self._tell()
            return None
        if isinstance(fact, Exited) and (fact.code is None) == (fact.signal is None):
            return "Exited with neither or both of code and signal"
        self.finish(fact)
        return None

    def _accept_output(self, output: Output) -> str | None:
        last = self._sequences.get(output.stream)
        if last is None:
            return f"output on {output.stream!r:.20}"
        if output.sequence <= last or output.skipped_bytes < 0:
            return "output out of order"
        self._sequences[output.stream] = output.sequence
        self._allowance_bytes -= len(output.data)
        if self._allowance_bytes < 0 or not self.sink.add(output):
            self.kill("its worker sent more output than it was allowed to")
            return None
        if self.sink.wakes:
            self._tell()
        return None

    def finish(self, end: End) -> None:
        if self.end is None:
            self.end = end
            self._tell()
            if self.on_end is not None:
                self.on_end(self)

    def _tell(self) -> None:
        if self._news is not None:
            self._news.set()
            self._news = None

    # From the caller's side

    async def news(self) -> None:
        """Until something has happened since this was called: the end, or output if the sink cares."""
        if self._news is None:
            self._news = trio.Event()
        with trio.CancelScope(deadline=self._deadline) as scope:
            await self._news.wait()
        if scope.cancelled_caught and self.end is None:
            self.kill(f"its worker gave no answer for {self._patience_s:g} s")

    async def wait(self) -> End:
        while self.end is None:
            await self.news()
        return self.end

    async def write(self, data: bytes, *, close: bool = False) -> None:
        """To the command's standard input or terminal. Waits while the worker is behind."""
        await self._under_way()
        view = memoryview(data)
        for start in range(0, len(view), STDIN_CHUNK_BYTES):
            await self._post(WriteStdin(job_id=self.job_id, data=bytes(view[start : start + STDIN_CHUNK_BYTES])))
        if close or not data:
            await self._post(WriteStdin(job_id=self.job_id, close=close))

    async def resize(self, rows: int, cols: int) -> None:
        await self._under_way()
        await self._post(Resize(job_id=self.job_id, rows=rows, cols=cols))

    async def _under_way(self) -> None:
        """Before the command is there, its terminal need not be."""
        while self.started is None and self.end is None:
            await self.news()

    async def grant(self, size_bytes: int) -> None:
        """Let the worker send so many bytes more."""
        if self.end is None and size_bytes > 0:
            self._allowance_bytes += size_bytes
            await self._post(Credit(job_id=self.job_id, size_bytes=size_bytes))

    async def stop(self, reason: str = "cancelled") -> None:
        """Ask for the end of the whole tree; the end itself comes as a fact."""
        if self.end is None:
            try:
                await self._post(Stop(job_id=self.job_id, reason=reason))
            except JobOver:
                # Its last words are still on their way.
                await trio.lowlevel.checkpoint()

    async def settle(self, reason: str) -> End:
        """Stop it and see it end, whatever happens to the caller; kill it if it takes too long."""
        with trio.CancelScope(shield=True, deadline=trio.current_time() + STOP_GRACE_S):
            await self.stop(reason)
            await self.wait()
        if self.end is None:
            self.kill(f"it did not stop within {STOP_GRACE_S:g} s")
        assert self.end is not None
        return self.end

    def kill(self, why: str) -> None:
        if self._carrier is not None:
            self._carrier.kill(why)
        self.finish(WorkerLost(why))

    async def _post(self, order: FollowUp) -> None:
        while self.end is None and self._carrier is not None:
            try:
                self._carrier.post(order)
            except Congested:
                await trio.sleep(CONGESTION_WAIT_S)
                continue
            except Unroutable:
                break
            await trio.lowlevel.checkpoint()
            return
        raise JobOver("the process has ended")


class LiveJob(Job):
    """A job whose facts are read one by one: `async for fact in job`, up to and with the last."""

    def __init__(self, order: RunOrder) -> None:
        self._queue = OutputQueue()
        super().__init__(order, self._queue)
        self._told_started = False
        self._told_end = False

    def __aiter__(self) -> "LiveJob":
        return self

    async def __anext__(self) -> JobFact:
        while True:
            if self.started is not None and not self._told_started:
                self._told_started = True
                return self.started
            output = self._queue.take()
            if output is not None:
                return output
            if self.end is None:
                await self.news()
            elif isinstance(self.end, WorkerLost):
                raise self.end
            elif self._told_end:
                raise StopAsyncIteration
            else:
                self._told_end = True
                return self.end


class CollectedJob(Job):
    """A job of which only the result matters."""

    def __init__(self, order: RunOrder) -> None:
        self._collector = Collector()
        super().__init__(order, self._collector)

    def completed(self) -> Completed:
        """The result, or the error that it ended with."""
        end = self.end
        if isinstance(end, Exited):
            return Completed(
                code=end.code,
                signal=end.signal,
                stdout=self._collector.captured(STDOUT),
                stderr=self._collector.captured(STDERR),
                exited=end,
            )
        raise error_of(end)


def error_of(end: Refused | Failed | WorkerLost | None) -> ModelFacing:
    if isinstance(end, Refused):
        return JobRefused(end.text)
    if isinstance(end, Failed):
        return JobFailed(end.text, errno=end.errno)
    return end if end is not None else WorkerLost("the job has no end")
