"""What a benchmark finds: figures, the goals beside them, and the topic that they belong to.

Owns the values that every topic gives and every report takes. Measures nothing, prints nothing.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from bench.measure import Spread
from bench.scene import Scene

NOT_INSTALLED = "not installed"


@dataclass(frozen=True, slots=True)
class Goal:
    """A promise about one figure, and whether it was kept in this run."""

    text: str
    met: bool


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table. Without a value, `note` says why there is none."""

    name: str
    value: float | None = None
    unit: str = "ms"
    spread: Spread | None = None
    ratio: float | None = None
    """Against `subprocess.run`."""
    goals: tuple[Goal, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Topic:
    """One thing to measure. `measure` raises when it cannot be measured at all."""

    name: str
    title: str
    measure: Callable[[Scene], Awaitable[list[Figure]]]


@dataclass(slots=True)
class Findings:
    """What came of one topic."""

    name: str
    title: str
    took_s: float = 0.0
    error: str = ""
    figures: list[Figure] = field(default_factory=list)


def timing(
    name: str, spread: Spread, *, baseline: Spread | None = None, goals: tuple[Goal, ...] = (), note: str = ""
) -> Figure:
    """A duration: its median stands for it."""
    ratio = spread.p50 / baseline.p50 if baseline else None
    return Figure(name=name, value=spread.p50, spread=spread, ratio=ratio, goals=goals, note=note)


def absent(name: str, why: str) -> Figure:
    return Figure(name=name, note=why)


def at_most(text: str, value: float, limit: float) -> Goal:
    return Goal(text=text, met=value <= limit)
