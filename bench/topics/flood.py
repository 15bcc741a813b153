"""A thousand requests at the same moment: all of them must come back with a result."""

import time

import trio

from bench.figures import Figure, Goal, Topic
from bench.orders import confined_order, run_checked
from bench.scene import Scene
from pycodex.protocol.errors import ModelFacing
from pycodex.supervisor.workers.pool import open_pool

REQUESTS = 1000
QUICK_REQUESTS = 100


async def measure(scene: Scene) -> list[Figure]:
    requests = scene.scaled(REQUESTS, QUICK_REQUESTS)
    completed = 0
    failures: list[str] = []

    async with open_pool() as pool:
        order = confined_order(scene, pool)
        await run_checked(pool, order)

        async def request(number: int) -> None:
            nonlocal completed
            try:
                await run_checked(pool, order, session_id=f"session-{number % 10}")
                completed += 1
            except ModelFacing as error:
                failures.append(str(error))

        began = time.perf_counter()
        async with trio.open_nursery() as nursery:
            for number in range(requests):
                nursery.start_soon(request, number)
        wall_s = time.perf_counter() - began
    goal = Goal(f"all {requests} complete", completed == requests)
    return [
        Figure("completed", completed, unit="calls", goals=(goal,), note=failures[0] if failures else ""),
        Figure("wall time", wall_s, unit="s"),
        Figure("rate", completed / wall_s, unit="calls/s"),
    ]


TOPIC = Topic("flood", "requests that all come at the same moment, workspace-write", measure)
