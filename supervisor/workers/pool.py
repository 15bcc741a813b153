"""Runs orders on workers: the one door to the worker processes.

Owns admission (how much at once, fair between sessions), the dispatch of an order to a worker, and the orderly end of
everything. Knows nothing of tools or policy: it takes orders with their confinement, gives results.
"""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from functools import partial

import msgpack
import trio

from pycodex.protocol.confinement import Confinement, Enforced
from pycodex.protocol.frames import MAX_ITEMS, Exited, RunFileJob
from pycodex.supervisor.workers.endpoint import Endpoint
from pycodex.supervisor.workers.fair import FairGate
from pycodex.supervisor.workers.keeper import Keeper
from pycodex.supervisor.workers.launch import Launched, launch
from pycodex.supervisor.workers.lease import (
    CollectedJob,
    Completed,
    Job,
    JobFailed,
    LiveJob,
    PoolClosed,
    RunOrder,
)
from pycodex.supervisor.workers.orphans import become_subreaper
from pycodex.supervisor.workers.roster import Roster, RosterSettings
from pycodex.supervisor.workers.runtime_dir import open_runtime_dir

SHUTDOWN_GRACE_S = 2.0


@dataclass(frozen=True, slots=True)
class PoolSettings:
    max_running: int = 64
    workers: RosterSettings = field(default_factory=RosterSettings)


@dataclass(frozen=True, slots=True)
class FileAnswer:
    """What a file job answered, and what it took."""

    value: object
    exited: Exited


class Pool:
    """Made by `open_pool`."""

    def __init__(self, roster: Roster, keeper: Keeper, *, runtime_dir: str, max_running: int) -> None:
        self.runtime_dir = runtime_dir
        self._roster = roster
        self._keeper = keeper
        self._gate = FairGate(max_running)
        self._active: set[Job] = set()
        self._closed = False

    @property
    def host(self) -> Enforced | None:
        """What this machine can enforce, once the zygote has said so."""
        return self._keeper.host

    @property
    def zygote_pid(self) -> int | None:
        return self._keeper.pid

    async def run(self, order: RunOrder, *, session_id: str = "", finish: bool = False) -> Completed:
        """Run to the end. Raises WorkerLost, JobRefused or JobFailed; cancelling it stops the job first.

        `finish`: once a worker has it, it comes to its end although the caller is cancelled; it needs a timeout.
        """
        job = CollectedJob(order)
        await self._dispatch_in_turn(job, session_id)
        try:
            with trio.CancelScope(shield=finish):
                await job.wait()
        finally:
            if job.end is None:
                await job.settle("cancelled")
        return job.completed()

    @asynccontextmanager
    async def running(self, order: RunOrder, *, session_id: str = "") -> AsyncIterator[LiveJob]:
        """A job to read from and to write to; it does not outlive the block."""
        job = LiveJob(order)
        await self._dispatch_in_turn(job, session_id)
        try:
            yield job
        finally:
            if job.end is None:
                await job.settle("cancelled")

    async def hold(self, job: Job) -> None:
        """Dispatch a job that lasts between calls. It takes no place from those that are about to end."""
        job.on_end = self._active.discard
        await self._dispatch(job)

    async def run_file_job(  # noqa: PLR0913 - the job and its arguments; the rest by name
        self,
        name: str,
        arguments: Mapping[str, object],
        *,
        cwd: str,
        confinement: Confinement,
        session_id: str = "",
        answer_cap_bytes: int = RunFileJob.output_cap_bytes,
        finish: bool = False,
    ) -> FileAnswer:
        """Run a named job inside the confined child. Raises JobFailed with its text if it could not be done.

        Texts in arguments and answer may be paths that are no UTF-8, with surrogates for their odd bytes.
        """
        order = RunFileJob(
            job_id="",
            name=name,
            arguments=msgpack.packb(dict(arguments), unicode_errors="surrogateescape"),
            cwd=cwd,
            confinement=confinement,
            output_cap_bytes=answer_cap_bytes,
        )
        done = await self.run(order, session_id=session_id, finish=finish)
        if done.code != 0:
            how = f"was killed by signal {done.signal}" if done.code is None else f"ended with code {done.code}"
            detail = done.exited.reason or done.stderr.data.decode(errors="replace")[:2000].strip()
            raise JobFailed(f"{name} {how}" + (f": {detail}" if detail else ""))
        if done.stdout.dropped_bytes:
            raise JobFailed(f"{name}: the answer exceeds {order.output_cap_bytes} bytes")
        return FileAnswer(_decode_answer(name, done.stdout.data), done.exited)

    async def _dispatch_in_turn(self, job: Job, session_id: str) -> None:
        if not self._gate.try_enter():
            await self._gate.enter(session_id)
        job.on_end = self._leave
        try:
            await self._dispatch(job)
        except BaseException:
            self._gate.leave()
            raise

    async def _dispatch(self, job: Job) -> None:
        if self._closed:
            raise PoolClosed("the workers are shut down")
        roster = self._roster
        # A worker that turns out to be gone was sent nothing, so another one may have the order.
        while not (roster.take(job.flavour) or await roster.obtain(job.flavour)).begin(job):
            pass
        self._active.add(job)

    def _leave(self, job: Job) -> None:
        self._active.discard(job)
        self._gate.leave()

    async def shut_down(self) -> None:
        """Refuse what is new, stop what runs, and see it end."""
        self._closed = True
        self._gate.close(PoolClosed("the workers are shut down"))
        self._roster.close()
        with trio.CancelScope(shield=True, deadline=trio.current_time() + SHUTDOWN_GRACE_S):
            for job in list(self._active):
                await job.stop("shutdown")
            while self._active:
                await next(iter(self._active)).wait()
            await self._roster.cleared_up()
        for job in list(self._active):
            job.kill("the workers are shut down")


