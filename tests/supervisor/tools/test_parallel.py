"""Calls share or wait, and begin in the order in which they were made."""

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from pycodex.supervisor.tools.parallel import CallOrder, Place


class Stage:
    """Calls that stay inside until they are told to go."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.order = CallOrder()
        self.inside: list[str] = []
        self._nursery = nursery
        self._scopes: dict[str, trio.CancelScope] = {}
        self._go: dict[str, trio.Event] = {}

    def add(self, name: str, *, shared: bool) -> None:
        place = self.order.reserve(shared=shared)
        self._scopes[name] = trio.CancelScope()
        self._go[name] = trio.Event()
        self._nursery.start_soon(self._stay, name, place)

    async def _stay(self, name: str, place: Place) -> None:
        with self._scopes[name]:
            async with place:
                self.inside.append(name)
                try:
                    await self._go[name].wait()
                finally:
                    self.inside.remove(name)

    async def after(self, *, gone: str = "", cancelled: str = "") -> list[str]:
        """Who is inside once nothing moves any more."""
        if gone:
            self._go[gone].set()
        if cancelled:
            self._scopes[cancelled].cancel()
        await wait_all_tasks_blocked()
        return sorted(self.inside)

    def finish(self) -> None:
        for event in self._go.values():
            event.set()


async def test_parallel_calls_share_and_others_are_alone() -> None:
    async with trio.open_nursery() as nursery:
        stage = Stage(nursery)
        for name, shared in (("a", True), ("b", True), ("plan", False), ("c", True), ("d", True)):
            stage.add(name, shared=shared)
        assert await stage.after() == ["a", "b"]
        assert await stage.after(gone="a") == ["b"]
        assert await stage.after(gone="b") == ["plan"]
        assert await stage.after(gone="plan") == ["c", "d"]
        stage.finish()


async def test_lone_calls_follow_each_other() -> None:
    async with trio.open_nursery() as nursery:
        stage = Stage(nursery)
        for name in "abc":
            stage.add(name, shared=False)
        assert await stage.after() == ["a"]
        assert await stage.after(gone="a") == ["b"]
        assert await stage.after(gone="b") == ["c"]
        stage.finish()


async def test_order_is_that_of_the_reservations_not_of_the_tasks() -> None:
    order = CallOrder()
    entered: list[str] = []
    places = {"first": order.reserve(shared=False), "second": order.reserve(shared=False)}

    async def enter(name: str) -> None:
        async with places[name]:
            entered.append(name)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(enter, "second")
        await wait_all_tasks_blocked()
        nursery.start_soon(enter, "first")
    assert entered == ["first", "second"]


@pytest.mark.parametrize("cancelled", ["waiting", "inside"])
async def test_cancelled_call_gives_its_place_up(cancelled: str) -> None:
    async with trio.open_nursery() as nursery:
        stage = Stage(nursery)
        stage.add("inside", shared=True)
        stage.add("waiting", shared=False)
        stage.add("later", shared=True)
        assert await stage.after() == ["inside"]
        left = {"waiting": ["inside", "later"], "inside": ["waiting"]}[cancelled]
        assert await stage.after(cancelled=cancelled) == left
        stage.finish()


async def test_task_that_is_cancelled_before_it_begins_blocks_nobody() -> None:
    async with trio.open_nursery() as nursery:
        stage = Stage(nursery)
        stage.add("a", shared=False)
        stage.add("b", shared=False)
        assert await stage.after(cancelled="a") == ["b"]
        stage.finish()


async def test_place_that_is_never_entered_can_be_left() -> None:
    order = CallOrder()
    unused = order.reserve(shared=False)
    following = order.reserve(shared=False)
    unused.leave()
    unused.leave()
    async with following:
        assert not order.reserve(shared=True).granted.is_set()
