"""Many callers at once, each with one call after the other, beside as many threads that call `subprocess.run`."""

import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

import trio

from bench.figures import Figure, Topic, timing
from bench.measure import elapsed_ms, spread_of
from bench.orders import TRUE, confined_order, run_checked
from bench.scene import Scene
from pycodex.protocol.frames import RunCommand
from pycodex.supervisor.workers.pool import Pool, open_pool

CALLS = {8: 32, 64: 4, 256: 2}
"""Callers, and how many calls each makes in a round."""
QUICK_CALLS = {8: 8, 64: 1, 256: 1}
REST_S = 0.2


@dataclass(slots=True)
class Load:
    """What the callers of one kind saw, over all rounds."""

    took_ms: list[float] = field(default_factory=list)
    wall_s: float = 0.0

    @property
    def calls_per_s(self) -> float:
        return len(self.took_ms) / self.wall_s


async def measure(scene: Scene) -> list[Figure]:
    figures: list[Figure] = []
    async with open_pool() as pool:
        order = confined_order(scene, pool)
        await run_checked(pool, order)
        for callers, calls in (QUICK_CALLS if scene.quick else CALLS).items():
            threads, ours = Load(), Load()
            for _ in range(scene.scaled(2, 1)):
                await trio.sleep(REST_S)
                await trio.to_thread.run_sync(_call_from_threads, threads, callers, calls)
                await trio.sleep(REST_S)
                await _call_pool(ours, pool, order, callers=callers, calls=calls)
            figures += _figures(callers, threads, ours)
    return figures


async def _call_pool(load: Load, pool: Pool, order: RunCommand, *, callers: int, calls: int) -> None:
    async def caller(session_id: str) -> None:
        for _ in range(calls):
            start = time.perf_counter()
            await run_checked(pool, order, session_id=session_id)
            load.took_ms.append(elapsed_ms(start))

    began = time.perf_counter()
    async with trio.open_nursery() as nursery:
        for number in range(callers):
            nursery.start_soon(caller, f"session-{number}")
    load.wall_s += time.perf_counter() - began


def _call_from_threads(load: Load, callers: int, calls: int) -> None:
    def caller() -> None:
        for _ in range(calls):
            start = time.perf_counter()
            subprocess.run([TRUE], check=True)
            load.took_ms.append(elapsed_ms(start))

    began = time.perf_counter()
    with ThreadPoolExecutor(max_workers=callers) as executor:
        for done in [executor.submit(caller) for _ in range(callers)]:
            done.result()
    load.wall_s += time.perf_counter() - began


def _figures(callers: int, threads: Load, ours: Load) -> Iterator[Figure]:
    baseline = spread_of(threads.took_ms)
    rate = partial(Figure, unit="calls/s")
    yield timing(f"{callers} threads, subprocess.run", baseline, baseline=baseline)
    yield timing(f"{callers} callers, workspace-write", spread_of(ours.took_ms), baseline=baseline)
    yield rate(f"{callers} threads, subprocess.run", threads.calls_per_s, ratio=1.0)
    yield rate(f"{callers} callers, workspace-write", ours.calls_per_s, ratio=ours.calls_per_s / threads.calls_per_s)


TOPIC = Topic("concurrency", "8, 64 and 256 callers at once", measure)
