"""A short-lived, private base for runtime directories, and pools of fake workers in it."""

from collections.abc import Iterator

import pytest

from support.fake_worker import launcher
from support.pools import Pools, short_base


@pytest.fixture
def runtime_base() -> Iterator[str]:
    with short_base() as path:
        yield path


@pytest.fixture
def fake_pools(runtime_base: str) -> Pools:
    return Pools(runtime_base, launcher())
