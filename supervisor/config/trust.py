"""Where the project begins and whether its own configuration may be believed.

Owns `project_root_markers`, `[projects]` and the way from a git worktree to its main checkout. Looks at the disk, but
runs nothing there: the directory may belong to an attacker. Gives paths and trust levels.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

TRUSTED = "trusted"
UNTRUSTED = "untrusted"
DEFAULT_MARKERS = (".git",)

_MOST_GIT_FILE_BYTES = 8192


def project_root(cwd: str, markers: Sequence[str]) -> str | None:
    """The nearest directory, from `cwd` up, that holds one of the markers."""
    for directory in ancestors(cwd):
        if any(os.path.exists(os.path.join(directory, marker)) for marker in markers if marker):
            return directory
    return None


def ancestors(path: str) -> Iterator[str]:
    """The directory and all that it is in, nearest first."""
    while True:
        yield path
        parent = os.path.dirname(path)
        if parent == path:
            return
        path = parent


def repository_root(cwd: str) -> str | None:
    """The checkout that `cwd` is in; for a linked worktree the main one, as trust is given to that."""
    root = project_root(cwd, (".git",))
    if root is None:
        return None
    return _main_checkout(root) or root


def _main_checkout(root: str) -> str | None:
    """Where the worktree at `root` comes from. Anybody can write such a pointer, so it must be returned from there."""
    dot_git = os.path.join(root, ".git")
    gitdir = _one_line(dot_git)
    if gitdir is None or not gitdir.startswith("gitdir:"):
        return None
    gitdir = os.path.join(root, gitdir.removeprefix("gitdir:").strip())
    commondir, back = _one_line(os.path.join(gitdir, "commondir")), _one_line(os.path.join(gitdir, "gitdir"))
    if commondir is None or back is None:
        return None
    if os.path.realpath(os.path.join(gitdir, back)) != os.path.realpath(dot_git):
        return None
    common = os.path.realpath(os.path.join(gitdir, commondir))
    return os.path.dirname(common) if os.path.basename(common) == ".git" else None


def _one_line(path: str) -> str | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(fd, _MOST_GIT_FILE_BYTES).decode("utf-8", "replace").strip()
    except OSError:
        return None
    finally:
        os.close(fd)


class Trust:
    """The trust levels of `[projects]`, asked for one working directory."""

    def __init__(self, projects: Mapping[str, Any], cwd: str, *, root: str) -> None:
        self._levels = {path: entry["trust_level"] for path, entry in projects.items() if "trust_level" in entry}
        self._cwd = cwd
        self._root = root
        self._repository = repository_root(cwd) if self._levels else None

    def of_layer(self, directory: str) -> str | None:
        """For the configuration that lies in one directory of the project."""
        return self._first(directory, self._root, self._repository)

    @property
    def level(self) -> str | None:
        """For the working directory: what the default modes go by."""
        return self._first(self._cwd, self._repository)

    def _first(self, *paths: str | None) -> str | None:
        return next((self._levels[path] for path in paths if path is not None and path in self._levels), None)
