"""One worker process, as the supervisor sees it.

Owns its state, its pid and the means to end it. Decides nothing about how many there are: it tells the roster what
happened to it. Takes facts from the endpoint and passes them to the job it carries.
"""

import logging
import math
import os
import select
import signal
from enum import Enum, auto
from typing import TYPE_CHECKING

import trio

from pycodex.protocol.confinement import Enforced
from pycodex.protocol.frames import Ready, encode
from pycodex.protocol.ids import new_token
from pycodex.supervisor.workers.endpoint import Congested, JobFact, Peer, Unroutable
from pycodex.supervisor.workers.lease import FollowUp, Job, WorkerLost
from pycodex.supervisor.workers.orphans import kill_trees

if TYPE_CHECKING:
    from pycodex.supervisor.workers.roster import Roster

# Dropped messages that are put up with before a worker is taken for compromised.
MAX_MISBEHAVIOUR = 16

logger = logging.getLogger("pycodex.workers")


class State(Enum):
    STARTING = auto()
    READY = auto()
    BUSY = auto()
    RETURNING = auto()
    """It has ended its job and is about to greet again."""
    SPENT = auto()
    """It has said its last word and is about to exit."""
    BEREAVED = auto()
    """It died with a job; its last words may still be on their way."""
    KILLED = auto()
    GONE = auto()


class Worker(Peer):
    """Forked on our request; carries one job at a time, and after each it greets again or exits."""

    def __init__(self, roster: "Roster", flavour: str, *, deadline: float) -> None:
        self.token = new_token()
        self.flavour = flavour
        self.state = State.STARTING
        self.deadline = deadline
        """When its present state has lasted too long."""
        self.pid: int | None = None
        self.enforced: Enforced | None = None
        self.death = ""
        self.job: Job | None = None
        self.busy_since = -math.inf
        """When it got its present job."""
        self.calls_left = 0
        """How many more jobs it says that it will take after this one."""
        self.heard = 0
        """How many facts it has told."""
        self.heard_before = -1
        """The same when it was last listened to after its death."""
        self._roster = roster
        self._claimed_pid: int | None = None
        self._pidfd = -1
        self._exit_poll = select.poll()
        self._misbehaviour = 0

    # Told by the zygote

    def forked(self, pid: int) -> None:
        self.pid = pid
        try:
            self._pidfd = os.pidfd_open(pid)
        except ProcessLookupError:
            # Dead and reaped already; the zygote says so next.
            return
        self._exit_poll.register(self._pidfd, select.POLLIN)
        if self.state is State.KILLED:
            self._end_process()
        else:
            self._compare()

    def bury(self) -> None:
        self.state = State.GONE
        self.deadline = math.inf
        self._roster.endpoint.forget(self)
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1

    # Told by the endpoint

    def greeted(self, ready: Ready) -> None:
        self._claimed_pid = ready.pid
        self.enforced = ready.enforced
        self.calls_left = ready.calls_left
        self._compare()

    def greeted_again(self, ready: Ready) -> bool:
        if self.state not in (State.RETURNING, State.SPENT) or not 0 <= ready.calls_left < self.calls_left:
            return False
        if ready.pid != self.pid:
            self.kill(f"the worker claims to be process {ready.pid}, but is {self.pid}")
            return True
        self.calls_left = ready.calls_left
        self.enforced = ready.enforced
        self.state = State.READY
        self.deadline = math.inf
        self._roster.returned(self)
        return True

    def _compare(self) -> None:
        """It is ready when both it and the zygote, in whatever order, have named the same process."""
        if self.state is not State.STARTING or self.pid is None or self._claimed_pid is None:
            return
        if self.pid != self._claimed_pid:
            self.kill(f"the worker claims to be process {self._claimed_pid}, but is {self.pid}")
            return
        self.state = State.READY
        self.deadline = math.inf
        self._roster.became_ready(self)

    def accept(self, fact: JobFact) -> None:
        job = self.job
        if job is None:
            return
        self.heard += 1
        wrong = job.accept(fact)
        if wrong is not None:
            logger.warning("dropped a message of worker %s: %s", self.pid, wrong)
            self.misbehaved(wrong)
        if job.end is not None and self.state in (State.BUSY, State.BEREAVED):
            returns = self.calls_left > 0 and self.state is State.BUSY
            self.state = State.RETURNING if returns else State.SPENT
            self.job_id = ""
            self.job = None
            self._roster.job_ended(self)

    def misbehaved(self, what: str) -> None:
        self._misbehaviour += 1
        if self._misbehaviour > MAX_MISBEHAVIOUR or self.state is State.STARTING:
            self.kill(f"its worker broke the protocol: {what}")

    # Told by jobs

    def begin(self, job: Job) -> bool:
        """Give it an order. False when it is gone and nothing was sent."""
        if self.state is not State.READY:
            return False
        if self._exit_poll.poll(0):
            self.kill("the worker is gone")
            return False
        self.job = job
        self.job_id = job.job_id
        try:
            self._roster.endpoint.send(self, job.frame)
        except (Unroutable, Congested):
            self.job = None
            self.kill("the worker is gone")
            return False
        self.state = State.BUSY
        self.busy_since = trio.current_time()
        job.carried_by(self)
        self._roster.dispatched()
        return True

    def post(self, order: FollowUp) -> None:
        self._roster.endpoint.send(self, encode(order))

    def kill(self, why: str) -> None:
        """End it and everything below it now; its job, if any, ends with `why`."""
        if self.state in (State.KILLED, State.GONE):
            return
        starting = self.state is State.STARTING
        self._end_process()
        self.disown(why)
        if starting:
            self._roster.failed(self, why)

    def dismiss(self) -> None:
        """It waits for a call that will not come. The empty box dies with it, without being looked for."""
        self.end_itself()
        self.disown("not needed any more")

    def disown(self, why: str) -> None:
        """Neither hear nor use it any more; its job, if any, ends with `why`."""
        self._roster.withdraw(self)
        self.state = State.KILLED
        self.deadline = math.inf
        self._roster.endpoint.forget(self)
        self.lose_job(why)

    def lose_job(self, why: str) -> None:
        job, self.job, self.job_id = self.job, None, ""
        if job is not None:
            job.finish(WorkerLost(why))

    def _end_process(self) -> None:
        if self.pid is not None and self.is_alive:
            kill_trees([self.pid])

    def end_itself(self) -> None:
        """Kill the process alone: what an answered call left running on purpose stays."""
        if self.is_alive:
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    async def exited(self) -> None:
        await trio.lowlevel.wait_readable(self._pidfd)

    @property
    def is_alive(self) -> bool:
        """Whether the pid still stands for it, if only as something to be reaped."""
        if self._pidfd < 0:
            return False
        try:
            signal.pidfd_send_signal(self._pidfd, 0)
        except ProcessLookupError:
            return False
        return True
