"""Reads files that somebody else may have put there: bounded, and never waiting.

Owns the one safe way to open such a file. A FIFO would block whoever opens it, a device may do anything, and a file may
be of any size; all of them can lie in a workspace under any name. So can a link to a file of /proc that tells our own
environment, keys included: such files claim to be empty, and no more than a file claims to hold is ever read.
"""

import os
from errno import EFBIG, EINVAL, EISDIR
from stat import S_ISDIR, S_ISREG

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


def read_at_most(path: str, limit: int) -> bytes:
    """The first `limit` bytes. Raises OSError, also for what is not a regular file."""
    descriptor = os.open(path, _FLAGS)
    try:
        status = os.fstat(descriptor)
        if S_ISDIR(status.st_mode):
            raise OSError(EISDIR, os.strerror(EISDIR), path)
        if not S_ISREG(status.st_mode):
            raise OSError(EINVAL, "not a regular file", path)
        return _read(descriptor, min(limit, status.st_size))
    finally:
        os.close(descriptor)


def read_whole(path: str, limit: int) -> bytes:
    """All of it; OSError (EFBIG) if that is more than `limit` bytes."""
    data = read_at_most(path, limit + 1)
    if len(data) > limit:
        raise OSError(EFBIG, f"larger than {limit} bytes", path)
    return data


def _read(descriptor: int, limit: int) -> bytes:
    pieces = []
    while limit > 0:
        piece = os.read(descriptor, min(limit, 1 << 20))
        if not piece:
            break
        pieces.append(piece)
        limit -= len(piece)
    return b"".join(pieces)
