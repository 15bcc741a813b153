"""What a turn has changed in the files that it patched, told as git would tell it.

Owns the state in which each file was before the turn first patched it, and the layout of the diff. Reads no file: it is
told what files held and what they hold. Both are up to whoever writes the files, so what is kept of them is bounded,
and so is the time for a diff; a file that is too large is told as git tells a binary one. Takes states, gives text.
"""

import os
from collections.abc import Callable, Mapping
from functools import cache
from stat import S_ISLNK
from typing import TYPE_CHECKING, NamedTuple

from pycodex.supervisor.workspace.roots import project_root

if TYPE_CHECKING:
    from pycodex.protocol.patch.diff import Effort

CONTEXT_LINES = 3
MOST_FILE_BYTES = 4 << 20
MOST_BYTES = 16 << 20
"""Of the contents that are kept, before and after."""
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


class _Kept(NamedTuple):
    """What is kept of a state. `content` is None if it was too large; the blob still tells whether it is the same."""

    git_mode: str
    blob: str
    content: bytes | None


class _Tracked:
    """A file, from before the turn first patched it. `path` is where it is now: patches move files."""

    def __init__(self, path: str, first: _Kept | None) -> None:
        self.first_path = self.path = path
        self.first = first
        self.told: tuple[tuple[str, str, _Kept | None], str] | None = None
        """The diff that was told last, and of what: names and state."""


class TurnChanges:
    """For one turn."""

    def __init__(self) -> None:
        self._tracked: list[_Tracked] = []
        self._now: dict[str, _Kept | None] = {}
        self._left_bytes = MOST_BYTES

    def patched(self, before: States, after: States, moves: Mapping[str, str]) -> None:
        """A patch touched these files; `moves` are old and new names."""
        at: dict[str, _Tracked] = {}
        for tracked in self._tracked:
            at.setdefault(tracked.path, tracked)
        targets = set(moves.values())
        for path, state in before.items():
            if path not in at and (path in moves or path not in targets):
                at[path] = _Tracked(path, self._kept(state))
                self._tracked.append(at[path])
        # All are looked up before any is moved: one may go where another comes from.
        for moved, new in [(at.get(old), new) for old, new in moves.items()]:
            if moved is not None:
                moved.path = new
        self.seen(after)

    def seen(self, now: States) -> None:
        """Files may have changed without a patch: this is what they are now."""
        for path, state in now.items():
            old = self._now.get(path)
            if old is not None:
                self._left_bytes += len(old.content or b"")
            self._now[path] = self._kept(state)

    def _kept(self, state: FileState | None) -> _Kept | None:
        if state is None:
            return None
        content = state.content if len(state.content) <= min(MOST_FILE_BYTES, self._left_bytes) else None
        self._left_bytes -= len(content or b"")
        return _Kept(state.git_mode, _blob(state.content), content)

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that the diff is about."""
        return tuple(tracked.path for tracked in self._tracked)

    def diff(self) -> str:
        """All files whose content is not what it was, in the order of their names; empty if there is none.

        A new name or mode alone is not told.
        """
        from pycodex.protocol.patch.diff import Effort

        told = []
        effort, root_of = Effort(), cache(project_root)
        for tracked in self._tracked:
            right = self._now.get(tracked.path)
            if _blob_of(tracked.first) == _blob_of(right):
                continue
            names = _shown(tracked.first_path, root_of), _shown(tracked.path, root_of)
            if tracked.told is None or tracked.told[0] != (*names, right):
                diff = _file_diff(names[0], tracked.first, names[1], right, effort)
                tracked.told = (*names, right), diff
            told.append((names[1], tracked.told[1]))
        return "".join(text for _, text in sorted(told))


def _shown(path: str, root_of: Callable[[str], str | None]) -> str:
    """Relative to the repository around it, if there is one. Bytes that are no text are replaced."""
    root = root_of(os.path.dirname(path))
    name = path if root is None else os.path.relpath(path, root)
    return name.encode("utf-8", "replace").decode()


def _blob(content: bytes) -> str:
    import hashlib

    return hashlib.sha1(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()


def _blob_of(kept: _Kept | None) -> str:
    return _NO_BLOB if kept is None else kept.blob


def _file_diff(left_name: str, left: _Kept | None, right_name: str, right: _Kept | None, effort: "Effort") -> str:
    lines = (
        f"diff --git a/{left_name} b/{right_name}",
        *_modes(left, right),
        f"index {_blob_of(left)}..{_blob_of(right)}",
        _content_diff(left_name, left, right_name, right, effort),
    )
    return "\n".join(lines).rstrip("\n") + "\n"


def _modes(left: _Kept | None, right: _Kept | None) -> tuple[str, ...]:
    if left is None and right is not None:
        return (f"new file mode {right.git_mode}",)
    if left is not None and right is None:
        return (f"deleted file mode {left.git_mode}",)
    if left is not None and right is not None and left.git_mode != right.git_mode:
        return f"old mode {left.git_mode}", f"new mode {right.git_mode}"
    return ()


def _content_diff(left_name: str, left: _Kept | None, right_name: str, right: _Kept | None, effort: "Effort") -> str:
    from pycodex.protocol.patch.diff import unified

    old, new = _text(left), _text(right)
    if old is None or new is None:
        return "Binary files differ"
    hunks = unified(old, new, context=CONTEXT_LINES, effort=effort)
    if not hunks:
        return ""
    before = _NOWHERE if left is None else f"a/{left_name}"
    after = _NOWHERE if right is None else f"b/{right_name}"
    return f"--- {before}\n+++ {after}\n{hunks}"


def _text(kept: _Kept | None) -> str | None:
    """None if it is no text, or too large."""
    if kept is None:
        return ""
    try:
        return None if kept.content is None else kept.content.decode()
    except UnicodeDecodeError:
        return None
