"""The private directory in which the workers' socket lies.

Owns its place, its rights, the held lock that says "in use", and the sweeping of directories whose owner was killed.
Knows nothing of what is put into it, but for the two names below. Takes an environment, gives a path. Other
programs may rename things beside it at any moment, so all work is done by descriptors and follows no link.
"""

import fcntl
import os
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
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class RuntimeDir:
    """A directory that only this user can enter, locked for as long as this object is open."""

    def __init__(self, path: str, place: "_Place", lock_fd: int) -> None:
        self.path = path
        self._place = place
        self._lock_fd = lock_fd

    @property
    def socket_path(self) -> str:
        return os.path.join(self.path, SOCKET_NAME)

    def close(self) -> None:
        """Remove the directory. The lock goes last, so that nobody else sweeps at the same time."""
        if self._lock_fd >= 0:
            self._place.remove()
            self._place.close()
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
            base_fd = _open_private(base)
            try:
                _sweep(base_fd)
                return _create(base, base_fd)
            finally:
                os.close(base_fd)
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


def _open_private(path: str, dir_fd: int | None = None) -> int:
    """The directory itself, whatever its name leads to the next moment; OSError if others have a say in it."""
    fd = os.open(path, _DIRECTORY, dir_fd=dir_fd)
    try:
        status = os.fstat(fd)
        if status.st_uid != os.geteuid():
            raise PermissionError(0, f"belongs to user {status.st_uid}")
        if status.st_mode & 0o022:
            raise PermissionError(0, "others can write to it")
    except BaseException:
        os.close(fd)
        raise
    return fd


class _Place:
    """One directory in the base, by descriptors: where a swapped name leads, nothing is ever removed."""

    def __init__(self, base_fd: int, name: str) -> None:
        self._name = name
        self.fd = _open_private(name, base_fd)
        self._base_fd = os.dup(base_fd)

    def close(self) -> None:
        os.close(self.fd)
        os.close(self._base_fd)

    def lock(self, flags: int) -> int | None:
        """The held lock's descriptor; None when somebody else holds it or the file is not there."""
        flags |= os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            fd = os.open(LOCK_NAME, flags, 0o600, dir_fd=self.fd)
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

    def has_lock_file(self) -> bool:
        try:
            os.stat(LOCK_NAME, dir_fd=self.fd, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def remove(self) -> None:
        """Only our own names: a directory in which somebody else put a file stays."""
        for name in (SOCKET_NAME, LOCK_NAME):
            try:
                os.unlink(name, dir_fd=self.fd)
            except FileNotFoundError:
                pass
        try:
            # An empty directory of this user is all that it can take, even if the name was given to another one.
            os.rmdir(self._name, dir_fd=self._base_fd)
        except OSError:
            pass


def _create(base: str, base_fd: int) -> RuntimeDir:
    for _ in range(ATTEMPTS):
        name = PREFIX + os.urandom(4).hex()
        try:
            os.mkdir(name, 0o700, dir_fd=base_fd)
        except FileExistsError:
            continue
        place = _Place(base_fd, name)
        lock_fd = place.lock(os.O_CREAT | os.O_EXCL)
        # A sweeper may have taken the directory between its creation and our lock.
        if lock_fd is not None and place.has_lock_file():
            return RuntimeDir(os.path.join(base, name), place, lock_fd)
        if lock_fd is not None:
            os.close(lock_fd)
        place.close()
    raise FileExistsError(0, f"no free name after {ATTEMPTS} attempts")


def _sweep(base_fd: int) -> None:
    for name in os.listdir(base_fd):
        if not name.startswith(PREFIX):
            continue
        try:
            place = _Place(base_fd, name)
        except OSError:
            # Not ours, or gone meanwhile: its owner sees to it.
            continue
        try:
            _sweep_one(place)
        except OSError:
            # What is in it cannot be what we put there.
            continue
        finally:
            place.close()


def _sweep_one(place: _Place) -> None:
    if not place.has_lock_file():
        if time.time() - os.fstat(place.fd).st_mtime > UNLOCKED_GRACE_S:
            place.remove()
        return
    fd = place.lock(0)
    if fd is not None:
        place.remove()
        os.close(fd)
