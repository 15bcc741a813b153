"""File operations in trees that an attacker made: by descriptor, following no link, getting past closed modes.

Owns opening, forced access, removal of whole trees and atomic replacement. Knows nothing of what is protected.
"""

import errno
import os
import stat
import time

DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_REMOVAL_SECONDS = 30.0
_ALL_FOR_OWNER = 0o700


def open_directory(path: str, *, force: bool = False) -> int:
    """A directory by its absolute path, no component of which may be a link. For use as `dir_fd`.

    `force`: directories of ours that were closed to us on the way are opened up.
    """
    fd = os.open("/", DIRECTORY)
    for name in path.split("/"):
        if name:
            try:
                following = _open_in(fd, name, force=force)
            finally:
                os.close(fd)
            fd = following
    return fd


def _open_in(fd: int, name: str, *, force: bool) -> int:
    try:
        return os.open(name, DIRECTORY, dir_fd=fd)
    except PermissionError:
        if not force:
            raise
    allow_owner(fd)
    return os.open(name, DIRECTORY, dir_fd=fd)


def open_below(top: str, inside: str, flags: int) -> int:
    """A directory for reading, by its path below `top`."""
    fd = open_directory(f"{top}/{inside}")
    try:
        return os.open(".", flags | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=fd)
    finally:
        os.close(fd)


def status_of(parent_fd: int, name: str) -> "os.stat_result | None":
    try:
        return os.stat(name, dir_fd=parent_fd, follow_symlinks=False)
    except FileNotFoundError:
        return None


def allow_owner(fd: int) -> None:
    """Let the owner, if that is us, read, write and enter the directory behind an O_PATH descriptor."""
    status = os.fstat(fd)
    mode = stat.S_IMODE(status.st_mode)
    if mode & _ALL_FOR_OWNER != _ALL_FOR_OWNER and status.st_uid == os.geteuid():
        set_mode(fd, mode | _ALL_FOR_OWNER)


def set_mode(fd: int, mode: int) -> None:
    """Through /proc, as the kernel takes no O_PATH descriptor here; it leads to the very file that is open."""
    os.chmod(f"/proc/self/fd/{fd}", stat.S_IMODE(mode))


def set_owner(fd: int, owner: "tuple[int, ...]") -> None:
    os.chown(f"/proc/self/fd/{fd}", *owner)


def open_forced(parent_fd: int, name: str) -> int:
    """A directory for listing and changing, whatever its mode."""
    handle = os.open(name, DIRECTORY, dir_fd=parent_fd)
    try:
        allow_owner(handle)
        return os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=handle)
    finally:
        os.close(handle)


def new_name() -> str:
    """A name that nothing has: for what is about to be moved or removed."""
    return f".pycodex-{os.urandom(8).hex()}"


def remove(parent_fd: int, name: str) -> None:
    """Remove whatever is there, with all that is in it. Raises OSError if that cannot be done in reasonable time."""
    if _unlink(parent_fd, name):
        return
    fd = open_forced(parent_fd, name)
    try:
        _empty(fd, time.monotonic() + _REMOVAL_SECONDS)
    finally:
        os.close(fd)
    _rmdir(parent_fd, name)


def _unlink(parent_fd: int, name: str) -> bool:
    """Whether it is gone; False for a directory."""
    try:
        os.unlink(name, dir_fd=parent_fd)
    except FileNotFoundError:
        return True
    except (IsADirectoryError, PermissionError):
        status = status_of(parent_fd, name)
        if status is not None and not stat.S_ISDIR(status.st_mode):
            raise
        return status is None
    return True


def _rmdir(parent_fd: int, name: str) -> None:
    try:
        os.rmdir(name, dir_fd=parent_fd)
    except FileNotFoundError:
        return


def _empty(top: int, deadline: float) -> None:
    """Directories are moved up and emptied there: however deep the tree, two descriptors do."""
    while names := os.listdir(top):
        for name in names:
            if time.monotonic() > deadline:
                raise OSError(errno.ETIMEDOUT, f"more than can be removed in {_REMOVAL_SECONDS:g} seconds")
            if not _unlink(top, name):
                _move_content_up(top, name)
                _rmdir(top, name)


def _move_content_up(top: int, name: str) -> None:
    fd = open_forced(top, name)
    try:
        for inner in os.listdir(fd):
            if not _unlink(fd, inner):
                # Moving a directory changes it, too.
                os.close(open_forced(fd, inner))
                os.rename(inner, new_name(), src_dir_fd=fd, dst_dir_fd=top)
    finally:
        os.close(fd)


def write_file(
    parent_fd: int, name: str, content: bytes, *, mode: int, owner: "tuple[int, ...]", mtime_ns: int
) -> None:
    """In one step: whoever looks sees the old file or the new one."""
    temporary = new_name()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(temporary, flags, 0o600, dir_fd=parent_fd)
    try:
        while content:
            content = content[os.write(fd, content) :]
        if owner != (os.fstat(fd).st_uid, os.fstat(fd).st_gid):
            os.fchown(fd, *owner)
        os.fchmod(fd, stat.S_IMODE(mode))
        os.utime(fd, ns=(mtime_ns, mtime_ns))
        os.rename(temporary, name, src_dir_fd=parent_fd, dst_dir_fd=parent_fd)
    except OSError:
        _unlink(parent_fd, temporary)
        raise
    finally:
        os.close(fd)


def write_link(parent_fd: int, name: str, target: str) -> None:
    temporary = new_name()
    os.symlink(target, temporary, dir_fd=parent_fd)
    os.rename(temporary, name, src_dir_fd=parent_fd, dst_dir_fd=parent_fd)
