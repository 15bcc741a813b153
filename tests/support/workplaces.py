"""Workplaces for commands that belong to no thread, with real workers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from pycodex.supervisor.commands.workplace import Workplace
from pycodex.supervisor.config.config import Flags
from pycodex.supervisor.config.load import load_config
from pycodex.supervisor.workers.late_pool import open_late_pool
from support.engine import open_place


@asynccontextmanager
async def open_workplace(base: Path) -> AsyncIterator[Workplace]:
    """`base` is a directory of the test's own; commands work in the repository `ws` in it."""
    with open_place(base) as place:
        config = load_config(env=place.env, overrides=(), cwd=str(place.workspace), flags=Flags())
        async with open_late_pool(place.env, None) as pool:
            yield Workplace(config=config, env=place.env, pool=pool)
