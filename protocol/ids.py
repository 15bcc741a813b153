"""Identifiers: random ones that a confined command cannot guess, and ordered ones for threads and turns."""

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def new_job_id() -> str:
    return os.urandom(16).hex()


def new_token() -> str:
    return os.urandom(32).hex()


class Instants:
    """The time as 60 bits: milliseconds, then 12 bits of their fraction. Always later than before."""

    def __init__(self, clock_ns: "Callable[[], int]") -> None:
        self._clock_ns = clock_ns
        self._last = 0

    def next(self) -> int:
        milliseconds, rest = divmod(self._clock_ns(), 1_000_000)
        self._last = max(milliseconds << 12 | rest * 4096 // 1_000_000, self._last + 1)
        return self._last


_instants = Instants(time.time_ns)


def new_thread_id() -> str:
    """A UUID of version 7: later ones sort behind earlier ones, within one process even if the clock goes back."""
    instant = _instants.next()
    ordered = instant >> 12 << 16 | 0x7000 | instant & 0xFFF
    random = int.from_bytes(os.urandom(8)) & (1 << 62) - 1 | 1 << 63
    digits = f"{ordered:016x}{random:016x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


new_turn_id = new_thread_id


def is_uuid(text: str) -> bool:
    """Whether it is a thread's id rather than a name that somebody gave it."""
    groups = text.split("-")
    return [len(group) for group in groups] == [8, 4, 4, 4, 12] and all(
        character in "0123456789abcdefABCDEF" for group in groups for character in group
    )
