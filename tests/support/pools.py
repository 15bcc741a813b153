"""Pools of fake or real workers for tests, checked to leave nothing behind.

Owns how a test opens a pool in a directory of its own. Knows nothing of what is run.
"""

import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import psutil

from pycodex.supervisor.workers.launch import Launched
from pycodex.supervisor.workers.pool import Pool, PoolSettings, open_pool
from pycodex.supervisor.workers.roster import RosterSettings


@contextmanager
def short_base() -> Iterator[str]:
    """A private directory for runtime directories, not below pytest's own: socket paths are short."""
    path = tempfile.mkdtemp(prefix="pcx-", dir="/tmp")
    try:
        yield path
    finally:
        shutil.rmtree(path)


class Pools:
    """`async with pools.open(...) as pool`: afterwards no process and no file of the pool may be left."""

    def __init__(self, base: str, launch: Callable[[], Launched]) -> None:
        self.base = base
        self.launch = launch

    @asynccontextmanager
    async def open(
        self, *, max_running: int = 64, launch: Callable[[], Launched] | None = None, **workers: Any
    ) -> AsyncIterator[Pool]:
        settings = PoolSettings(max_running=max_running, workers=RosterSettings(**workers))
        before = descendants()
        env = {"XDG_RUNTIME_DIR": self.base}
        async with open_pool(settings, env=env, launch=launch or self.launch) as pool:
            yield pool
        left = descendants() - before
        if left:
            raise AssertionError(f"processes left: {[describe(pid) for pid in left]}")
        assert os.listdir(self.base) == []


def descendants(pid: int | None = None) -> set[int]:
    """Processes below `pid`, or below this one."""
    try:
        return {child.pid for child in psutil.Process(pid).children(recursive=True)}
    except psutil.NoSuchProcess:
        return set()


def workers_of(pool: Pool) -> set[int]:
    """The zygote's direct children."""
    if pool.zygote_pid is None:
        return set()
    try:
        return {child.pid for child in psutil.Process(pool.zygote_pid).children()}
    except psutil.NoSuchProcess:
        # Killed a moment ago, and not replaced yet.
        return set()


def boxes_below(worker: int) -> set[int]:
    """The first processes of boxes; unlike the worker's template they ignore every signal that they can."""
    try:
        return {child.pid for child in psutil.Process(worker).children() if _ignores(child.pid, signal.SIGTERM)}
    except psutil.NoSuchProcess:
        return set()


def _ignores(pid: int, number: signal.Signals) -> bool:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    masks = [int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigIgn:")]
    return any(mask >> (number - 1) & 1 for mask in masks)


def describe(pid: int) -> str:
    try:
        process = psutil.Process(pid)
        return f"{pid} ({process.name()}, {process.status()}, child of {process.ppid()})"
    except psutil.NoSuchProcess:
        return f"{pid} (gone meanwhile)"


def alive(pids: Iterable[int]) -> set[int]:
    """Those that still run; what only waits to be reaped, by whoever adopted it, does not."""
    return {pid for pid in pids if _runs(pid)}


def _runs(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
