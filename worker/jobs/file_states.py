"""What files are at this moment: mode and content, for those who compare. Never follows a link, never blocks."""

import os
import stat

from pycodex.worker.jobs.errors import JobError

_MOST_FILES = 1000
_MOST_BYTES = 16 << 20


def run(arguments: "dict[str, object]") -> object:
    """`paths` (absolute). Gives for each its mode and content; None for one that is missing or no file.

    What does not fit into all that may be read is left out.
    """
    paths = arguments.get("paths")
    if type(paths) is not list or not all(type(path) is str and os.path.isabs(path) for path in paths):
        raise JobError("paths must be a list of absolute paths")
    states: dict[str, list[object] | None] = {}
    left_bytes = _MOST_BYTES
    for path in paths[:_MOST_FILES]:
        state = state_of(path, left_bytes)
        if state is None:
            states[path] = None
        elif state[1] is not None:
            states[path] = [state[0], state[1]]
            left_bytes -= len(state[1])
    return states


def state_of(path: str, most_bytes: int) -> "tuple[int, bytes | None] | None":
    """Mode and content (None: too much) of a file or link; None if it is neither, or cannot be read."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return mode, os.fsencode(os.readlink(path))
        if not stat.S_ISREG(mode):
            return None
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        # ValueError: no file can have this name.
        return None
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            return None
        return found.st_mode, _read(fd, most_bytes)
    except OSError:
        return None
    finally:
        os.close(fd)


def _read(fd: int, most_bytes: int) -> bytes | None:
    pieces: list[bytes] = []
    size = 0
    while size <= most_bytes:
        piece = os.read(fd, 1 << 20)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        size += len(piece)
    return None
