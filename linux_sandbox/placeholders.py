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
import time

from pycodex.protocol.confinement import PLACEHOLDER_MODE, Unenforceable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_LEDGER_CAP_BYTES = 1 << 20
_LEDGER_COMPACT_BYTES = 1 << 16
_LOCK_PATIENCE_SECONDS = 2.0


class Held:
    """Placeholders held by this process."""

    __slots__ = ("_holds",)

    def __init__(self, holds: "list[tuple[str, int]]") -> None:
        self._holds = holds

    def release(self) -> None:
        for path, fd in self._holds:
            _remove_if_last(path, fd)
            os.close(fd)
        self._holds.clear()


def hold(paths: "Sequence[str]", ledger: str) -> Held:
    """Make and lock them. A name that has become something else meanwhile needs no standing in."""
    holds: list[tuple[str, int]] = []
    if ledger:
        # Before they are made: what is remembered in vain does no harm.
        _remember(ledger, paths)
    for path in paths:
        try:
            fd = _make_and_lock(path)
        except OSError as error:
            Held(holds).release()
            raise Unenforceable(f"cannot protect the missing {path}: {error.strerror}") from None
        if fd is not None:
            holds.append((path, fd))
    return Held(holds)


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


def _make_and_lock(path: str) -> "int | None":
    for _ in range(100):
        _make(path)
        try:
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno in (errno.ENOTDIR, errno.ELOOP):
                return None
            raise
        _lock_shared(fd)
        # The last holder may have removed it between our open and our lock.
        if _is_at(path, fd):
            return fd
        os.close(fd)
    raise OSError(errno.EBUSY, "it keeps vanishing", path)


def _lock_shared(fd: int) -> None:
    """Bounded: a confined command can lock what it can open, and must not be able to stop us by it."""
    deadline = time.monotonic() + _LOCK_PATIENCE_SECONDS
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(fd)
                raise OSError(errno.EBUSY, "another process holds a lock on it") from None
            time.sleep(0.002)
        else:
            return


def _make(path: str) -> None:
    # Never visible with another mode: a survey at the same moment must know it for what it is.
    umask = os.umask(0)
    try:
        os.mkdir(path, PLACEHOLDER_MODE)
    except FileExistsError:
        return
    finally:
        os.umask(umask)


def _is_at(path: str, fd: int) -> bool:
    try:
        there, held = os.lstat(path), os.fstat(fd)
    except FileNotFoundError:
        return False
    return (there.st_dev, there.st_ino) == (held.st_dev, held.st_ino)


def _remove_if_last(path: str, fd: int) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(fd).st_mode & 0o7777 == PLACEHOLDER_MODE and _is_at(path, fd):
            os.rmdir(path)
    except OSError:
        # Somebody else holds it, or the user has put something into it: then it is no longer ours.
        return


def _sweep_one(path: str) -> None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    _remove_if_last(path, fd)
    os.close(fd)


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
    fcntl.flock(fd, fcntl.LOCK_EX)
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
    os.write(fd, b"".join(line + b"\0" for line in kept))
