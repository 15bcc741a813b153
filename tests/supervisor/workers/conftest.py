"""A short-lived, private base for runtime directories, and pools of fake workers in it."""

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import psutil
import pytest
from support.fake_worker import launcher

from pycodex.supervisor.workers.pool import Pool, PoolSettings, open_pool
from pycodex.supervisor.workers.roster import RosterSettings

PoolMaker = Callable[..., AbstractAsyncContextManager[Pool]]


@pytest.fixture
def runtime_base() -> Iterator[str]:
    """Not below pytest's own directory: socket paths are short."""
    path = tempfile.mkdtemp(prefix="pcx-", dir="/tmp")
    yield path
    shutil.rmtree(path)


@pytest.fixture
def fake_pool(runtime_base: str) -> PoolMaker:
    """`async with fake_pool(...) as pool`; afterwards no process and no file of it may be left."""

    @asynccontextmanager
    async def make(mode: str = "", *, max_running: int = 64, **workers: object) -> AsyncIterator[Pool]:
        settings = PoolSettings(max_running=max_running, workers=RosterSettings(**workers))  # type: ignore[arg-type]
        before = children()
        async with open_pool(settings, env={"XDG_RUNTIME_DIR": runtime_base}, launch=launcher(mode)) as pool:
            yield pool
        assert children() - before == set()
        assert os.listdir(runtime_base) == []

    return make


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}
