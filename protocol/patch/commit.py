"""Putting changed files on disk: all of them, or none.

Owns the order of the steps and how each is undone. New content is written in full beside its file before anything that
exists is touched; then files change places, which hardly fails, and if it does, what has happened is taken back. Like
`tree` it is shared by the confined worker and the standalone executable. Takes changes, gives the modes of new files.
"""

import errno
import os
import stat

from pycodex.protocol.patch.tree import Found, unusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_PERMISSIONS = 0o1777
_SET_ID = stat.S_ISUID | stat.S_ISGID
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_EXISTING = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_MAY_STILL_BE_WRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS)
_CANNOT_CHANGE_PLACES = (errno.EBUSY, errno.EXDEV, errno.EACCES, errno.EPERM)
# A new file in the same folder gets this label by itself.
_KEPT_BY_FOLDER = "security.selinux"


class Change:
    """What one place shall hold; `data` None: nothing. `path` and `failure` are the words for it."""

    __slots__ = ("data", "failure", "found", "path", "place")

    def __init__(self, place: bytes, found: "Found | None", data: "bytes | None", *, path: str, failure: str) -> None:
        self.place = place
        self.found = found
        self.data = data
        self.path = path
        self.failure = failure


class NotCommitted(Exception):
    """`reason` is the system's word for it; `unrestored` are paths that could not be put back."""

    def __init__(self, text: str, reason: str, unrestored: "list[str]") -> None:
        super().__init__(text)
        self.reason = reason
        self.unrestored = unrestored


class _StepFailed(Exception):
    def __init__(self, text: str, cause: OSError) -> None:
        super().__init__(text)
        self.cause = cause


def commit(changes: "list[Change]") -> "dict[bytes, int]":
    """Modes of what was written, by place. Raises NotCommitted."""
    work = _Commit(alone=len(changes) == 1)
    try:
        work.run(changes)
    except _StepFailed as failed:
        reason = str(unusable(failed.cause))
        raise NotCommitted(str(failed), reason, work.take_back()) from None
    except BaseException:
        work.take_back()
        raise
    work.clear_away()
    return work.modes


class _Commit:
    """`alone`: nothing comes after the only change, so nothing will have to take it back."""

    def __init__(self, *, alone: bool) -> None:
        self.modes: "dict[bytes, int]" = {}
        self._alone = alone
        self._staged: "list[tuple[Change, bytes]]" = []
        self._in_place: "list[Change]" = []
        self._undo: "list[tuple[str, Callable[[], None]]]" = []
        self._leftovers: "list[bytes]" = []

    def run(self, changes: "list[Change]") -> None:
        removals = [change for change in changes if change.data is None]
        writes = [change for change in changes if change.data is not None]
        # A folder may be made where a file was, once that is gone.
        gone = tuple(change.place + b"/" for change in removals)
        for change in writes:
            if not change.place.startswith(gone):
                self._stage(change)
        self._write_in_place()
        for change in removals:
            self._remove(change)
        for change in writes:
            if change.place.startswith(gone):
                self._stage(change)
        for change, temporary in self._staged:
            self._swap(change, temporary)
        self._write_in_place()

    def take_back(self) -> "list[str]":
        """Undo all that was done, last step first; gives the paths for which that failed."""
        unrestored: "list[str]" = []
        for path, undo in reversed(self._undo):
            try:
                undo()
            except OSError:
                if path not in unrestored:
                    unrestored.append(path)
        return unrestored

    def clear_away(self) -> None:
        for leftover in self._leftovers:
            try:
                _unlink_if_there(leftover)
            except OSError:
                # The patch is applied all the same; there is nobody who could do better.
                pass

    # Steps

    def _stage(self, change: Change) -> None:
        """Write the new content beside its place, or find that only the file itself can be written."""
        replaced = _replaced_file(change)
        if replaced is not None:
            self._check_writable(change)
            if _is_more_than_content(change.place, replaced):
                self._in_place.append(change)
                return
        else:
            self._make_folders(change)
        temporary = _beside(change.place)
        try:
            fd = os.open(temporary, _NEW, 0o666 if replaced is None else replaced.mode & _PERMISSIONS)
        except OSError as error:
            if replaced is None or error.errno not in _MAY_STILL_BE_WRITABLE:
                raise _StepFailed(change.failure, error) from None
            self._in_place.append(change)
            return
        self._undo.append((change.path, lambda: _unlink_if_there(temporary)))
        try:
            if self._fill(fd, change, replaced):
                self._staged.append((change, temporary))
            else:
                self._leftovers.append(temporary)
                self._in_place.append(change)
        except OSError as error:
            raise _StepFailed(change.failure, error) from None
        finally:
            os.close(fd)

    def _fill(self, fd: int, change: Change, replaced: "Found | None") -> bool:
        """Whether the new file can take the place of the old one: it has the same owner and mode."""
        status = os.fstat(fd)
        if replaced is not None:
            if (status.st_uid, status.st_gid) != (replaced.uid, replaced.gid):
                return False
            if status.st_mode != replaced.mode:
                os.fchmod(fd, replaced.mode & _PERMISSIONS)
        _write_all(fd, change.data or b"")
        self.modes[change.place] = status.st_mode if replaced is None else replaced.mode
        return True

    def _swap(self, change: Change, temporary: bytes) -> None:
        undo = None if self._alone else self._undo_of_swap(change)
        try:
            os.rename(temporary, change.place)
        except OSError as error:
            if _replaced_file(change) is None or error.errno not in _CANNOT_CHANGE_PLACES:
                raise _StepFailed(change.failure, error) from None
            self._leftovers.append(temporary)
            self._in_place.append(change)
            return
        if undo is not None:
            self._undo.append((change.path, undo))

    def _undo_of_swap(self, change: Change) -> "Callable[[], None]":
        place, found = change.place, change.found
        if found is None:
            return lambda: os.unlink(place)
        backup = _beside(place)
        try:
            os.link(place, backup, follow_symlinks=False)
        except OSError:
            return lambda: _recreate(place, found)
        self._leftovers.append(backup)
        self._undo.append((change.path, lambda: _unlink_if_there(backup)))
        return lambda: os.rename(backup, place)

    def _remove(self, change: Change) -> None:
        place = change.place
        try:
            if self._alone:
                os.unlink(place)
                return
            backup = _beside(place)
            os.rename(place, backup)
        except OSError as error:
            raise _StepFailed(change.failure, error) from None
        self._leftovers.append(backup)
        self._undo.append((change.path, lambda: os.rename(backup, place)))

    def _write_in_place(self) -> None:
        """Such a file is seen half-written for a moment, but keeps its other names, its owner and its attributes."""
        for change in self._in_place:
            found = change.found
            if found is None:
                continue
            try:
                fd = os.open(change.place, _EXISTING)
                self._undo.append((change.path, _restorer(change.place, found)))
                self.modes[change.place] = _overwrite(fd, change.data or b"")
            except OSError as error:
                raise _StepFailed(change.failure, error) from None
        self._in_place.clear()

    def _check_writable(self, change: Change) -> None:
        """To change places needs only the folder's leave; what the file itself forbids holds all the same."""
        try:
            os.close(os.open(change.place, _EXISTING))
        except OSError as error:
            # A program that is being run cannot be written to, but it can be replaced.
            if error.errno != errno.ETXTBSY:
                raise _StepFailed(change.failure, error) from None

    def _make_folders(self, change: Change) -> None:
        missing: "list[bytes]" = []
        folder = os.path.dirname(change.place)
        try:
            while not _is_folder(folder):
                missing.append(folder)
                folder = os.path.dirname(folder)
            for absent in reversed(missing):
                os.mkdir(absent)
                self._undo.append((change.path, _remover(absent)))
        except OSError as error:
            raise _StepFailed(f"Failed to create parent directories for {change.path}", error) from None


