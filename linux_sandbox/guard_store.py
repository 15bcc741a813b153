"""The state of a protected path that all calls running at the same time agree on.

Without it a call that begins while another one has a change in place would take that change for the original, and put
it back after the other has undone it. The first call stores what it found, those that overlap with it read that, the
last one out removes it. Owns the files and their locks; knows nothing of what is in them. A directory that commands
can write is no place for it: then every call has to trust its own eyes.
"""

import errno
import fcntl
import os

_MOST_BYTES = 64 << 20
_TRIES = 100


class Share:
    """Our part in the state of one path. `found` is what an earlier call stored; empty: we are the first."""

    __slots__ = ("_fd", "_file", "found")

    def __init__(self, file: str, fd: int, found: bytes) -> None:
        self._file = file
        self._fd = fd
        self.found = found

    def publish(self, data: bytes) -> None:
        """What those who come from now on will find."""
        view = memoryview(data)
        while view:
            view = view[os.write(self._fd, view) :]
        fcntl.flock(self._fd, fcntl.LOCK_SH)

    def leave(self) -> None:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(self._file, self._fd):
                os.unlink(self._file)
        except OSError:
            # Others still need it.
            pass
        os.close(self._fd)


def join(directory: str, path: str) -> "Share | None":
    """None where nothing can be stored."""
    import hashlib

    file = f"{directory}/{hashlib.sha256(os.fsencode(path)).hexdigest()[:32]}"
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        return _join(file)
    except OSError:
        return None


def _join(file: str) -> Share:
    for _ in range(_TRIES):
        fd = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        try:
            found = _lock(file, fd)
        except BaseException:
            os.close(fd)
            raise
        if found is not None:
            return Share(file, fd, found)
        os.close(fd)
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), file)


def _lock(file: str, fd: int) -> "bytes | None":
    """Empty: ours alone, to be published. None: try again, somebody has just left or died."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        # Held alone only while its owner looks at the disk.
        fcntl.flock(fd, fcntl.LOCK_SH)
        return (_read(fd) or None) if _is_at(file, fd) else None
    os.ftruncate(fd, 0)
    return b"" if _is_at(file, fd) else None


def _read(fd: int) -> bytes:
    parts = []
    size = 0
    while size < _MOST_BYTES and (part := os.read(fd, 1 << 20)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _is_at(file: str, fd: int) -> bool:
    try:
        there, held = os.lstat(file), os.fstat(fd)
    except FileNotFoundError:
        return False
    return (there.st_dev, there.st_ino) == (held.st_dev, held.st_ino)
