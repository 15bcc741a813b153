"""Protected paths on hosts without mounts: looked at before a call, checked and put right after it.

Owns which paths of a Confinement need it: Landlock only ever adds rights, so whatever is protected inside a writable
root can be changed by the command. Runs in trusted processes, outside the sandbox; when `restore` is called, the
processes of the call are dead, those of other calls may not be. It cannot tell who made a change: what anybody else
does to protected paths during the call is undone, too. What cannot be put back is told.
"""

import marshal
import os
import stat

from pycodex.linux_sandbox import guard_paths, guard_store
from pycodex.linux_sandbox.guard_paths import status_of
from pycodex.linux_sandbox.guard_repair import Notes, Repair, shown
from pycodex.linux_sandbox.guard_snapshot import Node, Walk, node_of, open_handle
from pycodex.protocol.confinement import LINK, PIN, READ, WRITE, Confinement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FORMAT = 1


class _Watched:
    """One protected path. A pin is held by name only: what is in it may change."""

    __slots__ = ("handle", "is_pin", "parent_mode", "path", "seen", "share", "wanted", "why")

    def __init__(self, path: str, *, is_pin: bool) -> None:
        self.path = path
        self.is_pin = is_pin
        self.wanted: Node | None = None
        self.seen: Node | None = None
        self.handle = -1
        self.parent_mode = 0
        self.share: guard_store.Share | None = None
        self.why = ""
        """Why it could not be looked at; then nothing is known about it."""


class Guard:
    """The protected paths of one call. `restore` must be called once, however the call ends."""

    def __init__(self, watched: "list[_Watched]", excluded: "frozenset[str]") -> None:
        self._watched = watched
        self._excluded = excluded

    def restore(self) -> "tuple[str, ...]":
        """Put right what was changed; one line for each change."""
        notes = Notes()
        repair = Repair(notes, self._excluded)
        for each in self._watched:
            try:
                if each.why:
                    notes.unchecked(each.path, each.why)
                else:
                    _settle(each, repair, notes)
                    if not each.is_pin:
                        _tell_unknown(each.path, each.wanted, notes)
            except OSError as error:
                notes.unchecked(each.path, error.strerror or str(error))
            finally:
                if each.handle >= 0:
                    os.close(each.handle)
                if each.share is not None:
                    each.share.leave()
        self._watched = []
        return notes.lines()


def watch_protected(confinement: Confinement) -> Guard:
    """Look at everything that is protected inside what the command may write."""
    watched, excluded = _choose(confinement)
    directory = _store_directory(confinement) if watched else ""
    walk = Walk(excluded)
    for each in watched:
        if directory and not each.is_pin:
            each.share = guard_store.join(directory, each.path)
        _look_at(each, walk)
    walk.finish()
    for each in watched:
        each.wanted = each.seen
        if each.share is not None:
            _agree(each)
        if each.seen is None or each.wanted is None or each.seen.identity != each.wanted.identity:
            _let_go(each)
    return Guard(watched, excluded)


def _choose(confinement: Confinement) -> "tuple[list[_Watched], frozenset[str]]":
    table = {"/": confinement.base}
    table.update({entry.path: entry.access for entry in confinement.entries if entry.access != PIN})
    pins = {entry.path for entry in confinement.entries if entry.access == PIN}
    chosen: dict[str, bool] = {}
    for path in (*table, *pins, *confinement.placeholders):
        if not any(table.get(above) == WRITE for above in _above(path)):
            continue
        nearest = next(table[above] for above in _above(path) if above in table)
        if table.get(path) == WRITE or path in pins:
            chosen[path] = True
        elif table.get(path, READ) in (READ, LINK) and nearest == WRITE:
            chosen[path] = False
    excluded = frozenset(path for path, access in table.items() if access == WRITE)
    by_depth = sorted(chosen, key=lambda path: (path.count("/"), path))
    return [_Watched(path, is_pin=chosen[path]) for path in by_depth], excluded


def _above(path: str) -> "list[str]":
    """Nearest first."""
    found = []
    while len(path) > 1:
        path = path[: path.rindex("/")] or "/"
        found.append(path)
    return found


def _store_directory(confinement: Confinement) -> str:
    """Beside the ledger, unless a command could write there."""
    directory = os.path.dirname(confinement.ledger)
    writable = {entry.path for entry in confinement.entries if entry.access == WRITE}
    if confinement.base == WRITE:
        writable.add("/")
    if not directory or writable.intersection((directory, *_above(directory))):
        return ""
    return f"{directory}/guards"


def _look_at(each: _Watched, walk: Walk) -> None:
    try:
        parent_fd = guard_paths.open_directory(os.path.dirname(each.path))
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        each.why = error.strerror or str(error)
        return
    try:
        name = os.path.basename(each.path)
        each.parent_mode = os.fstat(parent_fd).st_mode
        if each.is_pin:
            status = status_of(parent_fd, name)
            each.seen = None if status is None else node_of(status)
        else:
            each.seen = walk.add(parent_fd, each.path)
        if each.seen is not None:
            each.handle = open_handle(parent_fd, name)
    except OSError as error:
        each.why = error.strerror or str(error)
    finally:
        os.close(parent_fd)


