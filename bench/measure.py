"""Clocks and percentiles.

Owns how samples are taken, in turns so that whatever else the machine does hits all variants alike, and how they are
summed up. Knows nothing of what is measured: takes variants, each of which tells how long it took, gives spreads.
"""

import math
import subprocess
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import trio

WARM_UP_CALLS = 3
# Long enough for the pool to have its next worker ready, and the same for every variant.
PAUSE_S = 0.015

Variant = Callable[[], Awaitable[float]]
"""Does the thing once and gives how many milliseconds it took."""


@dataclass(frozen=True, slots=True)
class Spread:
    p50: float
    p95: float
    p99: float
    count: int


def spread_of(samples: Sequence[float]) -> Spread:
    """By nearest rank: every figure is one that was really seen."""
    ordered = sorted(samples)

    def rank(share: float) -> float:
        return ordered[max(0, math.ceil(len(ordered) * share) - 1)]

    return Spread(p50=rank(0.50), p95=rank(0.95), p99=rank(0.99), count=len(ordered))


def elapsed_ms(since: float) -> float:
    return (time.perf_counter() - since) * 1000


def awaited(action: Callable[[], Awaitable[object]]) -> Variant:
    async def call() -> float:
        start = time.perf_counter()
        await action()
        return elapsed_ms(start)

    return call


def blocking(action: Callable[[], object]) -> Variant:
    """Nothing else runs meanwhile in this process, so that no thread or event loop is part of the figure."""

    async def call() -> float:
        start = time.perf_counter()
        action()
        took_ms = elapsed_ms(start)
        await trio.lowlevel.checkpoint()
        return took_ms

    return call


def process(argv: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Variant:
    """`subprocess.run` of a command that must succeed and says nothing of interest.

    Without a timeout: with one, `subprocess` asks for the end at growing intervals instead of waiting for it.
    """
    command = list(argv)

    def action() -> None:
        subprocess.run(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)

    return blocking(action)


async def in_turns(
    variants: Mapping[str, Variant], *, rounds: int, batch: int = 1, pause_s: float = PAUSE_S
) -> dict[str, Spread]:
    """Every variant `batch` times a round, after a pause, each round beginning with another one."""
    names = list(variants)
    samples: dict[str, list[float]] = {name: [] for name in names}
    for number in range(-math.ceil(WARM_UP_CALLS / batch), rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            await trio.sleep(pause_s)
            took_ms = [await variants[name]() for _ in range(batch)]
            if number >= 0:
                samples[name] += took_ms
    return {name: spread_of(each) for name, each in samples.items()}
