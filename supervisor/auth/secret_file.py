"""Small files that hold secrets: read only if they are what they should be, written whole or not at all.

Owns the size, the permissions and the exchange of the old file for the new one. Knows nothing of what is in them, and
no error repeats any of it.
"""

import os
from stat import S_ISREG

from pycodex.protocol.errors import UserFacing

MOST_BYTES = 1 << 20


class Unreadable(UserFacing):
    """There is something, but not what was looked for."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} {reason}")
        self.reason = reason


def read(path: str) -> bytes | None:
    """The bytes of a regular file of a sensible size; a pipe in its place must not hold us up. None: there is none.

    Raises Unreadable.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Unreadable(path, f"cannot be read: {error.strerror}") from None
    try:
        status = os.fstat(fd)
        if not S_ISREG(status.st_mode):
            raise Unreadable(path, "is not a regular file")
        if status.st_size > MOST_BYTES:
            raise Unreadable(path, f"is larger than {MOST_BYTES} bytes")
        return os.read(fd, MOST_BYTES)
    finally:
        os.close(fd)


def write(path: str, data: bytes) -> None:
    """Never readable by others. Raises UserFacing."""
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        _replace(path, data)
    except OSError as error:
        raise UserFacing(f"cannot write {path}: {error.strerror} (os error {error.errno})") from None


def remove(path: str) -> bool:
    """Whether there was one. Raises UserFacing."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise UserFacing(f"cannot remove {path}: {error.strerror} (os error {error.errno})") from None
    return True


def _replace(path: str, data: bytes) -> None:
    temporary = f"{path}.{os.getpid()}.{os.urandom(4).hex()}.new"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
