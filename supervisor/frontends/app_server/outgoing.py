"""Messages on their way to one client.

Owns the queue and its bound. Putting never waits. A client that is waited for holds up those who ask for room, and so
their own work only. Any other is given up once too much waits for it and it has taken nothing for a while: events can
come in bursts that no client could take at once.
"""

from collections import deque

import trio

MAX_WAITING = 1024
PATIENCE_S = 5.0
_BURST = 16
"""So many times as much may wait at most, however fast the client reads."""


class Outgoing:
    def __init__(self, *, waits_for_reader: bool, limit: int = MAX_WAITING, patience_s: float = PATIENCE_S) -> None:
        self._waits = waits_for_reader
        self._limit = limit
        self._patience_s = patience_s
        self._moved_at = 0.0
        self._messages: deque[bytes] = deque()
        self._changed = trio.Event()
        self.given_up = trio.Event()
        """Set once, when the client reads too slowly to be kept."""

    def put(self, message: bytes) -> None:
        if self.given_up.is_set():
            return
        if not self._messages:
            self._moved_at = trio.current_time()
        if not self._waits and self._is_too_slow():
            self._messages.clear()
            self.given_up.set()
        else:
            self._messages.append(message)
        self._wake()

    def _is_too_slow(self) -> bool:
        waiting = len(self._messages)
        is_stuck = trio.current_time() - self._moved_at >= self._patience_s
        return waiting >= self._limit * _BURST or (waiting >= self._limit and is_stuck)

    async def get(self) -> bytes:
        """The oldest message, which counts until `sent` is called."""
        while not self._messages:
            await self._changed.wait()
        return self._messages[0]

    def sent(self) -> None:
        self._moved_at = trio.current_time()
        if self._messages:
            self._messages.popleft()
        self._wake()

    async def room(self) -> None:
        """Until less waits than may; at once where a slow client is given up instead."""
        while self._waits and len(self._messages) >= self._limit:
            await self._changed.wait()

    async def empty(self) -> None:
        while self._messages:
            await self._changed.wait()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = trio.Event()