def _replaced_file(change: Change) -> "Found | None":
    """The file whose mode and owner the new one inherits; a link has none to give."""
    found = change.found
    return found if found is not None and stat.S_ISREG(found.mode) else None


def _is_more_than_content(place: bytes, found: Found) -> bool:
    """Whether a new file in its place would lose something: other names, a privilege, attributes."""
    if found.links > 1 or found.mode & _SET_ID:
        return True
    try:
        return any(name != _KEPT_BY_FOLDER for name in os.listxattr(place, follow_symlinks=False))
    except OSError:
        return False


def _is_folder(path: bytes) -> bool:
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return False
    if not stat.S_ISDIR(mode):
        raise NotADirectoryError(errno.ENOTDIR, "")
    return True


def _beside(place: bytes) -> bytes:
    """A new name in the same folder, hence on the same file system."""
    return b"%b/.pycodex-%b" % (os.path.dirname(place).rstrip(b"/"), os.urandom(8).hex().encode())


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _overwrite(fd: int, data: bytes) -> int:
    """Gives the mode of the file, which may have lost its privileges thereby. Closes the descriptor."""
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "")
        _write_all(fd, data)
        os.ftruncate(fd, len(data))
        return os.fstat(fd).st_mode
    finally:
        os.close(fd)


def _restorer(place: bytes, found: Found) -> "Callable[[], None]":
    def restore() -> None:
        if _overwrite(os.open(place, _EXISTING), found.data) != found.mode:
            os.chmod(place, stat.S_IMODE(found.mode))

    return restore


def _remover(folder: bytes) -> "Callable[[], None]":
    return lambda: os.rmdir(folder)


def _recreate(place: bytes, found: Found) -> None:
    """Where no second name for the old file could be had."""
    temporary = _beside(place)
    if stat.S_ISLNK(found.mode):
        os.symlink(found.data, temporary)
    else:
        fd = os.open(temporary, _NEW, 0o600)
        try:
            os.fchmod(fd, found.mode & _PERMISSIONS)
            _write_all(fd, found.data)
        finally:
            os.close(fd)
    os.rename(temporary, place)


def _unlink_if_there(path: bytes) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
