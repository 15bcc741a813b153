"""Keeps the events of a thread back while an answer that must come before them is on its way."""

import trio


class Hold:
    """To let go twice does no harm."""

    def __init__(self, gate: "Gate") -> None:
        self._gate = gate
        self._is_held = True

    def release(self) -> None:
        if self._is_held:
            self._is_held = False
            self._gate._released()


class Gate:
    def __init__(self) -> None:
        self._holds = 0
        self._free = trio.Event()

    def hold(self) -> Hold:
        self._holds += 1
        return Hold(self)

    async def passed(self) -> None:
        """Until nobody holds it."""
        while self._holds:
            await self._free.wait()

    def _released(self) -> None:
        self._holds -= 1
        if not self._holds:
            self._free.set()
            self._free = trio.Event()
