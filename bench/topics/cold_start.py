"""From nothing to the first result: zygote, first worker, first confined command."""

import sys
import time

from bench.figures import Figure, Topic, timing
from bench.measure import Variant, elapsed_ms, in_turns, process
from bench.orders import TRUE, confined_order, run_checked
from bench.scene import Scene
from pycodex.supervisor.workers.pool import open_pool

BASELINE = "subprocess.run"
INTERPRETER = "python -I -c pass"
OURS = "open_pool to first result, workspace-write"


async def measure(scene: Scene) -> list[Figure]:
    async def first_result() -> float:
        start = time.perf_counter()
        async with open_pool() as pool:
            await run_checked(pool, confined_order(scene, pool))
            # Closing the pool is not part of it.
            return elapsed_ms(start)

    variants: dict[str, Variant] = {
        BASELINE: process([TRUE]),
        INTERPRETER: process([sys.executable, "-I", "-c", "pass"]),
        OURS: first_result,
    }
    spreads = await in_turns(variants, rounds=scene.scaled(25, 4))
    return [timing(name, spreads[name], baseline=spreads[BASELINE]) for name in variants]


TOPIC = Topic("cold-start", "from open_pool to the first result", measure)
