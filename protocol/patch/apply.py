"""Applying a patch to the files of a directory.

Owns the course of it: every hunk is checked against the disk as it is, then all are carried out one after the other in
memory, and only a patch that has come to its end is put on disk, as a whole. Also owns the words for success and
failure. Shared by the file job and the standalone executable, which is why work on files lies in this folder. Takes a
patch's text and a directory, gives an Outcome.
"""

import os

from pycodex.protocol.patch.commit import Change, NotCommitted, commit
from pycodex.protocol.patch.diff import unified
from pycodex.protocol.patch.parse import AddFile, DeleteFile, PatchSyntaxError, UpdateFile, parse_patch
from pycodex.protocol.patch.resolve import Unmatched, resolve
from pycodex.protocol.patch.tree import Tree, Unusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pycodex.protocol.patch.parse import Hunk, Patch
    from pycodex.protocol.patch.tree import Found

    State = tuple[int, bytes] | None
    """Mode and content; None: there is no such file."""

_NOT_UTF_8 = "stream did not contain valid UTF-8"
_NO_SUCH_FILE = "No such file or directory (os error 2)"
_NO_DIRECTORY_ERRNO = 20
_NEW_FILE_MODE = 0o100644
_CONTEXT_LINES = 1


class Unverified(Exception):
    """The patch does not fit the files as they are; nothing was begun."""


class Outcome:
    """What the executable would say, what changed in the eyes of a reader of the patch, and files before and after."""

    __slots__ = ("after", "before", "changes", "exit_code", "stderr", "stdout")

    def __init__(self, *, stdout: str = "", stderr: str = "") -> None:
        self.exit_code = 1 if stderr else 0
        self.stdout = stdout
        self.stderr = stderr
        self.changes: "dict[str, dict[str, str | None]]" = {}
        self.before: "dict[str, State]" = {}
        self.after: "dict[str, State]" = {}


class _HunkFailed(Exception):
    def __init__(self, text: str, reason: str = "") -> None:
        super().__init__(text)
        self.reason = reason


def apply_patch(text: str, cwd: bytes, *, verify: bool, write: bool, only: "frozenset[bytes] | None" = None) -> Outcome:
    """Raises Unverified, if that was asked for. Without `write` everything is done but the writing.

    A patch that leads to another place than `only` these fails: a link may have changed since they were looked up.
    """
    try:
        patch = parse_patch(text)
    except PatchSyntaxError as error:
        if verify:
            raise Unverified(error.for_tool()) from None
        return Outcome(stderr=f"{error.for_executable()}\n")
    if not patch.hunks:
        return Outcome(stderr="No files were modified.\n")
    return _Application(patch, cwd, only).run(verify=verify, write=write)


