"""The view of the file system that a confined process gets.

Runs inside a fresh mount namespace, in two halves: `prepare` while idle (private /dev and /proc, which no order
changes) and `apply` when the order is known. Everything is addressed by descriptors opened without following symbolic
links, so a path that changes meanwhile is refused and never followed. Knows nothing of policy: it does what the
Confinement says, deepest entry last.
"""

import errno
import os
import stat

from pycodex.linux_sandbox import kernel
from pycodex.linux_sandbox.mount_trees import (
    LOCKED_DOWN,
    NO_PRIVILEGE,
    attach,
    attach_at,
    clone,
    clone_path,
    mount,
    new_tmpfs,
    open_entry,
    open_target,
    open_tree,
    set_attributes,
)
from pycodex.linux_sandbox.views import show_without
from pycodex.protocol.confinement import LINK, NONE, PIN, READ, WRITE, Confinement, Entry

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_VOID_DIR = "/dev/.none-dir"
_VOID_FILE = "/dev/.none-file"
_STAGE = "/usr"


class Prepared:
    """What `prepare` leaves for `apply`: the detached /dev, and whether /proc is our own."""

    __slots__ = ("dev_tree", "private_proc")

    def __init__(self, dev_tree: int, private_proc: bool) -> None:
        self.dev_tree = dev_tree
        self.private_proc = private_proc


