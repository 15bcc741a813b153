"""One look at the disk: what a path is, and where it leads.

Owns the walk over components and links, and reading of small files. Everything may have been put there by an attacker:
nothing is followed unnoticed, nothing but a regular file is opened, and no more than `MAX_POINTER_BYTES` are read.
Knows nothing of what is permitted.
"""

import os
from errno import ENAMETOOLONG
from stat import S_ISDIR, S_ISLNK, S_ISREG

from pycodex.protocol.confinement import PLACEHOLDER_MODE
from pycodex.protocol.errors import UserFacing
from pycodex.protocol.record import Record

MAX_POINTER_BYTES = 64 << 10
MAX_LINKS = 40
MAX_STEPS = 512

DIRECTORY = "directory"
FILE = "file"
OTHER = "other"
MISSING = "missing"
ABSENT = "absent"
HIDDEN = "hidden"
BROKEN = "broken"
LINK = "link"


class Place(Record):
    """Where a path leads, with every symbolic link resolved.

    `missing`: `path` is the first name on the way that does not exist. `absent`: the same, and this user cannot create
    it. `hidden`: it cannot be looked at. `broken`: the way is a loop, too long, or leads through a file, and `path` is
    where it stops.
    """

    path: "str"
    kind: "str"
    links: "tuple[str, ...]" = ()
    """Symbolic links crossed, in order; of each, all but the last component is resolved."""
    through: "tuple[str, ...]" = ()
    """Directories that were entered and left again by `..`."""


def check_text(path: str, what: str) -> None:
    if path.isascii():
        return
    try:
        path.encode()
    except UnicodeEncodeError:
        raise UserFacing(f"{what} {path!r} is not valid UTF-8; rename it, or use another path") from None


def small_file(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, MAX_POINTER_BYTES) if S_ISREG(os.fstat(fd).st_mode) else b""
    except OSError:
        return b""
    finally:
        os.close(fd)


def join(directory: str, name: str) -> str:
    return f"/{name}" if directory == "/" else f"{directory}/{name}"


class Disk:
    """One look at the disk: what was seen once is not asked again, so that all facts of a survey agree."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._sealed: dict[str, bool] = {}

    def kind(self, path: str) -> str:
        kind = self._kinds.get(path)
        if kind is None:
            kind = self._kinds[path] = _kind_on_disk(path)
        return kind

    def links_in(self, directory: str, *, most: int) -> "list[str]":
        """Names of the symbolic links among the first so many names of a directory."""
        try:
            with os.scandir(directory) as found:
                return [entry.name for entry, _ in zip(found, range(most), strict=False) if entry.is_symlink()]
        except OSError:
            return []

    def _is_sealed(self, directory: str) -> bool:
        """Whether nothing can be created here by this user, nor by a command that first changes the mode."""
        sealed = self._sealed.get(directory)
        if sealed is None:
            sealed = self._sealed[directory] = not os.access(directory, os.W_OK) and _is_out_of_reach(directory)
        return sealed

    def resolve(self, path: str, *, at: str = "/") -> Place:
        """Walk `path` from the resolved directory `at`, one component at a time as the kernel does."""
        here = "" if at == "/" or path[:1] == "/" else at
        todo = path.split("/")[::-1]
        kind = DIRECTORY
        links: list[str] = []
        through: list[str] = []
        for _ in range(MAX_STEPS):
            if not todo or kind != DIRECTORY:
                break
            part = todo.pop()
            if part in ("", "."):
                continue
            if part == "..":
                if here:
                    through.append(here)
                    here = here[: here.rindex("/")]
                continue
            found = f"{here}/{part}"
            kind = self.kind(found)
            if kind != LINK:
                here = found
                continue
            target = _target(found) if len(links) < MAX_LINKS else ""
            links.append(found)
            here = "" if target[:1] == "/" else here
            todo.extend(target.split("/")[::-1])
            kind = DIRECTORY if target else BROKEN
        else:
            kind = BROKEN
        if kind in (FILE, OTHER) and any(todo):
            kind = BROKEN
        if kind == MISSING and self._is_sealed(here[: here.rindex("/")] or "/"):
            kind = ABSENT
        if not links and not through:
            return Place(path=here or "/", kind=kind)
        links, through = list(dict.fromkeys(links)), list(dict.fromkeys(through))
        return Place(path=here or "/", kind=kind, links=tuple(links), through=tuple(through))


def _kind_on_disk(path: str) -> str:
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return MISSING
    except OSError as error:
        return MISSING if error.errno == ENAMETOOLONG else HIDDEN
    if S_ISDIR(mode):
        return MISSING if mode & 0o7777 == PLACEHOLDER_MODE and _is_empty(path) else DIRECTORY
    if S_ISREG(mode):
        return FILE
    return LINK if S_ISLNK(mode) else OTHER


def _is_empty(path: str) -> bool:
    """Of a placeholder: it goes away with the call that made it. A command can give any directory its mode."""
    try:
        return not os.listdir(path)
    except FileNotFoundError:
        # It went away just now, with the call before this one.
        return True
    except OSError:
        return False


def _is_out_of_reach(directory: str) -> bool:
    try:
        return os.stat(directory).st_uid != os.geteuid() or bool(os.statvfs(directory).f_flag & os.ST_RDONLY)
    except OSError:
        return False


def _target(link: str) -> str:
    try:
        target = os.readlink(link)
    except OSError:
        return ""
    check_text(target, f"the target of the symbolic link {link!r},")
    return target
