"""A bench of tools on real workers, with a workspace that commands may write."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pycodex.protocol.permissions import Permissions
from pycodex.supervisor.workers.launch import launch
from support.pools import Pools, short_base
from support.tool_calls import WORKSPACE_WRITE, Bench, Benches, make_turn, open_bench


@pytest.fixture
def pools() -> Iterator[Pools]:
    with short_base() as path:
        yield Pools(path, launch)


@pytest.fixture
def benches(pools: Pools, workspace: Path, home: Path) -> Benches:
    """`async with benches() as bench`."""

    @asynccontextmanager
    async def opened(
        permissions: Permissions = WORKSPACE_WRITE, turn: dict[str, Any] | None = None, **services: Any
    ) -> AsyncIterator[Bench]:
        made = make_turn(**{"cwd": str(workspace), "permissions": permissions, **(turn or {})})
        async with pools.open() as pool, open_bench(pool, home, made, **services) as bench:
            yield bench

    return opened
