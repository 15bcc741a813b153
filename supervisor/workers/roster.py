"""Which worker processes there are, and which there should be.

Owns every worker from the wish for it to its burial: keeps some of the last used flavours warm, starts others when they
are wanted, replaces the dead, ends the stuck. Knows of jobs only that a worker carries one; the zygote is kept alive by
`keeper`. Takes wishes for a worker of a flavour, gives one that has proved itself.
"""

import logging
import math
import os
from collections import deque
from dataclasses import dataclass
from typing import cast

import outcome
import trio

from pycodex.protocol.frames import Stop
from pycodex.supervisor.workers.endpoint import Congested, Endpoint, Unroutable
from pycodex.supervisor.workers.lease import CONFINED, FLAVOURS, PoolClosed, WorkerLost
from pycodex.supervisor.workers.orphans import kill_trees, reap
from pycodex.supervisor.workers.worker import State, Worker
from pycodex.supervisor.workers.zygote import Zygote, ZygoteGone, describe_status

KEPT_FLAVOURS = 2
# Deaths of fresh workers in a row after which callers are told instead of made to wait.
MAX_FAILURES = 5
# While a call has just been dispatched, its processor time is not shared with a fork for the next one.
DISPATCH_QUIET_S = 0.05
# The same for the caller that has just got its answer.
REPLY_QUIET_S = 0.001
# How long one that will be ready for another call is waited for instead of starting a new one.
RETURN_S = 0.05
# More workers than these would only take turns at the processors, and cost memory. One that has been busy for longer
# is not counted: it waits for something else, as a rule.
MOST_PER_PROCESSOR = 6
SHORT_CALL_S = 0.1
LAST_WORDS_S = 1.0
LAST_WORDS_POLL_S = 0.005
OWN_SWEEP_S = 0.5
ORPHANS_GONE_S = 2.0

_PROCESSORS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

logger = logging.getLogger("pycodex.workers")


@dataclass(frozen=True, slots=True)
class RosterSettings:
    warm: int = 2
    flavours: tuple[str, ...] = (CONFINED,)
    """Kept warm from the beginning."""
    max_starting: int = 4
    ready_timeout_s: float = 20.0
    linger_s: float = 10.0
    """How long a worker may take to exit after its last word."""


