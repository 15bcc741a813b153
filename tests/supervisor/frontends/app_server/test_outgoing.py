"""A queue never makes its writers wait, and never grows without end."""

import trio
import trio.testing

from pycodex.supervisor.frontends.app_server.outgoing import Outgoing


async def test_messages_come_in_order() -> None:
    outgoing = Outgoing(waits_for_reader=True)
    for message in (b"a", b"b"):
        outgoing.put(message)
    taken = await outgoing.get()
    assert taken == [b"a", b"b"]
    outgoing.sent(len(taken))
    await outgoing.empty()


async def test_what_is_sent_at_once_is_bounded_but_never_nothing() -> None:
    outgoing = Outgoing(waits_for_reader=True)
    long = b"x" * (1 << 20)
    for message in (long, b"a", b"b"):
        outgoing.put(message)
    assert await outgoing.get() == [long]
    outgoing.sent(1)
    assert await outgoing.get() == [b"a", b"b"]


async def test_reader_that_is_waited_for_holds_up_who_asks_for_room() -> None:
    outgoing = Outgoing(waits_for_reader=True, limit=2)
    for message in (b"a", b"b", b"c"):
        outgoing.put(message)
    had_room = trio.Event()

    async def ask() -> None:
        await outgoing.room()
        had_room.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        await trio.testing.wait_all_tasks_blocked()
        assert not had_room.is_set()
        outgoing.sent(1)
        await trio.testing.wait_all_tasks_blocked()
        assert not had_room.is_set()
        outgoing.sent(1)
    assert had_room.is_set()
    assert not outgoing.given_up.is_set()


async def test_any_other_reader_is_given_up_instead() -> None:
    outgoing = Outgoing(waits_for_reader=False, limit=2, patience_s=0)
    for message in (b"a", b"b"):
        outgoing.put(message)
    await outgoing.room()
    assert not outgoing.given_up.is_set()
    outgoing.put(b"c")
    assert outgoing.given_up.is_set()
    # Nothing is kept for it any more.
    outgoing.put(b"d")
    await outgoing.empty()


async def test_bursts_are_taken_from_a_reader_that_keeps_reading() -> None:
    outgoing = Outgoing(waits_for_reader=False, limit=2, patience_s=60)
    for _ in range(32):
        outgoing.put(b"x")
    assert not outgoing.given_up.is_set()
    outgoing.put(b"x")
    assert outgoing.given_up.is_set()


async def test_few_messages_are_too_many_if_they_are_long() -> None:
    outgoing = Outgoing(waits_for_reader=False, limit_bytes=100, patience_s=0)
    # However long: nothing else waits.
    outgoing.put(b"x" * 1000)
    assert not outgoing.given_up.is_set()
    outgoing.put(b"x")
    assert outgoing.given_up.is_set()


async def test_answers_wait_for_any_reader(autojump_clock: trio.testing.MockClock) -> None:
    outgoing = Outgoing(waits_for_reader=False, limit=1)
    outgoing.put(b"a")
    with trio.move_on_after(60) as scope:
        await outgoing.room_for_answer()
    assert scope.cancelled_caught
    outgoing.sent(1)
    await outgoing.room_for_answer()
