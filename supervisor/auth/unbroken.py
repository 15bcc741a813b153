"""Work that goes on when whoever waits for it is cancelled: an issuer gives a new refresh token only once.

Owns its limit in time, and that a bug in it ends nothing else. What is done is the caller's business.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

import trio

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.auth.grants import RefreshFailed

RENEWAL_S = 30.0
"""How long new tokens may take, from the waiting for other processes to the writing."""
_FAILED = "Failed to refresh token"

T = TypeVar("T")
logger = logging.getLogger("pycodex.auth")


class Spawn(Protocol):
    """Starts a task that nobody here waits for; `start_soon` of a nursery."""

    def __call__(self, task: Callable[[], Awaitable[None]], /) -> object: ...


async def unbroken(spawn: Spawn, renew: Callable[[], Awaitable[T]]) -> T:
    """What came of it. Raises RefreshFailed, or whatever UserFacing it raised."""
    renewal = _Renewal(renew)
    spawn(renewal.run)
    await renewal.over.wait()
    if renewal.failure is not None:
        raise renewal.failure
    return renewal.found[0]


class _Renewal(Generic[T]):
    def __init__(self, renew: Callable[[], Awaitable[T]]) -> None:
        self._renew = renew
        self.over = trio.Event()
        self.found: list[T] = []
        self.failure: UserFacing | None = None

    async def run(self) -> None:
        failure: UserFacing = RefreshFailed(f"{_FAILED}: no answer within {RENEWAL_S:g} seconds")
        try:
            # Not to be broken off: the old refresh token may be used up already.
            with trio.CancelScope(shield=True, deadline=trio.current_time() + RENEWAL_S):
                self.found.append(await self._renew())
        except UserFacing as error:
            failure = error
        except Exception as error:
            # A bug; it must not end all threads.
            logger.exception("the renewal of a login failed")
            failure = RefreshFailed(f"{_FAILED}: unexpected {type(error).__name__}")
        finally:
            self.failure = None if self.found else failure
            self.over.set()