class Roster:
    """`tend` must run in a nursery for as long as workers are wanted."""

    def __init__(self, endpoint: Endpoint, settings: RosterSettings) -> None:
        self.endpoint = endpoint
        self.settings = settings
        self.ready_count = 0
        """How many workers ever got ready."""
        self.wanted = trio.Event()
        """Set when somebody waits for a worker."""
        self._zygote: Zygote | None = None
        self._workers: dict[str, Worker] = {}
        self._starting: set[Worker] = set()
        self._idle: dict[str, deque[Worker]] = {flavour: deque() for flavour in FLAVOURS}
        self._seekers: dict[str, deque[trio.lowlevel.Task]] = {flavour: deque() for flavour in FLAVOURS}
        self._failures = dict.fromkeys(FLAVOURS, 0)
        self._recent = list(settings.flavours[:KEPT_FLAVOURS])
        self._quiet_until = -math.inf
        self._tend_at = -math.inf
        self._poke = trio.Event()
        self._changed = trio.Event()
        """Set when a worker has come back, or is gone."""
        self._closed = False

    # Wishes

    def take(self, flavour: str) -> Worker | None:
        """A warm worker, if there is one."""
        if self._recent[:1] != [flavour]:
            self._note_use(flavour)
        idle = self._idle[flavour]
        return idle.popleft() if idle else None

    async def obtain(self, flavour: str) -> Worker:
        """The next worker of this flavour that gets ready. Raises WorkerLost when none can be had."""
        if self._closed:
            raise PoolClosed("the workers are shut down")
        task = trio.lowlevel.current_task()
        seekers = self._seekers[flavour]
        if not seekers:
            self._failures[flavour] = 0
        seekers.append(task)
        self.wanted.set()
        self.top_up()

        def give_up(_: object) -> trio.lowlevel.Abort:
            seekers.remove(task)
            return trio.lowlevel.Abort.SUCCEEDED

        return cast(Worker, await trio.lowlevel.wait_task_rescheduled(give_up))

    def dispatched(self) -> None:
        """A worker has its order: leave it the processor for a moment, then make sure of the next one."""
        now = trio.current_time()
        # Never put off twice: calls that follow each other closely must not find the shelves empty.
        if self._quiet_until <= now and not self._starting:
            self._quiet_until = now + DISPATCH_QUIET_S
        if self._is_short():
            self._tend_by(max(self._quiet_until, now))

    def _note_use(self, flavour: str) -> None:
        self._recent = [flavour, *(other for other in self._recent if other != flavour)][:KEPT_FLAVOURS]
        for other in FLAVOURS:
            while other not in self._recent and self._idle[other]:
                self._idle[other].pop().kill("not needed any more")

    def top_up(self) -> None:
        """Ask for the workers that are missing: first those that somebody waits for."""
        for flavour in FLAVOURS:
            if self._seekers[flavour]:
                self._start(flavour, len(self._seekers[flavour]))
        if trio.current_time() >= self._quiet_until:
            for flavour in self._recent:
                if self._failures[flavour] < MAX_FAILURES:
                    wanted = len(self._seekers[flavour]) + self.settings.warm - len(self._idle[flavour])
                    self._start(flavour, wanted)

    def _room(self) -> int:
        """How many more may be started now."""
        long_ago = trio.current_time() - SHORT_CALL_S
        workers = self._workers.values()
        busy_since = [each.busy_since for each in workers if each.state is State.BUSY and each.busy_since > long_ago]
        others = sum(each.state in (State.STARTING, State.READY, State.RETURNING) for each in workers)
        room = MOST_PER_PROCESSOR * _PROCESSORS - len(busy_since) - others
        if room <= 0 and busy_since:
            self._tend_by(min(busy_since) + SHORT_CALL_S)
        return min(room, self.settings.max_starting - len(self._starting))

    def _is_short(self) -> bool:
        """Whether there will be fewer warm workers than wanted, even when those have come that are on their way."""
        warm = self.settings.warm
        return any(len(self._idle[flavour]) + self._coming(flavour) < warm for flavour in self._recent)

    def _coming(self, flavour: str) -> int:
        on_their_way = (State.STARTING, State.RETURNING)
        return sum(worker.flavour == flavour and worker.state in on_their_way for worker in self._workers.values())

    def _start(self, flavour: str, wanted: int) -> None:
        missing = wanted - self._coming(flavour)
        for _ in range(min(missing, self._room()) if missing > 0 else 0):
            if self._zygote is None or self._closed:
                return
            worker = Worker(self, flavour, deadline=trio.current_time() + self.settings.ready_timeout_s)
            try:
                self._zygote.fork(worker.token, flavour)
            except ZygoteGone as error:
                # Its keeper sees the same and restarts it.
                logger.warning("no worker could be asked for: %s", error)
                return
            self._workers[worker.token] = worker
            self._starting.add(worker)
            self.endpoint.expect(worker)
            self._tend_by(worker.deadline)

    def _place(self, worker: Worker) -> None:
        seekers, idle = self._seekers[worker.flavour], self._idle[worker.flavour]
        if seekers:
            trio.lowlevel.reschedule(seekers.popleft(), outcome.Value(worker))
        elif worker.flavour in self._recent and len(idle) < self.settings.warm and not self._closed:
            idle.append(worker)
        else:
            worker.dismiss()

    def _fail_seekers(self, flavour: str, text: str) -> None:
        seekers = self._seekers[flavour]
        while seekers:
            trio.lowlevel.reschedule(seekers.popleft(), outcome.Error(WorkerLost(text)))

    # What workers tell of themselves

    def became_ready(self, worker: Worker) -> None:
        self.ready_count += 1
        self._starting.discard(worker)
        self._place(worker)
        self.top_up()

    def returned(self, worker: Worker) -> None:
        """It is ready for another call."""
        self.ready_count += 1
        self._place(worker)
        self._changed.set()

    def job_ended(self, worker: Worker) -> None:
        """Its call is answered: unless it comes back, it is replaced as soon as the caller has gone on."""
        now = trio.current_time()
        self._failures[worker.flavour] = 0
        self._quiet_until = min(self._quiet_until, now + REPLY_QUIET_S)
        worker.deadline = now + (RETURN_S if worker.state is State.RETURNING else self.settings.linger_s)
        if worker.death:
            # Its death was told before its result: nobody will tell it again.
            self._bury(worker)
        self._tend_by(max(self._quiet_until, now) if self._is_short() else worker.deadline)

    def failed(self, worker: Worker, how: str) -> None:
        """It ended before it was of any use. When that goes on, those who wait are told."""
        self._failures[worker.flavour] += 1
        logger.warning("worker %s: %s", worker.pid, how)
        if self._failures[worker.flavour] >= MAX_FAILURES:
            self._fail_seekers(worker.flavour, f"no worker could be started: {how}")

    def withdraw(self, worker: Worker) -> None:
        """It is not to be given to anybody any more."""
        self._starting.discard(worker)
        if worker in self._idle[worker.flavour]:
            self._idle[worker.flavour].remove(worker)

    # What the keeper tells

    def zygote_ready(self, zygote: Zygote) -> None:
        self._zygote = zygote
        self.top_up()

    def forked(self, token: str, pid: int) -> None:
        worker = self._workers.get(token)
        if worker is not None:
            worker.forked(pid)

    def died(self, token: str, status: int) -> None:
        worker = self._workers.get(token)
        if worker is None:
            return
        worker.death = describe_status(status)
        if worker.state is State.BUSY:
            worker.state = State.BEREAVED
            worker.deadline = trio.current_time() + LAST_WORDS_S
            self._tend_by(trio.current_time())
            return
        if worker.state in (State.STARTING, State.READY):
            self.withdraw(worker)
            self.failed(worker, f"{worker.death} before it was {'ready' if worker.state is State.STARTING else 'used'}")
        self._bury(worker)
        self.top_up()

    async def zygote_gone(self, text: str, *, hopeless: bool) -> None:
        """All its workers are ours now: end them with their trees, and every call in flight."""
        self._zygote = None
        for worker in self._workers.values():
            worker.disown(f"its worker is gone: {text}")
        if hopeless:
            for flavour in FLAVOURS:
                self._fail_seekers(flavour, text)
        with trio.CancelScope(shield=True):
            left = await self._end_orphans()
        if left:
            logger.error("processes %s could not be ended", left)

    async def _end_orphans(self) -> list[int]:
        """Workers notice that their zygote is gone, and clear up best themselves; what is left then is killed."""
        orphans = {worker.pid: worker for worker in self._workers.values() if worker.pid and worker.is_alive}
        with trio.move_on_after(OWN_SWEEP_S):
            for worker in orphans.values():
                await worker.exited()
        killed = kill_trees(orphans)
        for worker in list(self._workers.values()):
            self._bury(worker)
        return await reap({*killed, *orphans}, within_s=ORPHANS_GONE_S)

    def _bury(self, worker: Worker) -> None:
        worker.bury()
        self._workers.pop(worker.token, None)
        self._changed.set()

    async def cleared_up(self) -> None:
        """Until all who have told the end of their job have also put away what belonged to it."""
        while any(worker.state in (State.RETURNING, State.SPENT) for worker in self._workers.values()):
            self._changed = trio.Event()
            await self._changed.wait()

    # Time

    async def tend(self) -> None:
        """Watch over deadlines; sleeps while there are none."""
        while True:
            now = trio.current_time()
            self._tend_at = math.inf
            self._check(now)
            waiting = [self._tend_at, *(worker.deadline for worker in self._workers.values())]
            if self._quiet_until > now:
                waiting.append(self._quiet_until)
            if any(worker.state is State.BEREAVED for worker in self._workers.values()):
                waiting.append(now + LAST_WORDS_POLL_S)
            self._tend_at = min(waiting)
            self._poke = trio.Event()
            with trio.CancelScope(deadline=self._tend_at):
                await self._poke.wait()

    def _tend_by(self, when: float) -> None:
        if when < self._tend_at:
            self._tend_at = when
            self._poke.set()

    def _check(self, now: float) -> None:
        for worker in list(self._workers.values()):
            if worker.state is State.BEREAVED:
                self._hear_last_words(worker, now)
            elif worker.deadline <= now and worker.state is State.STARTING:
                # Waited for long enough: no second try.
                self._failures[worker.flavour] = MAX_FAILURES
                worker.kill(f"it was not ready within {self.settings.ready_timeout_s:g} s")
            elif worker.deadline <= now and worker.state is State.RETURNING:
                worker.state = State.SPENT
                worker.deadline = now + self.settings.linger_s
            elif worker.deadline <= now:
                worker.deadline = math.inf
                worker.end_itself()
        self.top_up()

    def _hear_last_words(self, worker: Worker, now: float) -> None:
        """The zygote's news may overtake the worker's own: listen until the connection is gone and nothing comes."""
        try:
            worker.post(Stop(job_id=worker.job_id))
            gone = False
        except Congested:
            gone = False
        except Unroutable:
            gone = True
        self.endpoint.drain()
        silent = worker.heard == worker.heard_before
        worker.heard_before = worker.heard
        if worker.state is not State.BEREAVED or (silent and gone) or now >= worker.deadline:
            worker.lose_job(f"its worker {worker.death} without a result")
            self._bury(worker)
            self.top_up()
        elif not silent:
            worker.deadline = now + LAST_WORDS_S

    def close(self) -> None:
        """Nobody gets a worker any more."""
        self._closed = True
        for seekers in self._seekers.values():
            while seekers:
                trio.lowlevel.reschedule(seekers.popleft(), outcome.Error(PoolClosed("the workers are shut down")))
