"""Sessions take turns; nobody waits for ever, and nobody is forgotten."""

import pytest
import trio
import trio.testing

from pycodex.supervisor.workers.fair import FairGate


async def visitor(gate: FairGate, session_id: str, visits: list[str]) -> None:
    await gate.enter(session_id)
    visits.append(session_id)


async def queue_up(nursery: trio.Nursery, gate: FairGate, sessions: str, visits: list[str]) -> None:
    for session_id in sessions:
        nursery.start_soon(visitor, gate, session_id, visits)
        await trio.testing.wait_all_tasks_blocked()


async def test_sessions_take_turns() -> None:
    gate, visits = FairGate(1), list[str]()
    assert gate.try_enter()
    async with trio.open_nursery() as nursery:
        await queue_up(nursery, gate, "aaaabbc", visits)
        for _ in range(7):
            gate.leave()
            await trio.testing.wait_all_tasks_blocked()
    assert "".join(visits) == "abcabaa"


async def test_no_more_than_the_limit_are_inside() -> None:
    gate, visits = FairGate(2), list[str]()
    async with trio.open_nursery() as nursery:
        await queue_up(nursery, gate, "abcd", visits)
        assert visits == ["a", "b"]
        gate.leave()
        await trio.testing.wait_all_tasks_blocked()
        assert visits == ["a", "b", "c"]
        gate.leave()
    assert visits == ["a", "b", "c", "d"]


async def test_newcomer_does_not_overtake_those_who_wait() -> None:
    gate, visits = FairGate(1), list[str]()
    async with trio.open_nursery() as nursery:
        await queue_up(nursery, gate, "ab", visits)
        gate.leave()
        assert not gate.try_enter()
    assert visits == ["a", "b"]


async def test_cancelled_visitor_gives_its_place_to_the_next() -> None:
    gate, visits = FairGate(1), list[str]()
    assert gate.try_enter()
    async with trio.open_nursery() as outer:
        async with trio.open_nursery() as impatient:
            await queue_up(impatient, gate, "a", visits)
            await queue_up(outer, gate, "b", visits)
            impatient.cancel_scope.cancel()
        gate.leave()
    assert visits == ["b"]
    gate.leave()
    assert gate.try_enter()


async def test_close_tells_those_who_wait_and_those_who_come() -> None:
    gate = FairGate(1)
    assert gate.try_enter()
    told = []

    async def wait() -> None:
        with pytest.raises(RuntimeError, match="closed"):
            await gate.enter("a")
        told.append("waiting")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        gate.close(RuntimeError("closed"))
    with pytest.raises(RuntimeError, match="closed"):
        await gate.enter("b")
    assert told == ["waiting"]
