"""Pools of real workers, and places for runs of the command line."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pycodex.supervisor.workers.launch import launch
from pycodex.supervisor.workers.runtime_dir import open_runtime_dir
from support.engine import Place
from support.pools import Pools, short_base


@pytest.fixture
def real_pools() -> Iterator[Pools]:
    with short_base() as path:
        yield Pools(path, launch)


@pytest.fixture
def place(place: Place) -> Iterator[Place]:
    """The same, but runs in it may be killed."""
    yield place
    sweep(place)


def sweep(place: Place) -> None:
    """Remove what killed runs left, as the next run with workers does.

    One that was killed before it had its lock is left alone for a minute.
    """
    open_runtime_dir({"XDG_RUNTIME_DIR": place.runtime}).close()
    for left in Path(place.runtime).iterdir():
        left.rmdir()
