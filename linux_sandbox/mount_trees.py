"""Mounts as descriptors: opening, copying, attaching and restricting them, and never by a path that could change.

Owns the calls; knows nothing of what is granted where. What is found to be a symbolic link is refused, but where the
caller means the link.
"""

import os
import stat

from pycodex.linux_sandbox import kernel
from pycodex.protocol.confinement import NONE, Entry, Unenforceable

LOCKED_DOWN = kernel.MOUNT_ATTR_RDONLY | kernel.MOUNT_ATTR_NOSUID | kernel.MOUNT_ATTR_NODEV
NO_PRIVILEGE = kernel.MOUNT_ATTR_NOSUID | kernel.MOUNT_ATTR_NODEV
_FSOPEN_CLOEXEC = _FSMOUNT_CLOEXEC = 1
_SET_STRING, _CREATE = 1, 6


def open_entry(entry: Entry) -> int:
    try:
        return kernel.open_without_links(entry.path, os.O_PATH | os.O_NOFOLLOW)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise Unenforceable(
            f"cannot hold {entry.path} to '{entry.access}': {reason} (it changed meanwhile: try again)"
        ) from None


def open_tree(entry: Entry) -> int:
    """A detached copy of the mounts that the entry is about."""
    return clone(open_target(entry))


def open_target(entry: Entry) -> int:
    """Like `open_entry`, for what must not be a link: protecting the link would leave what it leads to."""
    fd = open_entry(entry)
    if stat.S_ISLNK(os.fstat(fd).st_mode):
        os.close(fd)
        raise Unenforceable(f"cannot hold {entry.path} to '{entry.access}': it became a symbolic link, try again")
    return fd


def clone(fd: int, *, recursive: bool = True) -> int:
    """A detached copy of the mounts at `fd`, which is closed."""
    flags = kernel.OPEN_TREE_CLONE | os.O_CLOEXEC | kernel.AT_EMPTY_PATH | (kernel.AT_RECURSIVE if recursive else 0)
    try:
        return kernel.call("open_tree", fd, b"", flags)
    finally:
        os.close(fd)


def clone_path(path: str, *, recursive: bool = False) -> int:
    flags = kernel.OPEN_TREE_CLONE | os.O_CLOEXEC | (kernel.AT_RECURSIVE if recursive else 0)
    return kernel.call("open_tree", kernel.AT_FDCWD, path.encode(), flags)


def attach(tree: int, path: str, entry: "Entry | None" = None) -> None:
    """Mount the detached `tree` (which is closed) exactly on `path`, following no link."""
    try:
        attach_at(tree, open_entry(entry or Entry(path=path, access=NONE)), path)
    finally:
        os.close(tree)


def attach_at(tree: int, target: int, path: str) -> None:
    """Mount the detached `tree` on what is open as `target` (which is closed); `path` is for the message."""
    flags = kernel.MOVE_MOUNT_F_EMPTY_PATH | kernel.MOVE_MOUNT_T_EMPTY_PATH
    try:
        kernel.call("move_mount", tree, b"", target, b"", flags)
    except OSError as error:
        raise Unenforceable(f"cannot mount {path}: {error.strerror}") from None
    finally:
        os.close(target)


def new_tmpfs(**options: str) -> int:
    """A detached, empty file system in memory; the descriptor stays good for work in it once it is attached."""
    context = kernel.call("fsopen", b"tmpfs", _FSOPEN_CLOEXEC)
    try:
        for name, value in options.items():
            kernel.call("fsconfig", context, _SET_STRING, name.encode(), value.encode(), 0)
        kernel.call("fsconfig", context, _CREATE, None, None, 0)
        return kernel.call("fsmount", context, _FSMOUNT_CLOEXEC, NO_PRIVILEGE)
    finally:
        os.close(context)


def set_attributes(fd: int, path: str, attributes: int, *, recursive: bool = True) -> None:
    settings = attributes.to_bytes(8, "little") + bytes(24)
    flags = (kernel.AT_RECURSIVE if recursive else 0) | (0 if path else kernel.AT_EMPTY_PATH)
    kernel.call("mount_setattr", fd, os.fsencode(path), flags, settings, len(settings))


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    kernel.call("mount", source.encode(), os.fsencode(target), kind.encode(), flags, options.encode() or None)
