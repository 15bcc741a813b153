"""What processes hold: memory, descriptors, threads, children; and the processor time that they took.

Owns looking at the supervisor (this process), the zygote and the workers from outside. Takes pids, gives plain numbers;
decides nothing about how much is too much.
"""

import gc
import resource
from dataclasses import dataclass

import psutil
import trio

SETTLE_DEADLINE_S = 15.0
SETTLE_STEPS = 6
SETTLE_STEP_S = 0.05


class NeverSettled(Exception):
    """The processes below this one kept changing."""


@dataclass(frozen=True, slots=True)
class Holdings:
    """What the supervisor and its zygote hold at one moment."""

    supervisor_fds: int
    supervisor_threads: int
    supervisor_uss_bytes: int
    zygote_fds: int
    zygote_threads: int
    zygote_uss_bytes: int
    processes: int
    """All below the supervisor, the dead but unburied ones included."""


async def settled_descendants() -> frozenset[int]:
    """Pids below this process, once they have not changed for a while: spent workers are gone, new ones are there."""
    seen = _descendants()
    steps = 0
    with trio.move_on_after(SETTLE_DEADLINE_S):
        while steps < SETTLE_STEPS:
            await trio.sleep(SETTLE_STEP_S)
            now = _descendants()
            steps = steps + 1 if now == seen else 0
            seen = now
        return seen
    raise NeverSettled(f"the processes below this one still changed after {SETTLE_DEADLINE_S:g} s")


def _descendants() -> frozenset[int]:
    return frozenset(child.pid for child in psutil.Process().children(recursive=True))


async def holdings(zygote_pid: int) -> Holdings:
    gc.collect()
    processes = await settled_descendants()
    supervisor, zygote = psutil.Process(), psutil.Process(zygote_pid)
    return Holdings(
        supervisor_fds=supervisor.num_fds(),
        supervisor_threads=supervisor.num_threads(),
        supervisor_uss_bytes=uss_bytes(supervisor),
        zygote_fds=zygote.num_fds(),
        zygote_threads=zygote.num_threads(),
        zygote_uss_bytes=uss_bytes(zygote),
        processes=len(processes),
    )


def spent_ms() -> float:
    """Processor time of this process and of all below it that have ended."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages) * 1000


def uss_bytes(process: psutil.Process) -> int:
    """Memory that would be free again if this process alone ended."""
    return int(process.memory_full_info().uss)
