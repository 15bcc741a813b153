"""What a turn has changed in the files that it patched, told as git would tell it.

Owns the state in which each file was before the turn first patched it, and the layout of the diff. Reads no file: it is
told what files held and what they hold. Takes states, gives text.
"""

import os
from collections.abc import Mapping
from stat import S_ISLNK
from typing import NamedTuple

from pycodex.supervisor.workspace.roots import project_root

CONTEXT_LINES = 3
_NO_BLOB = "0" * 40
_NOWHERE = "/dev/null"


class FileState(NamedTuple):
    """`mode` is that of stat; of a symbolic link, `content` is where it points."""

    mode: int
    content: bytes

    @property
    def git_mode(self) -> str:
        if S_ISLNK(self.mode):
            return "120000"
        return "100755" if self.mode & 0o111 else "100644"


States = Mapping[str, FileState | None]
"""By absolute path; None: there is no such file."""


class _Tracked:
    """A file, from before the turn first patched it. `path` is where it is now: patches move files."""

    def __init__(self, path: str, first: FileState | None) -> None:
        self.first_path = self.path = path
        self.first = first


class TurnChanges:
    """For one turn."""

    def __init__(self) -> None:
        self._tracked: list[_Tracked] = []
        self._now: dict[str, FileState | None] = {}

    def patched(self, before: States, after: States, moves: Mapping[str, str]) -> None:
        """A patch touched these files; `moves` are old and new names."""
        for path, state in before.items():
            if self._at(path) is None and (path in moves or path not in moves.values()):
                self._tracked.append(_Tracked(path, state))
        # All are looked up before any is moved: one may go where another comes from.
        for moved, new in [(self._at(old), new) for old, new in moves.items()]:
            if moved is not None:
                moved.path = new
        self._now.update(after)

    def seen(self, now: States) -> None:
        """Files may have changed without a patch: this is what they are now."""
        self._now.update(now)

    def _at(self, path: str) -> _Tracked | None:
        return next((tracked for tracked in self._tracked if tracked.path == path), None)

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that the diff is about."""
        return tuple(tracked.path for tracked in self._tracked)

    def diff(self) -> str:
        """All files whose content is not what it was, in the order of their names; empty if there is none.

        A new name or mode alone is not told.
        """
        told = []
        for tracked in self._tracked:
            right = self._now.get(tracked.path)
            if _content(tracked.first) != _content(right):
                left_name, right_name = _shown(tracked.first_path), _shown(tracked.path)
                told.append((right_name, _file_diff(left_name, tracked.first, right_name, right)))
        return "".join(text for _, text in sorted(told))


def _shown(path: str) -> str:
    """Relative to the repository around it, if there is one. Bytes that are no text are replaced."""
    root = project_root(os.path.dirname(path))
    name = path if root is None else os.path.relpath(path, root)
    return name.encode("utf-8", "replace").decode()


def _content(state: FileState | None) -> bytes | None:
    return None if state is None else state.content


def _file_diff(left_name: str, left: FileState | None, right_name: str, right: FileState | None) -> str:
    lines = (
        f"diff --git a/{left_name} b/{right_name}",
        *_modes(left, right),
        f"index {_blob(left)}..{_blob(right)}",
        _content_diff(left_name, left, right_name, right),
    )
    return "\n".join(lines).rstrip("\n") + "\n"


def _modes(left: FileState | None, right: FileState | None) -> tuple[str, ...]:
    if left is None and right is not None:
        return (f"new file mode {right.git_mode}",)
    if left is not None and right is None:
        return (f"deleted file mode {left.git_mode}",)
    if left is not None and right is not None and left.git_mode != right.git_mode:
        return f"old mode {left.git_mode}", f"new mode {right.git_mode}"
    return ()


def _blob(state: FileState | None) -> str:
    if state is None:
        return _NO_BLOB
    import hashlib

    content = state.content
    return hashlib.sha1(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()


def _content_diff(left_name: str, left: FileState | None, right_name: str, right: FileState | None) -> str:
    from pycodex.protocol.patch.diff import unified

    try:
        old = left.content.decode() if left is not None else ""
        new = right.content.decode() if right is not None else ""
    except UnicodeDecodeError:
        return "Binary files differ"
    hunks = unified(old, new, context=CONTEXT_LINES)
    if not hunks:
        return ""
    before = _NOWHERE if left is None else f"a/{left_name}"
    after = _NOWHERE if right is None else f"b/{right_name}"
    return f"--- {before}\n+++ {after}\n{hunks}"
