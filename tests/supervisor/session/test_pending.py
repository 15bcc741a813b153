"""Questions get one answer, or learn that none will come."""

import pytest
import trio
import trio.testing

from pycodex.supervisor.session.pending import Pending, Unanswered


class Asked:
    """Who asks, and what became of it."""

    def __init__(self, pending: Pending, nursery: trio.Nursery, request_id: str) -> None:
        self.result: object = None
        self.scope = trio.CancelScope()
        nursery.start_soon(self._wait, pending, request_id)

    async def _wait(self, pending: Pending, request_id: str) -> None:
        with self.scope:
            try:
                self.result = await pending.answer_to(request_id)
            except Unanswered as error:
                self.result = error


async def test_each_question_gets_its_own_answer() -> None:
    pending = Pending()
    async with trio.open_nursery() as nursery:
        first, second = Asked(pending, nursery, "1"), Asked(pending, nursery, "2")
        await trio.testing.wait_all_tasks_blocked()
        assert pending.answer("2", "b")
        assert pending.answer("1", None)
    assert (first.result, second.result) == (None, "b")


async def test_only_the_first_answer_counts_and_only_while_somebody_waits() -> None:
    pending = Pending()
    assert not pending.answer("1", "early")
    async with trio.open_nursery() as nursery:
        asked = Asked(pending, nursery, "1")
        await trio.testing.wait_all_tasks_blocked()
        assert pending.answer("1", "a")
        assert not pending.answer("1", "b")
    assert asked.result == "a"
    assert not pending.answer("1", "late")


async def test_given_up_questions_learn_that_nobody_answered() -> None:
    pending = Pending()
    async with trio.open_nursery() as nursery:
        answered, open_still = Asked(pending, nursery, "1"), Asked(pending, nursery, "2")
        await trio.testing.wait_all_tasks_blocked()
        assert pending.answer("1", "a")
        pending.give_up()
        assert not pending.answer("2", "late")
    assert answered.result == "a"
    assert isinstance(open_still.result, Unanswered)
    assert str(open_still.result) == "nobody answered"


async def test_who_stops_waiting_is_forgotten() -> None:
    pending = Pending()
    async with trio.open_nursery() as nursery:
        asked = Asked(pending, nursery, "1")
        await trio.testing.wait_all_tasks_blocked()
        asked.scope.cancel()
        await trio.testing.wait_all_tasks_blocked()
        assert not pending.answer("1", "late")
        again = Asked(pending, nursery, "1")
        await trio.testing.wait_all_tasks_blocked()
        assert pending.answer("1", "again")
    assert (asked.result, again.result) == (None, "again")


async def test_same_question_twice_at_once_is_a_mistake() -> None:
    pending = Pending()
    async with trio.open_nursery() as nursery:
        asked = Asked(pending, nursery, "1")
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(ValueError, match="1 waits for an answer already"):
            await pending.answer_to("1")
        pending.answer("1", "a")
    assert asked.result == "a"
