"""A pool that is opened when it is wanted, beside whatever else goes on.

Owns the moment: a front-end has better things to load before its first request has left, and by the time a tool is
called the workers are warm. Loads the pool's own modules, and libzmq with them, only then. Whoever needs the pool waits
for it here; if it cannot be opened, they are told why.
"""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol

import trio

from pycodex.protocol.errors import ModelFacing
from pycodex.supervisor.workers.launch import Launched

if TYPE_CHECKING:
    from pycodex.supervisor.workers.pool import Pool


class PoolSource(Protocol):
    """Where a pool is had from, when it is needed."""

    async def ready(self) -> "Pool": ...


class NoWorkers(ModelFacing):
    """The workers could not be started."""


class LatePool:
    """Made by `open_late_pool`."""

    def __init__(self, env: Mapping[str, str], launched: Launched | None) -> None:
        self._env = env
        self._launched = launched
        self._wanted = trio.Event()
        self._settled = trio.Event()
        self._closing = trio.Event()
        self._pool: Pool | None = None
        self._failure = ""

    async def ready(self) -> "Pool":
        """The pool, opened. Raises NoWorkers."""
        self._wanted.set()
        await self._settled.wait()
        if self._pool is None:
            raise NoWorkers(f"no worker process can be started: {self._failure}")
        return self._pool

    async def serve(self) -> None:
        await self._wanted.wait()
        if self._closing.is_set():
            self._failure = "the workers are shut down"
            self._settled.set()
            await self._let_go()
            return
        from pycodex.supervisor.workers.pool import open_pool

        try:
            async with open_pool(env=self._env, launched=self._launched) as pool:
                self._pool = pool
                self._settled.set()
                await self._closing.wait()
        except Exception as error:
            if self._settled.is_set():
                raise
            self._failure = str(error)
            self._settled.set()

    async def _let_go(self) -> None:
        """Nobody came: the zygote ends when its channel closes."""
        if self._launched is not None:
            os.close(self._launched.channel_fd)
            await trio.to_thread.run_sync(os.waitpid, self._launched.pid, 0)

    def close(self) -> None:
        self._closing.set()
        self._wanted.set()


@asynccontextmanager
async def open_late_pool(env: Mapping[str, str], launched: Launched | None) -> AsyncIterator[LatePool]:
    """`launched` is a zygote that was started early. Afterwards no process of the pool is left."""
    late = LatePool(env, launched)
    raised: BaseException | None = None
    # Shielded: a cancelled caller's jobs are still stopped in good order.
    services = trio.CancelScope(shield=True)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_serve, services, late)
        try:
            yield late
        except BaseException as error:
            # Raised below: a nursery would wrap it.
            raised = error
        late.close()
    if raised is not None:
        raise raised


async def _serve(scope: trio.CancelScope, late: LatePool) -> None:
    with scope:
        await late.serve()
