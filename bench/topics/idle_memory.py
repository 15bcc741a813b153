"""What a warm worker costs while it waits: the worker and its confined child, pages that no other process shares."""

import psutil

from bench.figures import Figure, Topic, absent, at_most
from bench.orders import confined_order, run_checked
from bench.processes import settled_descendants, uss_bytes
from bench.scene import Scene
from pycodex.supervisor.workers.pool import PoolSettings, open_pool
from pycodex.supervisor.workers.roster import RosterSettings

WARM = 4
MIB = 1 << 20
MAX_MIB = 6


class NoWorkers(Exception):
    """The pool keeps none warm."""


async def measure(scene: Scene) -> list[Figure]:
    async with open_pool(PoolSettings(workers=RosterSettings(warm=WARM))) as pool:
        await run_checked(pool, confined_order(scene, pool))
        await settled_descendants()
        zygote = psutil.Process(pool.zygote_pid)
        families = [(worker, worker.children(recursive=True)) for worker in zygote.children()]
        if len(families) != WARM or any(len(children) != 1 for _, children in families):
            raise NoWorkers(f"{len(families)} workers with {[len(children) for _, children in families]} children")
        try:
            return _figures(zygote, families)
        except psutil.AccessDenied:
            return [
                absent("both", "not readable by this user: the kernel shows the confined child's memory to root only")
            ]


def _figures(zygote: psutil.Process, families: list[tuple[psutil.Process, list[psutil.Process]]]) -> list[Figure]:
    workers = [uss_bytes(worker) / MIB for worker, _ in families]
    confined = [uss_bytes(child) / MIB for _, (child,) in families]
    both = max(ours + child for ours, child in zip(workers, confined, strict=True))
    return [
        Figure("worker", max(workers), unit="MiB"),
        Figure("confined child", max(confined), unit="MiB"),
        Figure(
            "both",
            both,
            unit="MiB",
            goals=(at_most(f"<= {MAX_MIB} MiB", both, MAX_MIB),),
            note=f"the largest of {WARM} warm workers",
        ),
        Figure("zygote, once a supervisor", uss_bytes(zygote) / MIB, unit="MiB"),
    ]


TOPIC = Topic("idle-memory", "private memory (USS) of a warm worker", measure)
