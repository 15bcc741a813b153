"""Events wait for their reader, in order; only pieces of output are ever left out."""

import pytest
import trio
import trio.testing

from pycodex.protocol.events.error import WarningEvent
from pycodex.protocol.events.exec import ExecCommandOutputDelta
from pycodex.protocol.events.union import AnyEvent
from pycodex.supervisor.session.outbox import MAX_WAITING_OUTPUT_BYTES, Outbox, OutboxClosed

PIECE = "x" * (MAX_WAITING_OUTPUT_BYTES // 4)


def output(chunk: str) -> ExecCommandOutputDelta:
    return ExecCommandOutputDelta(call_id="c", stream="stdout", chunk=chunk)


def word(text: str) -> WarningEvent:
    return WarningEvent(message=text)


async def test_events_come_in_the_order_in_which_they_were_put() -> None:
    outbox = Outbox()
    events: list[AnyEvent] = [word("a"), output("b"), word("c")]
    for event in events:
        outbox.put(event)
    assert [await outbox.get() for _ in events] == events


async def test_reader_waits_for_the_next_event() -> None:
    outbox = Outbox()
    got = []

    async def read() -> None:
        got.append(await outbox.get())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        await trio.testing.wait_all_tasks_blocked()
        assert got == []
        outbox.put(word("a"))
    assert got == [word("a")]


async def test_too_much_output_is_left_out_and_nothing_else_is() -> None:
    outbox = Outbox()
    for number in range(6):
        outbox.put(word(str(number)))
        outbox.put(output(PIECE))
    outbox.put(word("end"))
    outbox.close()
    seen = [await outbox.get() for _ in range(11)]
    with pytest.raises(OutboxClosed):
        await outbox.get()
    assert sum(isinstance(event, ExecCommandOutputDelta) for event in seen) == 4
    words = [event.message for event in seen if isinstance(event, WarningEvent)]
    assert words == ["0", "1", "2", "3", "4", "5", "end"]


async def test_output_that_was_read_makes_room() -> None:
    outbox = Outbox()
    for _ in range(5):
        outbox.put(output(PIECE))
    await outbox.get()
    outbox.put(output("late"))
    left = [await outbox.get() for _ in range(4)]
    assert left[-1] == output("late")


async def test_what_waits_can_be_read_after_the_end() -> None:
    outbox = Outbox()
    outbox.put(word("a"))
    outbox.close()
    assert await outbox.get() == word("a")
    for _ in range(2):
        with pytest.raises(OutboxClosed):
            await outbox.get()


async def test_end_wakes_a_waiting_reader() -> None:
    outbox = Outbox()

    async def read() -> None:
        with pytest.raises(OutboxClosed):
            await outbox.get()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        await trio.testing.wait_all_tasks_blocked()
        outbox.close()
