"""Events on their way from a session to whoever reads them.

Owns the queue between the two. Putting never waits, so a slow reader cannot hold up a turn; what could fill the memory,
the pieces of a command's output, is left out while too much of it waits: the command's end tells all of it again.
"""

from collections import deque

import trio

from pycodex.protocol.events.exec import ExecCommandOutputDelta
from pycodex.protocol.events.union import AnyEvent

MAX_WAITING_OUTPUT_BYTES = 1 << 20


class OutboxClosed(Exception):
    """The session has ended and all of its events were read."""


class Outbox:
    def __init__(self) -> None:
        self._events: deque[AnyEvent] = deque()
        self._output_bytes = 0
        self._news = trio.Event()
        self._closed = False

    def put(self, event: AnyEvent) -> None:
        if isinstance(event, ExecCommandOutputDelta):
            if self._output_bytes + len(event.chunk) > MAX_WAITING_OUTPUT_BYTES:
                return
            self._output_bytes += len(event.chunk)
        self._events.append(event)
        self._news.set()

    def close(self) -> None:
        """No more will come; what waits can still be read."""
        self._closed = True
        self._news.set()

    async def get(self) -> AnyEvent:
        """The oldest event that was not read yet. For one reader."""
        while not self._events:
            if self._closed:
                raise OutboxClosed
            self._news = trio.Event()
            await self._news.wait()
        event = self._events.popleft()
        if isinstance(event, ExecCommandOutputDelta):
            self._output_bytes -= len(event.chunk)
        await trio.lowlevel.checkpoint()
        return event
