"""Where a project begins: the nearest directory above that holds a marker.

Owns the walk upwards. Ignores the empty directories that our own sandbox puts in the place of a missing `.git`. Looks
at names only, never into files.
"""

import os
from collections.abc import Iterable
from stat import S_IMODE, S_ISDIR

from pycodex.protocol.confinement import PLACEHOLDER_MODE

DEFAULT_MARKERS = (".git",)


def project_root(cwd: str, markers: Iterable[str] = DEFAULT_MARKERS) -> str | None:
    """The nearest of `cwd` and the directories above it in which a marker exists. `cwd` is absolute."""
    names = tuple(markers)
    if not names:
        return None
    for directory in _upwards(cwd):
        if any(_exists(os.path.join(directory, name)) for name in names):
            return directory
    return None


def directories_down(root: str, cwd: str) -> list[str]:
    """All directories from `root` to `cwd`, both included."""
    found = []
    for directory in _upwards(cwd):
        found.append(directory)
        if directory == root:
            break
    return found[::-1]


def _upwards(directory: str) -> Iterable[str]:
    while True:
        yield directory
        above = os.path.dirname(directory)
        if above == directory:
            return
        directory = above


def _exists(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not (S_ISDIR(mode) and S_IMODE(mode) == PLACEHOLDER_MODE and _is_empty(path))


def _is_empty(directory: str) -> bool:
    try:
        with os.scandir(directory) as entries:
            return next(entries, None) is None
    except OSError:
        return False
