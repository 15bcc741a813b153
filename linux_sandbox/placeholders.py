"""Empty directories that stand in for protected names while a command runs.

A name that does not exist cannot be mounted over, so it is made for the time of the call and removed after it. Every
holder keeps a shared lock on the directory itself; whoever can take the lock alone is the last and removes it. A ledger
remembers path and inode, so that what a killed run left behind is swept at the next start. Runs in trusted processes
only; the directories it works in belong to the attacker, so nothing is followed and only empty directories with the
remembered inode are ever removed.
"""

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_NAMES = (".git", ".codex", ".agents")
_LEDGER_CAP_BYTES = 1 << 20


class Held:
    """Placeholders held by this process."""

    __slots__ = ("_holds", "_ledger")

    def __init__(self, ledger: str, holds: "list[tuple[str, int]]") -> None:
        self._ledger = ledger
        self._holds = holds

    @property
    def paths(self) -> "tuple[str, ...]":
        return tuple(path for path, _ in self._holds)

    def release(self) -> None:
        for path, fd in self._holds:
            _remove_if_last(path, fd)
            os.close(fd)
        self._holds.clear()
        if self._ledger:
            _forget_removed(self._ledger)


def hold(paths: "Iterable[str]", ledger: str) -> Held:
    """Make and lock the missing ones. A name that exists by now and is not an empty directory is simply not held."""
    holds: list[tuple[str, int]] = []
    for path in paths:
        fd = _make_and_lock(path, ledger)
        if fd is not None:
            holds.append((path, fd))
    return Held(ledger, holds)


def sweep(ledger: str) -> None:
    """Remove what earlier runs that were killed left behind."""
    if os.path.exists(ledger):
        for path, device, inode in _remembered(ledger):
            _sweep_one(path, (device, inode))
        _forget_removed(ledger)


def _make_and_lock(path: str, ledger: str) -> "int | None":
    import fcntl

    for _ in range(100):
        created = False
        try:
            os.mkdir(path, 0o755)
            created = True
        except FileExistsError:
            pass
        try:
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno in (errno.ENOTDIR, errno.ELOOP):
                return None
            raise
        if created and ledger:
            _remember(ledger, path, os.fstat(fd))
        fcntl.flock(fd, fcntl.LOCK_SH)
        # The last holder may have removed it between our open and our lock.
        if _is_at(path, fd):
            return fd
        os.close(fd)
    raise OSError(errno.EBUSY, "keeps vanishing", path)


def _is_at(path: str, fd: int) -> bool:
    try:
        there, held = os.lstat(path), os.fstat(fd)
    except FileNotFoundError:
        return False
    return (there.st_dev, there.st_ino) == (held.st_dev, held.st_ino)


def _remove_if_last(path: str, fd: int) -> None:
    import fcntl

    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_at(path, fd):
            os.rmdir(path)
    except OSError:
        # Somebody else holds it, or the user has put something into it: then it is no longer ours.
        pass


def _sweep_one(path: str, identity: "tuple[int, int]") -> None:
    if os.path.basename(path) not in _NAMES:
        return
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    status = os.fstat(fd)
    if (status.st_dev, status.st_ino) == identity:
        _remove_if_last(path, fd)
    os.close(fd)


def _open_ledger(ledger: str, flags: int) -> "int | None":
    import fcntl

    try:
        os.makedirs(os.path.dirname(ledger), mode=0o700, exist_ok=True)
        fd = os.open(ledger, flags | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    except OSError:
        # A home that cannot be written keeps no ledger: only a killed run would have needed it.
        return None
    fcntl.flock(fd, fcntl.LOCK_EX)
    return fd


def _remember(ledger: str, path: str, status: os.stat_result) -> None:
    fd = _open_ledger(ledger, os.O_WRONLY | os.O_APPEND)
    if fd is not None:
        os.write(fd, b"%d %d %s\0" % (status.st_dev, status.st_ino, os.fsencode(path)))
        os.close(fd)


def _remembered(ledger: str) -> "list[tuple[str, int, int]]":
    fd = _open_ledger(ledger, os.O_RDONLY)
    if fd is None:
        return []
    data = os.read(fd, _LEDGER_CAP_BYTES)
    os.close(fd)
    return [record for record in map(_parsed, data.split(b"\0")) if record is not None]


def _parsed(line: bytes) -> "tuple[str, int, int] | None":
    words = line.split(b" ", 2)
    if len(words) != 3 or not words[0].isdigit() or not words[1].isdigit():
        return None
    return os.fsdecode(words[2]), int(words[0]), int(words[1])


def _forget_removed(ledger: str) -> None:
    fd = _open_ledger(ledger, os.O_RDWR)
    if fd is None:
        return
    data = os.read(fd, _LEDGER_CAP_BYTES)
    kept = b"".join(line + b"\0" for line in data.split(b"\0") if _still_there(_parsed(line)))
    if kept != data:
        os.ftruncate(fd, 0)
        os.pwrite(fd, kept, 0)
    os.close(fd)


def _still_there(record: "tuple[str, int, int] | None") -> bool:
    if record is None:
        return False
    path, device, inode = record
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return (status.st_dev, status.st_ino) == (device, inode)
