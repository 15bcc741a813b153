"""The files that a patch is about: as they are on disk, and as its hunks so far have left them.

Owns the way from a path to a file, what may be read at all, and the changes in memory. It reads the disk, unlike its
neighbours, because a confined worker and the standalone executable both need it and share nothing else; it never
writes. Knows no hunk. Takes paths, gives bytes.
"""

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_BYTES = 64 << 20
"""Of one file, and of all files that one patch reads."""

_MOST_LINKS = 40
# The kernel takes none that is longer, and to find that out name by name takes long.
_MOST_PATH_BYTES = 4095
_READ_BYTES = 1 << 20


class Unusable(Exception):
    """Why a path cannot be worked with. `errno` is 0 where no system call is to blame."""

    def __init__(self, reason: str, number: int = 0) -> None:
        super().__init__(reason)
        self.errno = number


def unusable(error: "OSError | ValueError") -> Unusable:
    if isinstance(error, OSError):
        number = error.errno or 0
        return Unusable(f"{os.strerror(number)} (os error {number})", number)
    return Unusable("file name contained an unexpected NUL byte")


class Found:
    """A file on disk, or a link, whose data is where it points."""

    __slots__ = ("data", "gid", "links", "mode", "uid")

    def __init__(self, status: os.stat_result, data: bytes) -> None:
        self.mode = status.st_mode
        self.uid = status.st_uid
        self.gid = status.st_gid
        self.links = status.st_nlink
        self.data = data


class Tree:
    """Places are absolute, with every folder resolved: two paths to one file give one place."""

    def __init__(self, cwd: bytes) -> None:
        self._cwd = cwd
        self._folders: "dict[bytes, bytes]" = {}
        self._found: "dict[bytes, Found | None]" = {}
        self._now: "dict[bytes, bytes | None]" = {}
        self._left_bytes = MOST_BYTES

    def place(self, path: str) -> bytes:
        """What the path itself names, even if that is a link. Raises Unusable."""
        return self._place(os.path.join(self._cwd, _encoded(path)))

    def end_of(self, path: str) -> bytes:
        """Where reading and writing by this path leads: through links that are not the patch's to replace."""
        path_bytes = os.path.join(self._cwd, _encoded(path))
        for _ in range(_MOST_LINKS):
            place = self._place(path_bytes)
            found = None if place in self._now else self.original(place)
            if found is None or not stat.S_ISLNK(found.mode):
                return place
            path_bytes = os.path.join(os.path.dirname(place), found.data)
        raise unusable(OSError(errno.ELOOP, ""))

    def original(self, place: bytes) -> "Found | None":
        """What is on disk; None if nothing is. Raises Unusable for what is neither file nor link, or too big."""
        if place not in self._found:
            try:
                self._found[place] = self._look(place)
            except (OSError, ValueError) as error:
                raise unusable(error) from None
        return self._found[place]

    def current(self, place: bytes) -> "bytes | None":
        if place in self._now:
            return self._now[place]
        found = self.original(place)
        return None if found is None else found.data

    def put(self, place: bytes, data: "bytes | None") -> None:
        """From now on it holds this; None: it is gone."""
        self.original(place)
        self._now[place] = data

    def changes(self) -> "Iterator[tuple[bytes, Found | None, bytes | None]]":
        """Place, what is on disk, and what shall be."""
        for place, data in self._now.items():
            yield place, self._found[place], data

    def _place(self, path: bytes) -> bytes:
        if len(path) > _MOST_PATH_BYTES:
            raise unusable(OSError(errno.ENAMETOOLONG, ""))
        folder, name = os.path.split(path)
        if name in (b"", b".", b".."):
            raise unusable(OSError(errno.EISDIR, ""))
        resolved = self._folders.get(folder)
        if resolved is None:
            try:
                resolved = self._folders[folder] = os.path.realpath(folder)
            except (OSError, ValueError) as error:
                raise unusable(error) from None
        return os.path.join(resolved, name)

    def _look(self, place: bytes) -> "Found | None":
        try:
            status = os.lstat(place)
        except FileNotFoundError:
            return None
        except NotADirectoryError:
            if self._is_below_removed(place):
                return None
            raise
        if stat.S_ISLNK(status.st_mode):
            return Found(status, os.readlink(place))
        if stat.S_ISDIR(status.st_mode):
            raise OSError(errno.EISDIR, "")
        _check_regular(status.st_mode)
        fd = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            status = os.fstat(fd)
            _check_regular(status.st_mode)
            return Found(status, self._read(fd, status.st_size))
        finally:
            os.close(fd)

    def _read(self, fd: int, size_bytes: int) -> bytes:
        pieces: "list[bytes]" = []
        # One more than there should be: a file that gives less has come to its end.
        wanted = size_bytes + 1
        while size_bytes <= self._left_bytes:
            pieces.append(os.read(fd, wanted))
            size_bytes = sum(map(len, pieces))
            if len(pieces[-1]) < wanted and size_bytes <= self._left_bytes:
                self._left_bytes -= size_bytes
                return b"".join(pieces)
            wanted = _READ_BYTES
        raise Unusable(f"it has {size_bytes} bytes or more, and one patch may touch {MOST_BYTES} bytes in all")

    def _is_below_removed(self, place: bytes) -> bool:
        return any(data is None and place.startswith(removed + b"/") for removed, data in self._now.items())


def _check_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise Unusable("it is not a regular file")


def _encoded(path: str) -> bytes:
    try:
        return path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise Unusable("its name is not valid Unicode") from None
