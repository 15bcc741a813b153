"""Which calls of a turn run beside each other, and in which order they begin.

Owns one lock for each turn: calls of parallel tools share it, others have it alone. Places are given in the order of
the model's calls, so that a call never begins before one that was made before it and had to wait. Knows no tool.
"""

from collections import deque

import trio


class CallOrder:
    def __init__(self) -> None:
        self._line: deque[Place] = deque()
        self._inside: set[Place] = set()

    def reserve(self, *, shared: bool) -> "Place":
        """A place at the end of the line. Whoever has one must enter it (`async with`) or leave it."""
        place = Place(self, shared=shared)
        self._line.append(place)
        self._admit()
        return place

    def _admit(self) -> None:
        while self._line:
            first = self._line[0]
            if self._inside and not (first.shared and next(iter(self._inside)).shared):
                return
            self._inside.add(self._line.popleft())
            first.granted.set()

    def give_back(self, place: "Place") -> None:
        if place in self._inside:
            self._inside.remove(place)
        elif place in self._line:
            self._line.remove(place)
        self._admit()


class Place:
    """Made by `CallOrder.reserve`."""

    def __init__(self, order: CallOrder, *, shared: bool) -> None:
        self.shared = shared
        self.granted = trio.Event()
        self._order = order

    async def __aenter__(self) -> None:
        try:
            await self.granted.wait()
        except BaseException:
            self.leave()
            raise

    async def __aexit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        """Let the next ones in. To leave twice does no harm."""
        self._order.give_back(self)
