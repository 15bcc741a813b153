"""Reading session files without holding anybody up.

Owns which files are long, and that those are read beside the event loop: other threads have work to do meanwhile. Knows
nothing of what is read.
"""

import os
from collections.abc import Callable
from typing import TypeVar

import trio

LONG_FILE_BYTES = 4 << 20

T = TypeVar("T")


async def beside(read: Callable[[str], T], path: str) -> T:
    """What `read` gives for this path; it changes nothing, so nobody waits for it who does not want it any more."""
    if not is_long(path):
        return read(path)
    return await trio.to_thread.run_sync(read, path, abandon_on_cancel=True)


def is_long(path: str) -> bool:
    try:
        return os.path.getsize(path) > LONG_FILE_BYTES
    except (OSError, ValueError):
        # Whoever reads it says what is wrong.
        return False
