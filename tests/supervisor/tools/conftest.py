"""Pools of real and of fake workers, and a workspace to work in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pycodex.supervisor.workers.launch import launch
from support.fake_worker import launcher
from support.pools import Pools, short_base


@pytest.fixture
def real_pools() -> Iterator[Pools]:
    with short_base() as path:
        yield Pools(path, launch)


@pytest.fixture
def fake_pools() -> Iterator[Pools]:
    with short_base() as path:
        yield Pools(path, launcher())


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    path = tmp_path / "ws"
    path.mkdir()
    return path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    path.mkdir()
    return path