def prepare() -> Prepared:
    # Slave, not private: what the host mounts or unmounts until the order comes is seen here, never the reverse.
    mount("none", "/", "", kernel.MS_REC | kernel.MS_SLAVE)
    dev_tree = _private_dev()
    try:
        mount("proc", "/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
    except OSError as error:
        # A host that hides parts of its own /proc does not allow a fresh one.
        if error.errno not in (errno.EPERM, errno.EACCES):
            raise
        return Prepared(dev_tree, private_proc=False)
    return Prepared(dev_tree, private_proc=True)


def apply(confinement: Confinement, prepared: Prepared) -> None:
    _apply_view(confinement, prepared)
    if confinement.limits.memory_bytes is not None:
        # Files there are memory, too, and belong to no process that could be ended for it.
        size = f"size={confinement.limits.memory_bytes}"
        mount("tmpfs", "/dev/shm", "", kernel.MS_REMOUNT | kernel.MS_NOSUID | kernel.MS_NODEV, size)


def _apply_view(confinement: Confinement, prepared: Prepared) -> None:
    # From here on nothing that the host mounts may appear: it would be writable.
    mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    entries = _reachable(confinement)
    trees = {entry.path: open_tree(entry) for entry in entries if entry.access not in (NONE, LINK)}
    views = _views(entries, confinement.base)
    if confinement.base == NONE:
        _enter_empty_root(entries, trees, views, prepared=prepared)
        return
    if confinement.base == WRITE:
        set_attributes(kernel.AT_FDCWD, "/", NO_PRIVILEGE)
        # Even where the whole disk may be written, the kernel's own controls may not: root is mapped to root.
        for controls in ("/proc", "/sys"):
            set_attributes(kernel.AT_FDCWD, controls, LOCKED_DOWN)
    else:
        set_attributes(kernel.AT_FDCWD, "/", LOCKED_DOWN)
    attach(prepared.dev_tree, "/dev")
    _place_all(entries, trees, views, base=confinement.base)


def hide(paths: "tuple[str, ...]") -> None:
    """Cover directories that the command has no business in; one that is gone, or lies in another, needs no cover."""
    for path in paths:
        if not path.startswith(tuple(f"{other}/" for other in paths)) and os.path.isdir(path):
            _mask(Entry(path=path, access=NONE), {}, optional=False)


def _reachable(confinement: Confinement) -> "list[Entry]":
    """All entries, the deepest last, without those that a `none` above them has covered already."""
    placeholders = (Entry(path=path, access=READ) for path in confinement.placeholders)
    kept: list[Entry] = []
    for entry in sorted((*confinement.entries, *placeholders), key=_depth):
        above = [e for e in kept if e.access in (READ, WRITE, NONE) and entry.path.startswith(e.path.rstrip("/") + "/")]
        covered = above[-1].access == NONE if above else confinement.base == NONE
        opens = entry.access in (READ, WRITE) and entry.path not in confinement.placeholders
        if opens or not covered or (not above and entry.access == LINK):
            kept.append(entry)
    return kept


def _depth(entry: Entry) -> "tuple[int, str]":
    return _slashes(entry.path), entry.path


def _slashes(path: str) -> int:
    return path.rstrip("/").count("/")


def _place_all(entries: "list[Entry]", trees: "dict[str, int]", views: "dict[str, set[str]]", *, base: str) -> None:
    pending = sorted(views, key=_slashes)
    shown: set[str] = set()
    for entry in entries:
        while pending and _slashes(pending[0]) < _slashes(entry.path):
            folder = pending.pop(0)
            if show_without(folder, views[folder]):
                shown.add(folder)
        folder, _, name = entry.path.rpartition("/")
        is_done = folder in shown and name in views[folder]
        # Of a root that we have made ourselves only what was granted is there.
        if not is_done and (base != NONE or os.path.lexists(entry.path)):
            _place(entry, trees, entries, base=base)


def _views(entries: "list[Entry]", base: str) -> "dict[str, set[str]]":
    """Directories with denied files, where nothing can be created: these can be shown without them.

    A mount covers the file that is there now; the host may put another one in its place, which it would not cover.
    """
    views: dict[str, set[str]] = {}
    for entry in entries:
        if entry.access == NONE and _inherited(entry, entries, base) == READ and not os.path.isdir(entry.path):
            folder, _, name = entry.path.rpartition("/")
            if folder:
                views.setdefault(folder, set()).add(name)
    return views


def _place(entry: Entry, trees: "dict[str, int]", entries: "list[Entry]", *, base: str) -> None:
    if entry.access == NONE:
        holes = {hole.path: _is_directory(trees[hole.path]) for hole in _reopened_below(entry, entries)}
        _mask(entry, holes, optional=_inherited(entry, entries, base) == READ)
        return
    tree = clone(open_entry(entry), recursive=False) if entry.access == LINK else trees.pop(entry.path)
    access = _inherited(entry, entries, base) if entry.access == PIN else entry.access
    set_attributes(tree, "", NO_PRIVILEGE if access == WRITE else LOCKED_DOWN)
    attach(tree, entry.path, entry)


def _inherited(pin: Entry, entries: "list[Entry]", base: str) -> str:
    """What the deepest entry above a pin grants; without one, what holds everywhere."""
    above = [e for e in entries if e.access in (READ, WRITE) and pin.path.startswith(e.path.rstrip("/") + "/")]
    return above[-1].access if above else base


def _reopened_below(masked: Entry, entries: "list[Entry]") -> "tuple[Entry, ...]":
    if masked.access != NONE:
        return ()
    prefix = masked.path.rstrip("/") + "/"
    return tuple(entry for entry in entries if entry.path.startswith(prefix) and entry.access in (READ, WRITE))


def _mask(entry: Entry, holes: "dict[str, bool]", *, optional: bool) -> None:
    """`holes` are the paths below that stay open, and whether each is a directory.

    `optional`: the command cannot create it, so that there may be nothing to cover, and a link is as good as a file.
    """
    if optional and not os.path.lexists(entry.path):
        return
    target = open_entry(entry) if optional else open_target(entry)
    status = os.fstat(target)
    os.close(target)
    if not holes:
        void = _VOID_DIR if stat.S_ISDIR(status.st_mode) else _VOID_FILE
        attach(clone(open_entry(Entry(path=void, access=NONE)), recursive=False), entry.path)
        return
    tree = new_tmpfs(mode="0111", size="64k")
    try:
        attach_at(tree, open_target(entry), entry.path)
        for path, is_dir in holes.items():
            _make_mount_point(path[len(entry.path.rstrip("/")) + 1 :], is_dir=is_dir, dir_fd=tree)
        set_attributes(tree, "", LOCKED_DOWN)
    finally:
        os.close(tree)


def _is_directory(fd: int) -> bool:
    return stat.S_ISDIR(os.fstat(fd).st_mode)


def _enter_empty_root(
    entries: "list[Entry]", trees: "dict[str, int]", views: "dict[str, set[str]]", *, prepared: Prepared
) -> None:
    """Restricted reads: a new, empty root that holds nothing but the entries, /dev and /proc."""
    proc = clone(open_entry(Entry(path="/proc", access=READ)))
    links = [(link.path, os.readlink(link.path)) for link in os.scandir("/") if link.is_symlink()]
    links += [(e.path, os.readlink(e.path)) for e in entries if e.access == LINK]
    granted = [(entry, _is_directory(trees[entry.path])) for entry in entries if entry.access in (READ, WRITE)]
    mount("tmpfs", _STAGE, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=0755,size=1m")
    for path, target in links:
        os.makedirs(os.path.dirname(_STAGE + path), mode=0o755, exist_ok=True)
        if not os.path.lexists(_STAGE + path):
            os.symlink(target, _STAGE + path)
    for special, tree in (("/dev", prepared.dev_tree), ("/proc", proc)):
        os.mkdir(_STAGE + special)
        attach(tree, _STAGE + special)
    set_attributes(kernel.AT_FDCWD, f"{_STAGE}/proc", LOCKED_DOWN)
    for entry, is_dir in granted:
        if not os.path.lexists(_STAGE + entry.path):
            _make_mount_point(_STAGE + entry.path, is_dir=is_dir)
    os.chdir(_STAGE)
    kernel.call("pivot_root", b".", b".")
    kernel.call("umount2", b".", kernel.MNT_DETACH)
    os.chdir("/")
    _place_all(entries, trees, views, base=NONE)
    set_attributes(kernel.AT_FDCWD, "/", LOCKED_DOWN, recursive=False)


def _make_mount_point(path: str, *, is_dir: bool, dir_fd: "int | None" = None) -> None:
    """Only in a file system of our own: nobody else puts anything on the way."""
    at = path.find("/", 1)
    while at > 0:
        _make_directory(path[:at], dir_fd)
        at = path.find("/", at + 1)
    if is_dir:
        _make_directory(path, dir_fd)
    else:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o444, dir_fd=dir_fd))


