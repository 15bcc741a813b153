"""The caller's standard streams, seen through the confined view of the file system.

A descriptor remembers the mount it was opened through. A file that was handed over for reading would so keep the host's
writable mount: its mode and times could be changed, and a protected file even be opened again for writing.
"""

import fcntl
import os
import stat

from pycodex.protocol.confinement import Unenforceable

_STANDARD_FDS = (0, 1, 2)


def reopen_read_only() -> None:
    """Open every regular file that was given for reading again, in the view this process has now."""
    for fd in _STANDARD_FDS:
        try:
            status = os.fstat(fd)
        except OSError:
            continue
        # One that was given for writing stays as it is, and a file without a name has nothing left to lose.
        reads_only = fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
        if reads_only and status.st_nlink and (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
            _reopen(fd, status)


def _reopen(fd: int, status: os.stat_result) -> None:
    path = os.readlink(f"/proc/self/fd/{fd}")
    try:
        again = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise Unenforceable(f"cannot pass on {path} as stream {fd}: {error.strerror}; use a pipe instead") from None
    found = os.fstat(again)
    if (found.st_dev, found.st_ino) != (status.st_dev, status.st_ino):
        raise Unenforceable(f"cannot pass on {path} as stream {fd}: it changed meanwhile; use a pipe instead")
    os.set_blocking(again, True)
    if stat.S_ISREG(status.st_mode):
        os.lseek(again, os.lseek(fd, 0, os.SEEK_CUR), os.SEEK_SET)
    os.dup2(again, fd)
    os.close(again)
