"""Work that goes on when nobody waits for it any more."""

import pytest
import trio

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.auth.grants import RefreshFailed
from pycodex.supervisor.auth.unbroken import RENEWAL_S, unbroken
from support.app_server import exactly


async def test_it_goes_on_when_whoever_waits_is_cancelled(nursery: trio.Nursery) -> None:
    begun, going_on, done = trio.Event(), trio.Event(), trio.Event()

    async def work() -> None:
        begun.set()
        await going_on.wait()
        done.set()

    async with trio.open_nursery() as waiting:
        waiting.start_soon(unbroken, nursery.start_soon, work)
        await begun.wait()
        waiting.cancel_scope.cancel()
    assert not done.is_set()
    going_on.set()
    await done.wait()


async def test_what_came_of_it(nursery: trio.Nursery) -> None:
    async def seven() -> int:
        return 7

    async def refused() -> int:
        raise UserFacing("no")

    async def broken() -> int:
        raise KeyError("secret")

    assert await unbroken(nursery.start_soon, seven) == 7
    with pytest.raises(UserFacing, match=exactly("no")):
        await unbroken(nursery.start_soon, refused)
    with pytest.raises(RefreshFailed, match=exactly("Failed to refresh token: unexpected KeyError")):
        await unbroken(nursery.start_soon, broken)


async def test_it_does_not_take_for_ever(autojump_clock: object, nursery: trio.Nursery) -> None:
    with pytest.raises(RefreshFailed, match=f"no answer within {RENEWAL_S:g} seconds"):
        await unbroken(nursery.start_soon, trio.sleep_forever)
