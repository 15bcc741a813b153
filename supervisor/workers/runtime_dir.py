"""The private directory in which the workers' socket lies.

Owns its place, its rights, the held lock that says "in use", and the sweeping of directories whose owner was killed.
Knows nothing of what is put into it, but for the two names below. Takes an environment, gives a path.
"""

import fcntl
import os
import stat
import time
from collections.abc import Iterator, Mapping

from pycodex.protocol.errors import UserFacing

SOCKET_NAME = "s"
LOCK_NAME = "lock"
PREFIX = "pycodex-"
# sun_path holds 108 bytes on Linux and 104 elsewhere.
MAX_SOCKET_PATH_BYTES = 99
# A directory without a lock file may belong to somebody who is about to create it.
UNLOCKED_GRACE_S = 60.0
ATTEMPTS = 16


class RuntimeDir:
    """A directory that only this user can enter, locked for as long as this object is open."""

    def __init__(self, path: str, lock_fd: int) -> None:
        self.path = path
        self._lock_fd = lock_fd

    @property
    def socket_path(self) -> str:
        return os.path.join(self.path, SOCKET_NAME)

    def close(self) -> None:
        """Remove the directory. The lock goes last, so that nobody else sweeps at the same time."""
        if self._lock_fd >= 0:
            _remove(self.path)
            os.close(self._lock_fd)
            self._lock_fd = -1

    def __enter__(self) -> "RuntimeDir":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_runtime_dir(env: Mapping[str, str]) -> RuntimeDir:
    """Make our own directory in the first suitable place, after sweeping what killed runs left there."""
    reasons = []
    for base in _bases(env):
        if len(os.fsencode(os.path.join(base, PREFIX + "0" * 8, SOCKET_NAME))) > MAX_SOCKET_PATH_BYTES:
            reasons.append(f"{base}: too long for a socket path")
            continue
        try:
            _check_private(base)
            _sweep(base)
            return _create(base)
        except OSError as error:
            reasons.append(f"{base}: {error.strerror or error}")
    raise UserFacing("no private directory for the workers' socket can be made: " + "; ".join(reasons))


def _bases(env: Mapping[str, str]) -> Iterator[str]:
    uid = os.geteuid()
    given = env.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(given):
        yield given
    yield f"/run/user/{uid}"
    for temp in dict.fromkeys((env.get("TMPDIR", ""), "/tmp")):
        if not os.path.isabs(temp):
            continue
        base = os.path.join(temp, f"{PREFIX}{uid}")
        try:
            os.mkdir(base, 0o700)
        except OSError:
            # Either it is there, and is checked like any other, or it cannot be made, which the check tells.
            pass
        yield base


def _check_private(base: str) -> None:
    status = os.lstat(base)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(0, "not a directory")
    if status.st_uid != os.geteuid():
        raise PermissionError(0, f"belongs to user {status.st_uid}")
    if status.st_mode & 0o022:
        raise PermissionError(0, "others can write to it")


def _create(base: str) -> RuntimeDir:
    for _ in range(ATTEMPTS):
        path = os.path.join(base, PREFIX + os.urandom(4).hex())
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            continue
        _check_private(path)
        lock_fd = _lock(path, os.O_CREAT | os.O_EXCL)
        # A sweeper may have taken the directory between its creation and our lock.
        if lock_fd is not None and os.path.exists(os.path.join(path, LOCK_NAME)):
            return RuntimeDir(path, lock_fd)
        if lock_fd is not None:
            os.close(lock_fd)
    raise FileExistsError(0, f"no free name after {ATTEMPTS} attempts")


def _lock(path: str, flags: int) -> int | None:
    """The held lock's descriptor; None when somebody else holds it or the file is not there."""
    try:
        fd = os.open(os.path.join(path, LOCK_NAME), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | flags, 0o600)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    except BaseException:
        os.close(fd)
        raise
    return fd


def _sweep(base: str) -> None:
    with os.scandir(base) as entries:
        stale = [entry.path for entry in entries if entry.name.startswith(PREFIX)]
    for path in stale:
        try:
            _check_private(path)
            _sweep_one(path)
        except OSError:
            # Not ours, or gone meanwhile: its owner sees to it.
            continue


def _sweep_one(path: str) -> None:
    if not os.path.lexists(os.path.join(path, LOCK_NAME)):
        if time.time() - os.lstat(path).st_mtime > UNLOCKED_GRACE_S:
            _remove(path)
        return
    fd = _lock(path, 0)
    if fd is not None:
        _remove(path)
        os.close(fd)


def _remove(path: str) -> None:
    """Only our own names: a directory in which somebody else put a file stays."""
    for name in (SOCKET_NAME, LOCK_NAME):
        try:
            os.unlink(os.path.join(path, name))
        except FileNotFoundError:
            pass
    try:
        os.rmdir(path)
    except OSError:
        pass
