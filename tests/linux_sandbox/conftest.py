"""Pools of real workers."""

from collections.abc import Iterator

import pytest

from pycodex.supervisor.workers.launch import launch
from support.pools import Pools, short_base


@pytest.fixture
def real_pools() -> Iterator[Pools]:
    with short_base() as path:
        yield Pools(path, launch)
