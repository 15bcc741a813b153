"""Where a patch really writes, and what must be opened for that.

Owns the way from the paths of a patch, as they are written, to places on disk: through links, which may be there by
accident or by design. Policy and person are asked about places, and only those are opened; whoever applies the patch is
told them, too, because a link may change its mind. Looks at the disk, changes nothing.
"""

import os
import stat
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import trio

from pycodex.protocol.confinement import PLACEHOLDER_MODE, Confinement
from pycodex.protocol.errors import ModelFacing
from pycodex.sandbox.plan import opened
from pycodex.sandbox.survey import own_installation
from pycodex.supervisor.policy.approvals import file_key
from pycodex.supervisor.policy.patches import closed_to
from pycodex.supervisor.text.visible import visible
from pycodex.supervisor.tools.confine import MOST_PATH_BYTES
from pycodex.supervisor.tools.services import ToolServices

_MOST_DETOURS_TOLD = 10
# To look these up takes less time than to go to another thread for it.
_FEW = 8


class _Target(NamedTuple):
    """One path of a patch, absolute and without `..`."""

    path: str
    name: str
    """What it names itself, even if that is a link."""
    end: str
    """Where writing by it leads."""


@dataclass(frozen=True, slots=True)
class Places:
    targets: tuple[_Target, ...]
    closed: tuple[str, ...]
    """Those that the sandbox does not let be written."""
    directories: tuple[str, ...]
    """The nearest ones above the closed places that are there."""

    @property
    def all(self) -> list[str]:
        return list(dict.fromkeys(place for target in self.targets for place in (target.name, target.end)))

    @property
    def keys(self) -> list[Hashable]:
        return [file_key(place) for place in self.all]

    def detours(self) -> str | None:
        """The person must know which files they are asked about; the patch names them as it reaches them."""
        told = [f"{visible(each.path)} is {visible(each.end)}" for each in self.targets if each.path != each.end]
        if len(told) > _MOST_DETOURS_TOLD:
            told[_MOST_DETOURS_TOLD:] = [f"and {len(told) - _MOST_DETOURS_TOLD} more lie elsewhere"]
        return "; ".join(told) or None

    def opening(self, services: ToolServices) -> Callable[[Confinement], Confinement]:
        """Makes the sandbox let these places be written; what keeps us safe ourselves only if it is one of them."""
        guarded = (services.codex_home, *own_installation(), *filter(None, (services.programs_dir,)))
        kept = tuple(map(os.path.realpath, guarded))
        return lambda confined: opened(confined, self.all, directories=self.directories, guarded=kept)


async def places_of(paths: Iterable[str], *, cwd: str, confined: Confinement) -> Places:
    """Relative paths start at `cwd`. Paths that no file system can have are left out: to apply them will fail."""
    given = tuple(paths)
    if len(given) <= _FEW:
        return _looked_at(given, cwd, confined)
    return await trio.to_thread.run_sync(_looked_at, given, cwd, confined)


def _looked_at(paths: Sequence[str], cwd: str, confined: Confinement) -> Places:
    # Many files of a patch lie in the same few directories.
    real = cache(os.path.realpath)
    start = real(cwd) if _is_possible(cwd) else cwd
    targets = tuple(
        _target(os.path.normpath(joined), real) for path in paths if _is_possible(joined := os.path.join(start, path))
    )
    places = Places(targets, (), ())
    closed = tuple(closed_to(places.all, confined))
    above = cache(_existing)
    return Places(targets, closed, tuple(dict.fromkeys(above(os.path.dirname(place)) for place in closed)))


def _target(path: str, real: Callable[[str], str]) -> _Target:
    name = os.path.join(real(os.path.dirname(path)), os.path.basename(path))
    return _Target(path, name, os.path.realpath(name) if os.path.islink(name) else name)


def _existing(directory: str) -> str:
    above = directory
    while not _is_directory(above):
        above = os.path.dirname(above)
    if above == "/":
        raise ModelFacing(f"patch rejected: there is no directory {directory} to write into, nor one above it")
    return above


def _is_directory(path: str) -> bool:
    """Those that only stand in for a missing name go away again."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISDIR(mode) and stat.S_IMODE(mode) != PLACEHOLDER_MODE


def _is_possible(path: str) -> bool:
    return len(path) <= MOST_PATH_BYTES and "\0" not in path
