"""Learning from the kernel that files have changed.

Owns one inotify descriptor and what is watched by it: a directory means the entries in it, a file itself, also when
another one takes its place or it does not exist yet. Changes are collected for a moment before they are told, and their
number is bounded: where there are more, or the kernel has lost some, the watched path stands for all of them.
"""

import ctypes
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

import trio

COLLECT_S = 0.2
MAX_TOLD = 1000
"""Paths, of one watch, at once."""
_READ_BYTES = 64 << 10
_HEAD = struct.Struct("iIII")

IN_MODIFY, IN_ATTRIB, IN_CLOSE_WRITE, IN_MOVED_FROM, IN_MOVED_TO = 0x2, 0x4, 0x8, 0x40, 0x80
IN_CREATE, IN_DELETE, IN_DELETE_SELF, IN_MOVE_SELF = 0x100, 0x200, 0x400, 0x800
IN_Q_OVERFLOW, IN_IGNORED, IN_ONLYDIR = 0x4000, 0x8000, 0x0100_0000
_CHANGES = (
    IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_DELETE_SELF
) | IN_MOVE_SELF

Tell = Callable[[str, list[str]], None]
"""The name of a watch, and the absolute paths that have changed."""


class Unwatchable(Exception):
    """This system does not tell of changes."""


@dataclass(slots=True)
class _Watch:
    name: str
    path: str
    number: int
    """Of the directory, in the words of the kernel."""
    entry: bytes | None
    """The one that counts in that directory; None: all of them."""
    changed: set[str] = field(default_factory=set)

    def note(self, entry: bytes, *, is_gone: bool) -> None:
        """`is_gone`: the directory itself."""
        if self.entry is not None and entry != self.entry and not is_gone:
            return
        is_itself = self.entry is not None or not entry or len(self.changed) >= MAX_TOLD
        self.changed.add(self.path if is_itself else os.path.join(self.path, os.fsdecode(entry)))


class Watches:
    """`run` it for as long as changes are to be told; its end closes the descriptor."""

    def __init__(self, tell: Tell) -> None:
        """Raises Unwatchable, or OSError if there are too many in the system."""
        self._tell = tell
        self._watches: dict[str, _Watch] = {}
        self._libc = ctypes.CDLL(None, use_errno=True)
        if not hasattr(self._libc, "inotify_init1"):
            raise Unwatchable("watching files is not supported on this system")
        self._descriptor = self._called(self._libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK), "inotify_init1")

    def __len__(self) -> int:
        return len(self._watches)

    def __contains__(self, name: object) -> bool:
        return name in self._watches

    async def add(self, name: str, path: str) -> None:
        """Raises OSError if there is nothing to watch: neither the path nor the directory that it would be in."""
        watch = self._watches[name] = _Watch(name, path, -1, None)
        try:
            # A file system that hangs must not hold up anybody else.
            watch.number, watch.entry = await trio.to_thread.run_sync(self._watched, path, abandon_on_cancel=True)
        except BaseException:
            del self._watches[name]
            raise

    def remove(self, name: str) -> None:
        """Nothing is told of it from now on. To remove what is not there does no harm."""
        watch = self._watches.pop(name, None)
        if watch is not None and all(other.number != watch.number for other in self._watches.values()):
            # The directory may be gone, and the watch with it.
            self._libc.inotify_rm_watch(self._descriptor, watch.number)

    def _watched(self, path: str) -> tuple[int, bytes | None]:
        if os.path.isdir(path):
            return self._added(path), None
        directory, entry = os.path.split(path)
        return self._added(directory), os.fsencode(entry)

    def _added(self, directory: str) -> int:
        added = self._libc.inotify_add_watch(self._descriptor, os.fsencode(directory), _CHANGES | IN_ONLYDIR)
        return self._called(added, "inotify_add_watch")

    @staticmethod
    def _called(result: int, name: str) -> int:
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), name)
        return result

    async def run(self) -> None:
        """Until it is cancelled."""
        try:
            while True:
                await trio.lowlevel.wait_readable(self._descriptor)
                self._read()
                if any(watch.changed for watch in self._watches.values()):
                    await trio.sleep(COLLECT_S)
                    self._read()
                    self._tell_all()
        finally:
            os.close(self._descriptor)

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, _READ_BYTES)
        except BlockingIOError:
            return
        place = 0
        while place < len(data):
            number, mask, _, length = _HEAD.unpack_from(data, place)
            place += _HEAD.size + length
            entry = data[place - length : place].rstrip(b"\0")
            for watch in self._watches.values():
                if mask & IN_Q_OVERFLOW:
                    watch.note(watch.entry or b"", is_gone=False)
                elif watch.number == number and not mask & IN_IGNORED:
                    watch.note(entry, is_gone=bool(mask & (IN_DELETE_SELF | IN_MOVE_SELF)))

    def _tell_all(self) -> None:
        for watch in tuple(self._watches.values()):
            if watch.changed:
                changed, watch.changed = sorted(watch.changed), set()
                self._tell(watch.name, changed)
