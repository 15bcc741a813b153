"""Deadlines that stand still while a person is asked."""

import math

import trio
from trio.testing import MockClock

from pycodex.supervisor.mcp.patience import Patience


async def ended_at(patience: Patience, seconds: float | None, times: list[float]) -> None:
    with patience.limit(seconds):
        await trio.Event().wait()
    times.append(trio.current_time())


async def test_a_limit_is_kept(autojump_clock: MockClock) -> None:
    started_at, times = trio.current_time(), list[float]()
    await ended_at(Patience(), 5, times)
    assert math.isclose(times[0] - started_at, 5)


async def test_nothing_is_limited_without_one(autojump_clock: MockClock) -> None:
    with trio.move_on_after(1000) as scope:
        await ended_at(Patience(), None, [])
    assert scope.cancelled_caught


async def test_pauses_do_not_count_even_where_they_overlap(autojump_clock: MockClock) -> None:
    patience, times = Patience(), list[float]()
    started_at = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ended_at, patience, 5, times)
        nursery.start_soon(ended_at, patience, None, [])
        await trio.sleep(2)
        with patience.paused():
            await trio.sleep(50)
            with patience.paused():
                # One that begins meanwhile has all of its time afterwards.
                nursery.start_soon(ended_at, patience, 4, times)
                await trio.sleep(50)
        await trio.sleep(10)
        nursery.cancel_scope.cancel()
    assert [round(each - started_at) for each in times] == [105, 106]


async def test_a_request_that_ends_in_a_pause_is_forgotten(autojump_clock: MockClock) -> None:
    patience = Patience()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ended_at, patience, 5, [])
        await trio.testing.wait_all_tasks_blocked()
        with patience.paused():
            nursery.cancel_scope.cancel()
    with patience.limit(5) as scope:
        await trio.sleep(4)
    assert not scope.cancelled_caught
