"""Orders for real workers, by the parts that a test cares about.

Owns the defaults: a minimal environment, the root directory, and the two confinements most tests run under,
and how to wait for what such an order does.
"""

import os
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import pytest
import trio

from pycodex.protocol.confinement import Confinement, Entry
from pycodex.protocol.frames import Output, RunCommand, Started
from pycodex.supervisor.workers.lease import LiveJob
from pycodex.supervisor.workers.pool import Pool
from support.pools import boxes_below, workers_of
from support.waiting import DEADLINE_SECONDS, eventually_async

ENV = {"PATH": "/usr/bin:/bin"}
CONFINED = Confinement()
UNCONFINED = Confinement(unconfined_because="a test")
BOTH = pytest.mark.parametrize("confinement", [CONFINED, UNCONFINED], ids=["confined", "unconfined"])


def run(*argv: str, **fields: Any) -> RunCommand:
    defaults: dict[str, Any] = {"job_id": "", "cwd": "/", "env": ENV, "confinement": CONFINED}
    return RunCommand(argv=argv, **{**defaults, **fields})


def shell(script: str, **fields: Any) -> RunCommand:
    return run("/bin/sh", "-c", script, **fields)


def python(program: str, *arguments: str, **fields: Any) -> RunCommand:
    return run(sys.executable, "-I", "-S", "-c", program, *arguments, **fields)


def writing(*paths: object, **fields: Any) -> Confinement:
    """Everything can be read, these can be written."""
    return Confinement(entries=tuple(Entry(path=str(path), access="write") for path in paths), **fields)


async def until_said(job: LiveJob, text: bytes) -> bytes:
    """What the job has said, once `text` is in it."""
    said = b""
    with trio.move_on_after(DEADLINE_SECONDS):
        async for fact in job:
            if isinstance(fact, Output):
                said += fact.data
                if text in said:
                    return said
    raise AssertionError(f"it never said {text!r}: {said!r:.500}, {job.end!r}")


async def started_pid(job: LiveJob) -> int:
    async for fact in job:
        if isinstance(fact, Started):
            return fact.pid
    raise AssertionError(f"it never started: {job.end!r}")


async def boxes_of(pool: Pool, *, at_least: int) -> dict[int, int]:
    """Workers and the first processes of their boxes, once there are enough that have one."""
    return await eventually_async(lambda: found if len(found := _boxes(pool)) >= at_least else {})


def _boxes(pool: Pool) -> dict[int, int]:
    found: dict[int, int] = {}
    for pid in workers_of(pool):
        boxes = boxes_below(pid)
        if len(boxes) == 1:
            found[pid] = boxes.pop()
    return found


def signal_all(pids: Iterable[int], number: signal.Signals) -> None:
    """To those that still exist: a worker that is not needed any more may go at any time."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
