"""Waiting for what another process does, without guessing how long it takes.

Owns polling with a deadline, for effects that announce themselves by no event. Knows nothing of what is awaited.
"""

import time
from collections.abc import Callable
from typing import TypeVar

import trio

POLL_SECONDS = 0.005
DEADLINE_SECONDS = 20.0

T = TypeVar("T")


class NeverHappened(AssertionError):
    """The deadline passed; the text says what was awaited and what was seen last."""


def eventually(predicate: Callable[[], T], deadline: float = DEADLINE_SECONDS, *, what: str = "") -> T:
    """The first true value of `predicate`, asked until `deadline` seconds have passed."""
    until = time.monotonic() + deadline
    while not (value := predicate()):
        if time.monotonic() > until:
            raise _never(predicate, value, deadline, what)
        time.sleep(POLL_SECONDS)
    return value


async def eventually_async(predicate: Callable[[], T], deadline: float = DEADLINE_SECONDS, *, what: str = "") -> T:
    """The same, while other trio tasks go on."""
    until = time.monotonic() + deadline
    while not (value := predicate()):
        if time.monotonic() > until:
            raise _never(predicate, value, deadline, what)
        await trio.sleep(POLL_SECONDS)
    return value


def _never(predicate: object, value: object, deadline: float, what: str) -> NeverHappened:
    awaited = what or getattr(predicate, "__qualname__", repr(predicate))
    return NeverHappened(f"{awaited}: still {value!r} after {deadline:g} s")
