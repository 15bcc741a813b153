"""Messages on their way to one client.

Owns the queue and its bounds, in messages and in bytes. Putting never waits. A client that is waited for holds up those
who ask for room, and so their own work only. Any other is given up once too much waits for it and it has taken nothing
for a while: events can come in bursts that no client could take at once.
"""

from collections import deque

import trio

MAX_WAITING = 1024
MAX_WAITING_BYTES = 16 << 20
PATIENCE_S = 5.0
_BATCH_BYTES = 64 << 10
_BURST = 16
_BURST_BYTES = 4
"""So many times as much may wait at most, however fast the client reads."""


class Outgoing:
    def __init__(
        self,
        *,
        waits_for_reader: bool,
        limit: int = MAX_WAITING,
        limit_bytes: int = MAX_WAITING_BYTES,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._waits = waits_for_reader
        self._limit = limit
        self._limit_bytes = limit_bytes
        self._patience_s = patience_s
        self._moved_at = 0.0
        self._messages: deque[bytes] = deque()
        self._bytes = 0
        self._changed: trio.Event | None = None
        """Of those who wait for the queue to change; None: nobody does."""
        self.given_up = trio.Event()
        """Set once, when the client reads too slowly to be kept."""

    def put(self, message: bytes) -> None:
        if self.given_up.is_set():
            return
        if not self._messages:
            self._moved_at = trio.current_time()
        if not self._waits and self._is_too_slow():
            self._messages.clear()
            self._bytes = 0
            self.given_up.set()
        else:
            self._messages.append(message)
            self._bytes += len(message)
        self._wake()

    def _is_too_slow(self) -> bool:
        if len(self._messages) >= self._limit * _BURST or self._bytes >= self._limit_bytes * _BURST_BYTES:
            return True
        return self._is_full() and trio.current_time() - self._moved_at >= self._patience_s

    def _is_full(self) -> bool:
        return len(self._messages) >= self._limit or self._bytes >= self._limit_bytes

    async def get(self) -> list[bytes]:
        """The oldest messages, as many as are sent at once; they count until `sent` is called."""
        while not self._messages:
            await self._change()
        taken: list[bytes] = []
        size = 0
        for message in self._messages:
            if taken and size + len(message) > _BATCH_BYTES:
                break
            taken.append(message)
            size += len(message)
        return taken

    def sent(self, count: int) -> None:
        self._moved_at = trio.current_time()
        for _ in range(min(count, len(self._messages))):
            self._bytes -= len(self._messages.popleft())
        self._wake()

    async def room(self) -> None:
        """Until less waits than may; at once where a slow client is given up instead."""
        if self._waits:
            await self.room_for_answer()

    async def room_for_answer(self) -> None:
        """The same for what a client has asked for itself: there it is waited for in any case."""
        while self._is_full():
            await self._change()

    async def empty(self) -> None:
        while self._messages:
            await self._change()

    async def _change(self) -> None:
        if self._changed is None:
            self._changed = trio.Event()
        await self._changed.wait()

    def _wake(self) -> None:
        if self._changed is not None:
            self._changed.set()
            self._changed = None