def _agree(each: _Watched) -> None:
    """With those that run at the same time, on what the path should be."""
    assert each.share is not None
    if each.share.found:
        try:
            version, path, plain = marshal.loads(each.share.found)
        except (EOFError, ValueError, TypeError):
            return
        if (version, path) == (_FORMAT, each.path):
            each.wanted = None if plain is None else Node.from_plain(plain)
        return
    state: Any = (_FORMAT, each.path, None if each.seen is None else each.seen.to_plain())
    try:
        each.share.publish(marshal.dumps(state))
    except OSError:
        each.share.leave()
        each.share = None


def _let_go(each: _Watched) -> None:
    if each.handle >= 0:
        os.close(each.handle)
        each.handle = -1


def _settle(each: _Watched, repair: Repair, notes: Notes) -> None:
    parent_fd = guard_paths.open_directory(os.path.dirname(each.path), force=True)
    mode = os.fstat(parent_fd).st_mode
    try:
        guard_paths.allow_owner(parent_fd)
        if each.is_pin:
            _settle_pin(each, parent_fd, notes)
            return
        _put_back(each, parent_fd, notes)
        repair.settle_top(parent_fd, each.path, each.wanted, each.seen)
    finally:
        # One that the command has closed to us stays open; one that was closed before is closed again.
        if os.fstat(parent_fd).st_mode != mode == each.parent_mode:
            guard_paths.set_mode(parent_fd, mode)
        os.close(parent_fd)


def _settle_pin(each: _Watched, parent_fd: int, notes: Notes) -> None:
    """Only that the directory is where it was: so that what is protected further down is found."""
    if each.wanted is None or _put_back(each, parent_fd, notes):
        return
    name = os.path.basename(each.path)
    status = status_of(parent_fd, name)
    if status is not None and node_of(status).identity == each.wanted.identity:
        return
    if status is not None and stat.S_IFMT(status.st_mode) == stat.S_IFMT(each.wanted.mode):
        notes.failed(each.path, "was replaced", "the original is gone")
        return
    if not each.wanted.is_directory:
        notes.failed(each.path, "was removed", "no copy of it is kept")
        return
    aside = _move_aside(parent_fd, name) if status is not None else ""
    os.mkdir(name, stat.S_IMODE(each.wanted.mode), dir_fd=parent_fd)
    notes.repaired(
        each.path, "was removed", "made again, empty" + (f"; what was there is now {aside}" if aside else "")
    )


def _put_back(each: _Watched, parent_fd: int, notes: Notes) -> bool:
    """If the original lies somewhere else, move it home. What took its place is removed, or moved aside at a pin."""
    if each.wanted is None or each.handle < 0:
        return False
    name = os.path.basename(each.path)
    status = status_of(parent_fd, name)
    found = _whereabouts(each.handle)
    if (status is not None and node_of(status).identity == each.wanted.identity) or not found:
        return False
    # First out of the way: the original may be inside it.
    aside = _move_aside(parent_fd, name) if status is not None else ""
    place = _whereabouts(each.handle)
    source_fd = guard_paths.open_directory(os.path.dirname(place), force=True)
    try:
        os.rename(os.path.basename(place), name, src_dir_fd=source_fd, dst_dir_fd=parent_fd)
    finally:
        os.close(source_fd)
    cure = "moved back"
    if aside and each.is_pin:
        cure += f"; what was in its place is now {aside}"
    elif aside:
        guard_paths.remove(parent_fd, aside)
        cure += "; what was in its place was removed"
    notes.repaired(each.path, f"was moved to {shown(found)}", cure)
    return True


def _move_aside(parent_fd: int, name: str) -> str:
    aside = guard_paths.new_name()
    os.rename(name, aside, src_dir_fd=parent_fd, dst_dir_fd=parent_fd)
    return aside


def _whereabouts(handle: int) -> str:
    """Where the thing behind a descriptor lies now; empty if it is gone, or not where the kernel says."""
    path = os.readlink(f"/proc/self/fd/{handle}")
    try:
        parent_fd = guard_paths.open_directory(os.path.dirname(path))
    except OSError:
        return ""
    try:
        status = status_of(parent_fd, os.path.basename(path))
    finally:
        os.close(parent_fd)
    if status is None or node_of(status).identity != node_of(os.fstat(handle)).identity:
        return ""
    return path


def _tell_unknown(path: str, node: "Node | None", notes: Notes) -> None:
    """What was too much to be looked at."""
    if node is None or not node.is_directory:
        return
    if node.children is None:
        notes.unchecked(path, node.why)
    for name, child in (node.children or {}).items():
        _tell_unknown(f"{path}/{name}", child, notes)
