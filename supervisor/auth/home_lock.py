"""One process at a time, among all that use the same CODEX_HOME.

Owns the lock files there. A lock is asked for, never insisted on: whoever holds one may hang.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import trio

_POLL_S = 0.05


@asynccontextmanager
async def kept_out(codex_home: str, name: str, *, patience_s: float) -> AsyncIterator[None]:
    """Other processes of ours. Where the lock cannot be had in time, or at all, looking again must do."""
    descriptor = None
    with suppress(OSError):
        path = os.path.join(codex_home, name)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        if descriptor is not None:
            await _locked(descriptor, patience_s)
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


async def _locked(descriptor: int, patience_s: float) -> None:
    try:
        import fcntl
    except ImportError:
        return
    with trio.move_on_after(patience_s):
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                await trio.sleep(_POLL_S)
            except OSError:
                return
            else:
                return
