"""Empty directories that stand in for protected names while a command runs.

A name that does not exist cannot be mounted over, so it is made for the time of the call and removed after it. Every
holder keeps a shared lock on the directory itself; whoever can take the lock alone is the last and removes it. Its odd
mode tells it from a directory that the user made. A ledger remembers where they were made, so that what a killed run
left behind is swept at the next start. Runs in trusted processes only; the directories it works in belong to the
attacker, so nothing is followed and only empty directories of that mode are ever removed.
"""

import errno
import fcntl
import os
import stat
import time

from pycodex.linux_sandbox import kernel
from pycodex.protocol.confinement import PLACEHOLDER_MODE, Unenforceable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_LEDGER_CAP_BYTES = 1 << 20
_LEDGER_COMPACT_BYTES = 1 << 16
_LOCK_PATIENCE_SECONDS = 2.0
_LEDGER_PATIENCE_SECONDS = 0.2


class _Place:
    """One placeholder, by its directory's descriptor and its name: a path could lead elsewhere the next moment."""

    __slots__ = ("folder", "held", "name")

    def __init__(self, path: str) -> None:
        folder, _, self.name = path.rpartition("/")
        self.folder = kernel.open_without_links(folder or "/", os.O_PATH | os.O_DIRECTORY)
        self.held = -1

    def make(self) -> None:
        # Never visible with another mode: a survey at the same moment must know it for what it is.
        umask = os.umask(0)
        try:
            os.mkdir(self.name, PLACEHOLDER_MODE, dir_fd=self.folder)
        except FileExistsError:
            return
        finally:
            os.umask(umask)

    def open(self) -> None:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        self.held = os.open(self.name, flags, dir_fd=self.folder)

    def is_there(self) -> bool:
        try:
            there, held = os.lstat(self.name, dir_fd=self.folder), os.fstat(self.held)
        except FileNotFoundError:
            return False
        return (there.st_dev, there.st_ino) == (held.st_dev, held.st_ino)

    def remove_if_last(self) -> None:
        if self.held < 0:
            return
        try:
            fcntl.flock(self.held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(self.held).st_mode & 0o7777 == PLACEHOLDER_MODE and self.is_there():
                os.rmdir(self.name, dir_fd=self.folder)
        except OSError:
            # Somebody else holds it, or the user has put something into it: then it is no longer ours.
            return

    def let_go(self) -> None:
        if self.held >= 0:
            os.close(self.held)
            self.held = -1

    def close(self) -> None:
        self.let_go()
        os.close(self.folder)


class Held:
    """Placeholders held by this process."""

    __slots__ = ("_places",)

    def __init__(self, places: "list[_Place]") -> None:
        self._places = places

    def release(self) -> None:
        for place in self._places:
            place.remove_if_last()
            place.close()
        self._places.clear()


def hold(paths: "Sequence[str]", ledger: str) -> Held:
    """Make and lock them. A name that has become something else meanwhile needs no standing in."""
    held = Held([])
    if ledger:
        # Before they are made: what is remembered in vain does no harm.
        _remember(ledger, paths)
    for path in paths:
        try:
            place = _Place(path)
            held._places.append(place)
            _make_and_lock(place)
        except OSError as error:
            held.release()
            raise Unenforceable(f"cannot protect the missing {path}: {os.strerror(error.errno or 0)}") from None
    return held


def sweep(ledger: str) -> None:
    """Remove what earlier runs that were killed left behind."""
    fd = _open_ledger(ledger, os.O_RDWR, create=False)
    if fd is None:
        return
    data = os.read(fd, _LEDGER_CAP_BYTES)
    for line in data.split(b"\0"):
        if line.startswith(b"/"):
            _sweep_one(os.fsdecode(line))
    _compact(fd, data)
    os.close(fd)


def _make_and_lock(place: _Place) -> None:
    for _ in range(100):
        place.make()
        try:
            place.open()
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno in (errno.ENOTDIR, errno.ELOOP):
                return
            raise
        _lock(place.held, fcntl.LOCK_SH, _LOCK_PATIENCE_SECONDS)
        # The last holder may have removed it between our open and our lock.
        if place.is_there():
            return
        place.let_go()
    raise OSError(errno.EBUSY, "it keeps vanishing")


def _lock(fd: int, kind: int, patience_seconds: float) -> None:
    """Bounded: a confined command can lock what it can open, and must not be able to stop us by it."""
    deadline = time.monotonic() + patience_seconds
    while True:
        try:
            fcntl.flock(fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise OSError(errno.EBUSY, "another process holds a lock on it") from None
            time.sleep(0.002)
        else:
            return


def _sweep_one(path: str) -> None:
    try:
        place = _Place(path)
    except OSError:
        return
    try:
        place.open()
        place.remove_if_last()
    except OSError:
        # Gone already, or something else by now.
        return
    finally:
        place.close()


def _open_ledger(ledger: str, flags: int, *, create: bool) -> "int | None":
    flags |= os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        try:
            fd = os.open(ledger, flags | (os.O_CREAT if create else 0), 0o600)
        except FileNotFoundError:
            if not create:
                return None
            os.makedirs(os.path.dirname(ledger), mode=0o700, exist_ok=True)
            fd = os.open(ledger, flags | os.O_CREAT, 0o600)
    except OSError:
        # A home that cannot be written keeps no ledger: only a killed run would have needed it.
        return None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        return None
    try:
        _lock(fd, fcntl.LOCK_EX, _LEDGER_PATIENCE_SECONDS)
    except OSError:
        os.close(fd)
        return None
    return fd


def _remember(ledger: str, paths: "Sequence[str]") -> None:
    fd = _open_ledger(ledger, os.O_RDWR | os.O_APPEND, create=True)
    if fd is None:
        return
    os.write(fd, b"".join(os.fsencode(path) + b"\0" for path in paths))
    if os.lseek(fd, 0, os.SEEK_CUR) > _LEDGER_COMPACT_BYTES:
        os.lseek(fd, 0, os.SEEK_SET)
        _compact(fd, os.read(fd, _LEDGER_CAP_BYTES))
    os.close(fd)


def _compact(fd: int, data: bytes) -> None:
    """Keep each place that still exists, once."""
    kept = {line for line in data.split(b"\0") if line and os.path.lexists(line)}
    os.ftruncate(fd, 0)
    os.pwrite(fd, b"".join(line + b"\0" for line in kept), 0)
