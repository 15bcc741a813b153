"""A bound on how much runs at once, fair between sessions.

Owns the queue of callers that wait for their turn: each session in its turn, first come first served within one. Knows
nothing of what is run.
"""

from collections import OrderedDict, deque

import outcome
import trio


class FairGate:
    """At most `limit` inside; `enter` and `leave` must be paired."""

    def __init__(self, limit: int) -> None:
        self._free = limit
        self._queues: OrderedDict[str, deque[trio.lowlevel.Task]] = OrderedDict()
        self._closed_with: Exception | None = None

    def try_enter(self) -> bool:
        """Without waiting, and only if nobody waits."""
        if self._free > 0 and not self._queues and self._closed_with is None:
            self._free -= 1
            return True
        return False

    async def enter(self, session_id: str) -> None:
        if self._closed_with is not None:
            raise self._closed_with
        if self.try_enter():
            return
        task = trio.lowlevel.current_task()
        self._queues.setdefault(session_id, deque()).append(task)

        def give_up(_: object) -> trio.lowlevel.Abort:
            queue = self._queues[session_id]
            queue.remove(task)
            if not queue:
                del self._queues[session_id]
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(give_up)

    def leave(self) -> None:
        """Hand the place to the next session in turn."""
        if not self._queues:
            self._free += 1
            return
        session_id, queue = self._queues.popitem(last=False)
        task = queue.popleft()
        if queue:
            self._queues[session_id] = queue
        trio.lowlevel.reschedule(task)

    def close(self, error: Exception) -> None:
        """Nobody enters any more; those who wait get the error."""
        self._closed_with = error
        while self._queues:
            for task in self._queues.popitem()[1]:
                trio.lowlevel.reschedule(task, outcome.Error(error))