class _Application:
    """One patch on its way to the disk."""

    def __init__(self, patch: "Patch", cwd: bytes, only: "frozenset[bytes] | None") -> None:
        self._patch = patch
        self._only = only
        self._cwd = cwd
        self._shown_cwd = cwd.decode("utf-8", "replace")
        self._tree = Tree(cwd)
        self._changes: "dict[str, dict[str, str | None]]" = {}
        self._resolved: "dict[int, tuple[bytes, bytes]]" = {}
        """By the identity of a hunk: what its file held, and what the hunk makes of that."""
        self._touched: "dict[str, bytes]" = {}
        self._words: "dict[bytes, tuple[str, str]]" = {}
        """By place: its path as the patch has it, and how to say that the change of it failed."""

    def run(self, *, verify: bool, write: bool) -> Outcome:
        if verify:
            for hunk in self._patch.hunks:
                self._verify(hunk)
        try:
            for hunk in self._patch.hunks:
                self._carry_out(hunk)
        except _HunkFailed as failed:
            return self._failure(f"{failed}", failed.reason, [])
        if len(self._changes) != len(self._patch.hunks):
            self._tell_net_changes()
        modes: "dict[bytes, int]" = {}
        if write:
            try:
                modes = commit(self._net_changes())
            except NotCommitted as failed:
                return self._failure(f"{failed}", failed.reason, failed.unrestored)
        return self._success(modes)

    # Against the disk as it is

    def _verify(self, hunk: "Hunk") -> None:
        path = os.path.join(self._shown_cwd, hunk.path)
        if isinstance(hunk, AddFile):
            self._changes[path] = {"type": "add", "content": hunk.text}
        elif isinstance(hunk, DeleteFile):
            try:
                content = _decoded(self._read(hunk.path))
            except Unusable as error:
                raise Unverified(f"Failed to read {path}: {error}") from None
            self._changes[path] = {"type": "delete", "content": content}
        else:
            self._changes[path] = self._verify_update(hunk, path)

    def _verify_update(self, hunk: UpdateFile, path: str) -> "dict[str, str | None]":
        try:
            data = self._read(hunk.path)
            old = _decoded(data)
            new = resolve(old, hunk.chunks, path=path)
        except Unusable as error:
            raise Unverified(f"Failed to read file to update {path}: {error}") from None
        except Unmatched as error:
            raise Unverified(f"{error}") from None
        self._resolved[id(hunk)] = data, new.encode()
        moved = hunk.move_path if self._leads_elsewhere(hunk) else None
        return {
            "type": "update",
            "unified_diff": unified(old, new, context=_CONTEXT_LINES),
            "move_path": None if moved is None else os.path.join(self._shown_cwd, moved),
        }

    def _leads_elsewhere(self, hunk: UpdateFile) -> bool:
        if hunk.move_path is None:
            return False
        try:
            return self._tree.end_of(hunk.move_path) != self._tree.end_of(hunk.path)
        except Unusable:
            # To carry it out will fail, and say why.
            return True

    def _read(self, path: str) -> bytes:
        data = self._tree.current(self._tree.end_of(path))
        if data is None:
            raise Unusable(_NO_SUCH_FILE)
        return data

    # One after the other, in memory

    def _carry_out(self, hunk: "Hunk") -> None:
        if isinstance(hunk, AddFile):
            self._put(hunk.path, hunk.text.encode())
        elif isinstance(hunk, DeleteFile):
            self._remove(hunk.path, f"Failed to delete file {hunk.path}")
        else:
            data = self._updated(hunk)
            if hunk.move_path is not None and self._leads_elsewhere(hunk):
                self._put(hunk.move_path, data)
                self._remove(hunk.path, f"Failed to remove original {hunk.path}")
            else:
                self._put(hunk.path, data)

    def _updated(self, hunk: UpdateFile) -> bytes:
        try:
            data = self._read(hunk.path)
            seen, new = self._resolved.get(id(hunk), (None, b""))
            if seen is data:
                return new
            return resolve(_decoded(data), hunk.chunks, path=hunk.path).encode()
        except Unusable as error:
            raise _HunkFailed(f"Failed to read file to update {hunk.path}: {error}") from None
        except Unmatched as error:
            raise _HunkFailed(f"{error}") from None

    def _put(self, path: str, data: bytes) -> None:
        failure = f"Failed to write file {path}"
        try:
            place = self._tree.end_of(path)
            self._change(place, data)
            is_link = place != self._tree.place(path)
        except Unusable as error:
            if error.errno == _NO_DIRECTORY_ERRNO:
                failure = f"Failed to create parent directories for {path}"
            raise _HunkFailed(failure, f"{error}") from None
        shown = place.decode("utf-8", "replace") if is_link else os.path.join(self._shown_cwd, path)
        self._touched[shown] = place
        self._words[place] = path, failure

    def _remove(self, path: str, failure: str) -> None:
        try:
            place = self._tree.place(path)
            if self._tree.current(place) is None:
                raise Unusable(_NO_SUCH_FILE)
            self._change(place, None)
        except Unusable as error:
            raise _HunkFailed(failure, f"{error}") from None
        self._touched[os.path.join(self._shown_cwd, path)] = place
        self._words[place] = path, failure

    def _change(self, place: bytes, data: "bytes | None") -> None:
        if self._only is not None and place not in self._only:
            raise Unusable(f"it leads to {place.decode('utf-8', 'replace')}, which nobody was asked about")
        self._tree.put(place, data)

    def _net_changes(self) -> "list[Change]":
        net: "list[Change]" = []
        for place, found, data in self._tree.changes():
            if found is not None or data is not None:
                path, failure = self._words[place]
                net.append(Change(place, found, data, path=path, failure=failure))
        return net

    def _tell_net_changes(self) -> None:
        """Where several hunks are about one file, the last one alone would not tell what becomes of it."""
        self._changes = {}
        for change in self._net_changes():
            path = os.path.join(self._shown_cwd, change.path)
            old = None if change.found is None else change.found.data.decode("utf-8", "replace")
            new = None if change.data is None else change.data.decode("utf-8", "replace")
            if old is None or new is None:
                content = new if old is None else old
                self._changes[path] = {"type": "add" if old is None else "delete", "content": content}
            else:
                diff = unified(old, new, context=_CONTEXT_LINES)
                self._changes[path] = {"type": "update", "unified_diff": diff, "move_path": None}

    # What is told

    def _success(self, modes: "dict[bytes, int]") -> Outcome:
        outcome = self._told(Outcome(stdout=_summary(self._patch)))
        for path, place in self._touched.items():
            outcome.after[path] = self._after(place, modes)
        return outcome

    def _after(self, place: bytes, modes: "dict[bytes, int]") -> "State":
        data, found = self._tree.current(place), self._tree.original(place)
        if data is None:
            return None
        return modes.get(place, _NEW_FILE_MODE if found is None else found.mode), data

    def _failure(self, text: str, reason: str, unrestored: "list[str]") -> Outcome:
        result = f"No file was changed: {reason}." if reason else "No file was changed."
        if unrestored:
            result = f"{reason}. These files could not be put back as they were: {', '.join(unrestored)}"
        outcome = self._told(Outcome(stderr=f"{text}\n{result}\n"))
        fresh = Tree(self._cwd)
        for path, place in self._touched.items():
            is_restored = self._words[place][0] not in unrestored
            outcome.after[path] = outcome.before[path] if is_restored else _state_now(fresh, place)
        return outcome

    def _told(self, outcome: Outcome) -> Outcome:
        outcome.changes = self._changes
        for path, place in self._touched.items():
            outcome.before[path] = _state(self._tree.original(place))
        return outcome


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Unusable(_NOT_UTF_8) from None


def _state(found: "Found | None") -> "State":
    return None if found is None else (found.mode, found.data)


def _state_now(tree: Tree, place: bytes) -> "State":
    try:
        return _state(tree.original(place))
    except Unusable:
        return None


def _summary(patch: "Patch") -> str:
    lines: "dict[str, list[str]]" = {"A": [], "M": [], "D": []}
    for hunk in patch.hunks:
        if isinstance(hunk, AddFile):
            lines["A"].append(hunk.path)
        elif isinstance(hunk, DeleteFile):
            lines["D"].append(hunk.path)
        else:
            lines["M"].append(hunk.path if hunk.move_path is None else hunk.move_path)
    told = [f"{letter} {path}\n" for letter, paths in lines.items() for path in paths]
    return "Success. Updated the following files:\n" + "".join(told)
