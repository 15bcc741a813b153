"""What a warm worker costs while it waits: the worker, its template and its confined child.

Counted are pages that no other process shares.
"""

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
        families = [[worker, *worker.children()] for worker in zygote.children()]
        # Where there are no namespaces, a worker serves one call and needs no template.
        if len(families) != WARM or any(len(family) not in (2, 3) for family in families):
            raise NoWorkers(f"{len(families)} workers, with their children {[len(family) for family in families]}")
        try:
            return _figures(zygote, families)
        except psutil.AccessDenied:
            return [
                absent(
                    "all of them",
                    "not readable by this user: the kernel shows the confined child's memory to root only",
                )
            ]


def _figures(zygote: psutil.Process, families: list[list[psutil.Process]]) -> list[Figure]:
    workers = [uss_bytes(family[0]) / MIB for family in families]
    children = [sum(map(uss_bytes, family[1:])) / MIB for family in families]
    together = max(map(sum, zip(workers, children, strict=True)))
    return [
        Figure("worker", max(workers), unit="MiB"),
        Figure("confined child and template", max(children), unit="MiB"),
        Figure(
            "all of them",
            together,
            unit="MiB",
            goals=(at_most(f"<= {MAX_MIB} MiB", together, MAX_MIB),),
            note=f"the largest of {WARM} warm workers",
        ),
        Figure("zygote, once a supervisor", uss_bytes(zygote) / MIB, unit="MiB"),
    ]


TOPIC = Topic("idle-memory", "private memory (USS) of a warm worker", measure)
