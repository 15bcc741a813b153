"""A disk without room, for this process.

Owns how it is made: no file of the process may grow beyond the one that is named. Knows nothing of what is written.
"""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_room_behind(path: str) -> Iterator[None]:
    """As long as the block, nothing can be added to this file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(path), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