def _make_directory(path: str, dir_fd: "int | None") -> None:
    try:
        os.mkdir(path, 0o755, dir_fd=dir_fd)
    except FileExistsError:
        return


def _private_dev() -> int:
    """A minimal /dev on a tmpfs, taken off again and returned as a detached tree."""
    devices = _devices()
    mount("tmpfs", "/dev", "tmpfs", kernel.MS_NOSUID | kernel.MS_NOEXEC, "mode=0755,size=64k")
    for name, tree in devices:
        os.close(os.open(f"/dev/{name}", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o666))
        kernel.call("move_mount", tree, b"", kernel.AT_FDCWD, f"/dev/{name}".encode(), kernel.MOVE_MOUNT_F_EMPTY_PATH)
        os.close(tree)
    for name, target in (("ptmx", "pts/ptmx"), ("fd", "/proc/self/fd")):
        os.symlink(target, f"/dev/{name}")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.symlink(f"/proc/self/fd/{number}", f"/dev/{name}")
    os.mkdir("/dev/pts")
    os.mkdir("/dev/shm")
    os.mkdir(_VOID_DIR, 0)
    os.close(os.open(_VOID_FILE, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0))
    # The directory itself never changes. Writing to a device needs no writable mount, changing the host's node does.
    set_attributes(kernel.AT_FDCWD, "/dev", kernel.MOUNT_ATTR_RDONLY)
    mount("devpts", "/dev/pts", "devpts", kernel.MS_NOSUID | kernel.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620")
    mount("tmpfs", "/dev/shm", "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=1777")
    tree = clone_path("/dev", recursive=True)
    kernel.call("umount2", b"/dev", kernel.MNT_DETACH)
    return tree


def _devices() -> "list[tuple[str, int]]":
    """Those of the host's that there are, as detached trees."""
    found = []
    for name in _DEVICES:
        try:
            found.append((name, clone_path(f"/dev/{name}")))
        except FileNotFoundError:
            continue
    return found
