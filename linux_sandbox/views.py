"""Directories that are shown without some of their files.

A mount covers one file, not its name: when the host replaces the file, the new one shows. Here the directory itself is
covered by one of our own, which holds everything that the host's held at the start, but for those names. Only for
directories in which the command creates nothing. What the host adds there during the call is not seen.
"""

import os
import stat

from pycodex.linux_sandbox import kernel
from pycodex.linux_sandbox.mount_trees import LOCKED_DOWN, attach_at, new_tmpfs, open_target, set_attributes
from pycodex.protocol.confinement import NONE, Entry

MOST_NAMES = 128
"""Each name is a mount: in larger directories only the files themselves are covered."""

_COPY = (
    kernel.OPEN_TREE_CLONE | os.O_CLOEXEC | kernel.AT_RECURSIVE | kernel.AT_SYMLINK_NOFOLLOW | kernel.AT_NO_AUTOMOUNT
)


def show_without(path: str, hidden: "set[str]") -> bool:
    """Whether it was done; not if the directory is gone, too large, or cannot be listed."""
    if not os.path.isdir(path):
        return False
    folder = open_target(Entry(path=path, access=NONE))
    try:
        names = _names(folder)
        if names is None:
            return False
        view = new_tmpfs(mode=f"{stat.S_IMODE(os.fstat(folder).st_mode) & 0o777:o}", size="1m")
        try:
            attach_at(view, os.dup(folder), path)
            for name in names:
                _show(folder, view, name, is_hidden=name in hidden)
            set_attributes(view, "", LOCKED_DOWN, recursive=False)
        finally:
            os.close(view)
    finally:
        os.close(folder)
    return True


def _names(folder: int) -> "list[str] | None":
    try:
        listing = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    except PermissionError:
        return None
    try:
        names = os.listdir(listing)
    finally:
        os.close(listing)
    return names if len(names) <= MOST_NAMES else None


def _show(folder: int, view: int, name: str, *, is_hidden: bool) -> None:
    if is_hidden:
        _make_file(view, name, 0)
        return
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            os.symlink(os.readlink(name, dir_fd=folder), name, dir_fd=view)
            return
        tree = kernel.call("open_tree", folder, os.fsencode(name), _COPY)
    except FileNotFoundError:
        # Gone since we looked.
        return
    try:
        if stat.S_ISDIR(os.fstat(tree).st_mode):
            os.mkdir(name, 0o755, dir_fd=view)
        else:
            _make_file(view, name, 0o444)
        kernel.call("move_mount", tree, b"", view, os.fsencode(name), kernel.MOVE_MOUNT_F_EMPTY_PATH)
    finally:
        os.close(tree)


def _make_file(view: int, name: str, mode: int) -> None:
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, mode, dir_fd=view))
