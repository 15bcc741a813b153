"""Two thousand confined calls in a row: what the supervisor and the zygote hold must stay as it was."""

from bench.figures import Figure, Topic, at_most
from bench.orders import confined_order, run_checked
from bench.processes import holdings
from bench.scene import Scene
from pycodex.supervisor.workers.pool import Pool, open_pool

CALLS = 2000
QUICK_CALLS = 100
# Caches and the allocator's arenas fill in the first calls; what they take levels off after a thousand or so.
WARM_UP_CALLS = 1500
KIB = 1 << 10
# Anything kept for each call, were it only an empty dictionary, would exceed it in 2,000 calls.
MAX_MEMORY_KIB = 128


class NoZygote(Exception):
    """The pool has lost the process that starts workers."""


async def measure(scene: Scene) -> list[Figure]:
    calls = scene.scaled(CALLS, QUICK_CALLS)
    async with open_pool() as pool:
        order = confined_order(scene, pool)
        for _ in range(scene.scaled(WARM_UP_CALLS, QUICK_CALLS)):
            await run_checked(pool, order)
        before = await holdings(_zygote_pid(pool))
        for _ in range(calls):
            await run_checked(pool, order)
        after = await holdings(_zygote_pid(pool))
    return [
        Figure("calls in a row", calls, unit="calls"),
        _count("supervisor, descriptors", before.supervisor_fds, after.supervisor_fds),
        _count("supervisor, threads", before.supervisor_threads, after.supervisor_threads),
        _memory("supervisor, memory (USS)", before.supervisor_uss_bytes, after.supervisor_uss_bytes),
        _count("zygote, descriptors", before.zygote_fds, after.zygote_fds),
        _count("zygote, threads", before.zygote_threads, after.zygote_threads),
        _memory("zygote, memory (USS)", before.zygote_uss_bytes, after.zygote_uss_bytes),
        _count("processes", before.processes, after.processes),
    ]


def _zygote_pid(pool: Pool) -> int:
    if pool.zygote_pid is None:
        raise NoZygote("no zygote is running")
    return pool.zygote_pid


def _count(name: str, before: int, after: int) -> Figure:
    goal = at_most("grows by 0", after, before)
    return Figure(name, after - before, unit="more", goals=(goal,), note=f"{before} before, {after} after")


def _memory(name: str, before_bytes: int, after_bytes: int) -> Figure:
    grown_kib = (after_bytes - before_bytes) / KIB
    return Figure(
        name,
        grown_kib,
        unit="KiB more",
        goals=(at_most(f"grows by <= {MAX_MEMORY_KIB} KiB", grown_kib, MAX_MEMORY_KIB),),
        note=f"{before_bytes / KIB:.0f} KiB before, {after_bytes / KIB:.0f} KiB after",
    )


TOPIC = Topic("growth", "what confined calls in a row leave behind", measure)
