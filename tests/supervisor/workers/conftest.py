"""A short-lived, private base for runtime directories, and pools in it."""

import shutil
import tempfile
from collections.abc import Iterator

import pytest
from support.fake_worker import launcher
from support.pools import Pools

from pycodex.supervisor.workers.launch import launch


@pytest.fixture
def runtime_base() -> Iterator[str]:
    """Not below pytest's own directory: socket paths are short."""
    path = tempfile.mkdtemp(prefix="pcx-", dir="/tmp")
    yield path
    shutil.rmtree(path)


@pytest.fixture
def fake_pools(runtime_base: str) -> Pools:
    return Pools(runtime_base, launcher())


@pytest.fixture
def real_pools(runtime_base: str) -> Pools:
    return Pools(runtime_base, launch)