@asynccontextmanager
async def open_pool(
    settings: PoolSettings | None = None,
    *,
    env: Mapping[str, str] = os.environ,
    launched: Launched | None = None,
    launch: Callable[[], Launched] = launch,
) -> AsyncIterator[Pool]:
    """A pool for the time of the block; afterwards no process and no file of it is left.

    `launched` is a zygote that was started early, before the caller's imports.
    """
    settings = settings or PoolSettings()
    become_subreaper()
    with open_runtime_dir(env) as runtime_dir, closing(Endpoint(runtime_dir.socket_path)) as endpoint:
        roster = Roster(endpoint, settings.workers)
        keeper = Keeper(roster, runtime_dir.socket_path, launch)
        pool = Pool(roster, keeper, runtime_dir=runtime_dir.path, max_running=settings.max_running)
        # Shielded: jobs of a cancelled caller are still stopped in good order.
        services = trio.CancelScope(shield=True)
        raised: BaseException | None = None
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_serve, services, (endpoint.serve, roster.tend, partial(keeper.run, launched)))
                try:
                    yield pool
                except BaseException as error:
                    # Raised below, outside: a nursery would wrap it.
                    raised = error
                await pool.shut_down()
                services.cancel()
        finally:
            await roster.zygote_gone("the workers are shut down", hopeless=True)
            await keeper.reap_adopted()
    if raised is not None:
        raise raised


async def _serve(scope: trio.CancelScope, services: Iterable[Callable[[], Awaitable[None]]]) -> None:
    with scope:
        async with trio.open_nursery() as nursery:
            for service in services:
                nursery.start_soon(service)


def _decode_answer(name: str, data: bytes) -> object:
    try:
        answer = msgpack.unpackb(
            data,
            strict_map_key=True,
            max_array_len=MAX_ITEMS,
            max_map_len=MAX_ITEMS,
            max_ext_len=0,
            unicode_errors="surrogateescape",
        )
    except (ValueError, RecursionError, msgpack.exceptions.UnpackException) as error:
        raise JobFailed(f"{name}: the answer makes no sense: {error}") from None
    if type(answer) is dict and len(answer) == 1:
        if "ok" in answer:
            return answer["ok"]
        if type(answer.get("error")) is str:
            raise JobFailed(answer["error"])
    raise JobFailed(f"{name}: the answer makes no sense: {answer!r:.80}")
