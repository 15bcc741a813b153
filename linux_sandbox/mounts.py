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
from pycodex.protocol.confinement import LINK, NONE, PIN, READ, WRITE, Confinement, Entry, Unenforceable

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_LOCKED_DOWN = kernel.MOUNT_ATTR_RDONLY | kernel.MOUNT_ATTR_NOSUID | kernel.MOUNT_ATTR_NODEV
_NO_PRIVILEGE = kernel.MOUNT_ATTR_NOSUID | kernel.MOUNT_ATTR_NODEV
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
    _mount("none", "/", "", kernel.MS_REC | kernel.MS_SLAVE)
    dev_tree = _private_dev()
    try:
        _mount("proc", "/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
    except OSError as error:
        # A host that hides parts of its own /proc does not allow a fresh one.
        if error.errno not in (errno.EPERM, errno.EACCES):
            raise
        return Prepared(dev_tree, private_proc=False)
    return Prepared(dev_tree, private_proc=True)


def apply(confinement: Confinement, prepared: Prepared) -> None:
    # From here on nothing that the host mounts may appear: it would be writable.
    _mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    entries = _reachable(confinement)
    trees = {entry.path: _open_tree(entry) for entry in entries if entry.access not in (NONE, LINK)}
    if confinement.base == NONE:
        _enter_empty_root(entries, trees, prepared)
        return
    if confinement.base == WRITE:
        _set_attributes(kernel.AT_FDCWD, "/", _NO_PRIVILEGE)
        # Even where the whole disk may be written, the kernel's own controls may not: root is mapped to root.
        for controls in ("/proc", "/sys"):
            _set_attributes(kernel.AT_FDCWD, controls, _LOCKED_DOWN)
    else:
        _set_attributes(kernel.AT_FDCWD, "/", _LOCKED_DOWN)
    _attach(prepared.dev_tree, "/dev")
    for entry in entries:
        _place(entry, trees, entries, base=confinement.base)


def hide(paths: "tuple[str, ...]") -> None:
    """Cover directories that the command has no business in; one that is gone needs no cover."""
    for path in paths:
        if os.path.isdir(path):
            _place(Entry(path=path, access=NONE), {}, [], base=READ)


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
    return entry.path.rstrip("/").count("/"), entry.path


def _place(entry: Entry, trees: "dict[str, int]", entries: "list[Entry]", *, base: str) -> None:
    if entry.access == NONE:
        _mask(entry.path, _reopened_below(entry, entries))
        return
    tree = _clone(_open(entry), recursive=False) if entry.access == LINK else trees.pop(entry.path)
    access = _inherited(entry, entries, base) if entry.access == PIN else entry.access
    _set_attributes(tree, "", _NO_PRIVILEGE if access == WRITE else _LOCKED_DOWN)
    _attach(tree, entry.path, entry)


def _inherited(pin: Entry, entries: "list[Entry]", base: str) -> str:
    """What the deepest entry above a pin grants; without one, what holds everywhere."""
    above = [e for e in entries if e.access in (READ, WRITE) and pin.path.startswith(e.path.rstrip("/") + "/")]
    return above[-1].access if above else base


def _reopened_below(masked: Entry, entries: "list[Entry]") -> "tuple[Entry, ...]":
    if masked.access != NONE:
        return ()
    prefix = masked.path.rstrip("/") + "/"
    return tuple(entry for entry in entries if entry.path.startswith(prefix) and entry.access in (READ, WRITE))


def _mask(path: str, holes: "tuple[Entry, ...]") -> None:
    target = _open_target(Entry(path=path, access=NONE))
    is_dir = stat.S_ISDIR(os.fstat(target).st_mode)
    os.close(target)
    if not holes:
        tree = _clone(_open(Entry(path=_VOID_DIR if is_dir else _VOID_FILE, access=NONE)), recursive=False)
        _attach(tree, path)
        return
    kinds = {hole.path: os.path.isdir(hole.path) for hole in holes}
    _mount("tmpfs", path, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=0111,size=64k")
    for hole in holes:
        _make_mount_point(hole.path, is_dir=kinds[hole.path])
    _set_attributes(kernel.AT_FDCWD, path, _LOCKED_DOWN)


def _enter_empty_root(entries: "list[Entry]", trees: "dict[str, int]", prepared: Prepared) -> None:
    """Restricted reads: a new, empty root that holds nothing but the entries, /dev and /proc."""
    proc = _clone(_open(Entry(path="/proc", access=READ)))
    links = [(link.path, os.readlink(link.path)) for link in os.scandir("/") if link.is_symlink()]
    links += [(e.path, os.readlink(e.path)) for e in entries if e.access == LINK]
    granted = [(entry, os.path.isdir(entry.path)) for entry in entries if entry.access in (READ, WRITE)]
    _mount("tmpfs", _STAGE, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=0755,size=1m")
    for path, target in links:
        os.makedirs(os.path.dirname(_STAGE + path), mode=0o755, exist_ok=True)
        if not os.path.lexists(_STAGE + path):
            os.symlink(target, _STAGE + path)
    for special, tree in (("/dev", prepared.dev_tree), ("/proc", proc)):
        os.mkdir(_STAGE + special)
        _attach(tree, _STAGE + special)
    _set_attributes(kernel.AT_FDCWD, f"{_STAGE}/proc", _LOCKED_DOWN)
    for entry, is_dir in granted:
        if not os.path.lexists(_STAGE + entry.path):
            _make_mount_point(_STAGE + entry.path, is_dir=is_dir)
    os.chdir(_STAGE)
    kernel.call("pivot_root", b".", b".")
    kernel.call("umount2", b".", kernel.MNT_DETACH)
    os.chdir("/")
    for entry in entries:
        if os.path.lexists(entry.path):
            _place(entry, trees, entries, base=NONE)
    _set_attributes(kernel.AT_FDCWD, "/", _LOCKED_DOWN, recursive=False)


def _make_mount_point(path: str, *, is_dir: bool) -> None:
    os.makedirs(path if is_dir else os.path.dirname(path), mode=0o755, exist_ok=True)
    if not is_dir:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o444))


def _private_dev() -> int:
    """A minimal /dev on a tmpfs, taken off again and returned as a detached tree."""
    devices = [(name, _clone_path(f"/dev/{name}")) for name in _DEVICES if os.path.exists(f"/dev/{name}")]
    _mount("tmpfs", "/dev", "tmpfs", kernel.MS_NOSUID | kernel.MS_NOEXEC, "mode=0755,size=64k")
    for name, tree in devices:
        # Writing to a device needs no writable mount, changing the host's node does.
        _set_attributes(tree, "", kernel.MOUNT_ATTR_RDONLY, recursive=False)
        os.close(os.open(f"/dev/{name}", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o666))
        kernel.call("move_mount", tree, b"", kernel.AT_FDCWD, f"/dev/{name}".encode(), kernel.MOVE_MOUNT_F_EMPTY_PATH)
        os.close(tree)
    for name, target in (("ptmx", "pts/ptmx"), ("fd", "/proc/self/fd")):
        os.symlink(target, f"/dev/{name}")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.symlink(f"/proc/self/fd/{number}", f"/dev/{name}")
    os.mkdir("/dev/pts")
    _mount("devpts", "/dev/pts", "devpts", kernel.MS_NOSUID | kernel.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620")
    os.mkdir("/dev/shm")
    _mount("tmpfs", "/dev/shm", "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=1777")
    os.mkdir(_VOID_DIR, 0)
    os.close(os.open(_VOID_FILE, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0))
    # Only this one mount, not those below it: the directory of device nodes itself never changes.
    _set_attributes(kernel.AT_FDCWD, "/dev", kernel.MOUNT_ATTR_RDONLY, recursive=False)
    tree = _clone_path("/dev", recursive=True)
    kernel.call("umount2", b"/dev", kernel.MNT_DETACH)
    return tree


def _open(entry: Entry) -> int:
    try:
        return kernel.open_without_links(entry.path, os.O_PATH | os.O_NOFOLLOW)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise Unenforceable(
            f"cannot hold {entry.path} to '{entry.access}': {reason} (it changed meanwhile: try again)"
        ) from None


def _open_tree(entry: Entry) -> int:
    return _clone(_open_target(entry))


def _open_target(entry: Entry) -> int:
    """Like `_open`, for what must not be a link: protecting the link would leave what it leads to."""
    fd = _open(entry)
    if stat.S_ISLNK(os.fstat(fd).st_mode):
        os.close(fd)
        raise Unenforceable(f"cannot hold {entry.path} to '{entry.access}': it became a symbolic link, try again")
    return fd


def _clone(fd: int, *, recursive: bool = True) -> int:
    """A detached copy of the mounts at `fd`, which is closed."""
    flags = kernel.OPEN_TREE_CLONE | os.O_CLOEXEC | kernel.AT_EMPTY_PATH | (kernel.AT_RECURSIVE if recursive else 0)
    try:
        return kernel.call("open_tree", fd, b"", flags)
    finally:
        os.close(fd)


def _clone_path(path: str, *, recursive: bool = False) -> int:
    flags = kernel.OPEN_TREE_CLONE | os.O_CLOEXEC | (kernel.AT_RECURSIVE if recursive else 0)
    return kernel.call("open_tree", kernel.AT_FDCWD, path.encode(), flags)


def _attach(tree: int, path: str, entry: "Entry | None" = None) -> None:
    """Mount the detached `tree` (which is closed) exactly on `path`, following no link."""
    target = _open(entry or Entry(path=path, access=NONE))
    try:
        kernel.call(
            "move_mount", tree, b"", target, b"", kernel.MOVE_MOUNT_F_EMPTY_PATH | kernel.MOVE_MOUNT_T_EMPTY_PATH
        )
    except OSError as error:
        raise Unenforceable(f"cannot mount {path}: {error.strerror}") from None
    finally:
        os.close(target)
        os.close(tree)


def _set_attributes(fd: int, path: str, attributes: int, *, recursive: bool = True) -> None:
    settings = attributes.to_bytes(8, "little") + bytes(24)
    flags = (kernel.AT_RECURSIVE if recursive else 0) | (0 if path else kernel.AT_EMPTY_PATH)
    kernel.call("mount_setattr", fd, os.fsencode(path), flags, settings, len(settings))


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    kernel.call("mount", source.encode(), os.fsencode(target), kind.encode(), flags, options.encode() or None)
