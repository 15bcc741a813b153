"""Pools of real workers, and places for runs of the command line."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pycodex.supervisor.workers.launch import launch
from support.engine import Place, open_place
from support.pools import Pools, short_base


@pytest.fixture
def real_pools() -> Iterator[Pools]:
    with short_base() as path:
        yield Pools(path, launch)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A home and a workspace for `pycodex exec`."""
    with open_place(tmp_path) as opened:
        yield opened
