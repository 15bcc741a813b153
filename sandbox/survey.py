"""Looks at the disk before a call: where the permitted paths really lead, and what must be protected in them.

Owns all reading that planning needs, and gives facts only: `plan` decides. Everything below a writable root was
possibly put there by an attacker, so nothing here follows a link unnoticed, opens anything but a regular file, or reads
more than `MAX_POINTER_BYTES`. Must stay cheap: it runs before each call. Knows nothing of mounts or Landlock.
"""

import os
import sys
from errno import ENAMETOOLONG
from stat import S_ISDIR, S_ISLNK, S_ISREG

from pycodex.protocol.confinement import PLACEHOLDER_MODE
from pycodex.protocol.errors import UserFacing
from pycodex.protocol.permissions import (
    CURRENT_WORKING_DIRECTORY,
    DANGER_FULL_ACCESS,
    EXTERNAL_SANDBOX,
    MINIMAL,
    PROJECT_ROOTS,
    ROOT,
    WORKSPACE_WRITE,
)
from pycodex.protocol.permissions import SLASH_TMP as SLASH_TMP_PLACE
from pycodex.protocol.permissions import TMPDIR as TMPDIR_PLACE
from pycodex.protocol.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pycodex.protocol.permissions import FsRule, Permissions

GUARDED_NAMES = (".git", ".codex", ".agents")
PLATFORM_PATHS = ("/bin", "/sbin", "/usr", "/etc", "/lib", "/lib64", "/nix/store", "/run/current-system/sw")
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
_LINK = "link"

CONFIGURED = "configured"
CWD = "cwd"
SLASH_TMP = "slash_tmp"
TMPDIR = "tmpdir"
MEMORIES = "memories"
READABLE = "readable"
PLATFORM = "platform"

NAME = "name"
GITDIR = "gitdir"
INNER = "inner"

# Single files inside a protected directory that can start programs, and are sometimes links to a tracked copy.
_GIT_INNER = ("config", "hooks")
_CODEX_INNER = ("config.toml",)


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


class Grant(Record):
    """One permission of the policy, and where its path leads."""

    asked: "str"
    origin: "str"
    access: "str"
    place: "Place"


class Guard(Record):
    """A name that commands must not change (`name`), or what it leads to (`gitdir`, `inner`)."""

    path: "str"
    role: "str"
    place: "Place"
    is_git: "bool" = False
    """A directory with a HEAD, by which git knows its own, or one in which none can be created."""


class Survey(Record):
    cwd: "str"
    grants: "tuple[Grant, ...]" = ()
    """By mode in the order configured, working directory, /tmp, $TMPDIR, readable, platform, memories."""
    guards: "tuple[Guard, ...]" = ()
    shared: "tuple[str, ...]" = ()
    """/tmp and $TMPDIR: directories that other programs use at the same time."""
    codex_home: "str" = ""
    """Resolved if it exists, else as it was given; `home` says where the way leads."""
    home: "Place | None" = None
    auth: "Place | None" = None
    installation: "tuple[Place, ...]" = ()
    """Where our own code and interpreter are loaded from."""
    runtime_bases: "tuple[str, ...]" = ()
    """Directories in /tmp and $TMPDIR in which supervisors of this user keep their sockets."""


def own_installation() -> "tuple[str, ...]":
    """Whoever can write here decides what runs unconfined at the next start."""
    return sys.prefix, os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def survey(
    permissions: "Permissions",
    *,
    cwd: str,
    env: "Mapping[str, str]",
    codex_home: str,
    installation: "Sequence[str] | None" = None,
) -> Survey:
    """Look at everything that `plan` must know. Raises UserFacing for a path that cannot be used at all.

    `cwd` is the directory the permissions are about: the session's, not one that a model chose for a single command.
    `installation` is for those who plan for another program than this one.
    """
    disk = _Disk()
    here = _working_directory(disk, cwd)
    if permissions.mode in (DANGER_FULL_ACCESS, EXTERNAL_SANDBOX):
        return Survey(cwd=here.path)
    home = auth = None
    if codex_home:
        _check_path(codex_home, "CODEX_HOME")
        home = disk.resolve(codex_home)
        codex_home = home.path if home.kind == DIRECTORY else codex_home
        if permissions.network_access and home.kind == DIRECTORY:
            auth = disk.resolve("auth.json", at=home.path)
    tmpdir = env.get("TMPDIR", "")
    tmpdir = tmpdir if tmpdir.startswith("/") else ""
    grants = tuple(
        Grant(asked=path, origin=origin, access=access, place=here if path == cwd else disk.resolve(path))
        for path, origin, access in _asked(permissions, cwd=cwd, tmpdir=tmpdir, home=home)
    )
    found = Survey(cwd=here.path, grants=grants, codex_home=codex_home, home=home, auth=auth)
    roots = [grant.place.path for grant in grants if grant.access == "write" and grant.place.kind == DIRECTORY]
    if not roots:
        return found
    shared = tuple(disk.resolve(path).path for path in ("/tmp", tmpdir) if path)
    return found.replace(
        installation=tuple(
            disk.resolve(path) for path in (own_installation() if installation is None else installation)
        ),
        guards=tuple(guard for root in dict.fromkeys((*roots, here.path)) for guard in _guards(disk, root)),
        shared=shared,
        runtime_bases=tuple(base for base in _runtime_bases(shared) if disk.kind(base) == DIRECTORY),
    )


def _runtime_bases(shared: "Iterable[str]") -> "Iterator[str]":
    return (f"{folder.rstrip('/')}/pycodex-{os.geteuid()}" for folder in dict.fromkeys(shared))


def _working_directory(disk: "_Disk", cwd: str) -> Place:
    way_out = "choose another with -C/--cd"
    _check_path(cwd, "working directory")
    here = disk.resolve(cwd)
    if here.kind == DIRECTORY and os.access(here.path, os.R_OK | os.X_OK):
        return here
    if here.kind in (MISSING, ABSENT):
        raise UserFacing(f"working directory {cwd!r} does not exist; create it or {way_out}")
    if here.kind in (DIRECTORY, HIDDEN):
        raise UserFacing(f"working directory {cwd!r} cannot be read and entered by this user; {way_out}")
    raise UserFacing(f"working directory {cwd!r} is not a directory; {way_out}")


def _check_path(path: str, what: str) -> None:
    if not path.startswith("/"):
        raise UserFacing(f"{what} {path!r} is not an absolute path; write it from / on")
    if "\0" in path:
        raise UserFacing(f"{what} {path!r} contains a NUL character, which no path can; correct it")
    _check_text(path, what)


def _check_text(path: str, what: str) -> None:
    if path.isascii():
        return
    try:
        path.encode()
    except UnicodeEncodeError:
        raise UserFacing(f"{what} {path!r} is not valid UTF-8; rename it, or use another path") from None


def _asked(
    permissions: "Permissions", *, cwd: str, tmpdir: str, home: "Place | None"
) -> "Iterator[tuple[str, str, str]]":
    """Path, origin and access of everything that the permissions name."""
    if tmpdir:
        _check_path(tmpdir, "TMPDIR")
    if permissions.rules:
        yield from _asked_by_rules(permissions.rules, cwd, tmpdir)
        return
    yield from _asked_by_mode(permissions, cwd, tmpdir)
    if permissions.mode == WORKSPACE_WRITE and home is not None and home.kind == DIRECTORY:
        yield f"{home.path}/memories", MEMORIES, "write"


def _asked_by_mode(permissions: "Permissions", cwd: str, tmpdir: str) -> "Iterator[tuple[str, str, str]]":
    if permissions.mode == WORKSPACE_WRITE:
        for path in permissions.writable_roots:
            _check_path(path, "writable root")
            yield path, CONFIGURED, "write"
        yield cwd, CWD, "write"
        if not permissions.exclude_slash_tmp:
            yield "/tmp", SLASH_TMP, "write"
        if tmpdir and not permissions.exclude_tmpdir_env_var:
            yield tmpdir, TMPDIR, "write"
    if permissions.restricted_read:
        for path in permissions.readable_roots:
            _check_path(path, "readable root")
            yield path, READABLE, "read"
        yield cwd, READABLE, "read"
        if permissions.platform_defaults:
            yield from ((path, PLATFORM, "read") for path in PLATFORM_PATHS)


def _asked_by_rules(rules: "Iterable[FsRule]", cwd: str, tmpdir: str) -> "Iterator[tuple[str, str, str]]":
    places = {
        ROOT: ("/", CONFIGURED),
        CURRENT_WORKING_DIRECTORY: (cwd, CWD),
        PROJECT_ROOTS: (cwd, CWD),
        SLASH_TMP_PLACE: ("/tmp", SLASH_TMP),
    }
    if tmpdir:
        places[TMPDIR_PLACE] = (tmpdir, TMPDIR)
    for rule in rules:
        if rule.special == MINIMAL:
            yield from ((path, PLATFORM, rule.access) for path in PLATFORM_PATHS)
        elif not rule.special:
            _check_path(rule.path, "path of a file rule")
            yield rule.path, CONFIGURED, rule.access
        elif rule.special in places:
            path, origin = places[rule.special]
            if rule.subpath:
                path, origin = f"{path}/{rule.subpath}", CONFIGURED
                _check_path(path, "path of a file rule")
            yield path, origin, rule.access


def _guards(disk: "_Disk", root: str) -> "Iterator[Guard]":
    for name in GUARDED_NAMES:
        path = _join(root, name)
        place = disk.resolve(name, at=root)
        yield Guard(path=path, role=NAME, place=place)
        if name == ".git":
            if place.kind == FILE:
                yield from _gitdirs(disk, _pointed(place.path, after_colon=True), at=root)
            elif place.kind == DIRECTORY:
                yield from _git_directory(disk, place.path)
        elif name == ".codex" and place.kind == DIRECTORY:
            yield from _inner_links(disk, place.path, _CODEX_INNER)


def _git_directory(disk: "_Disk", path: str) -> "Iterator[Guard]":
    """What a git directory borrows from elsewhere: linked files, and the directory that worktrees have in common."""
    yield from _inner_links(disk, path, _GIT_INNER)
    if disk.kind(f"{path}/commondir") == FILE:
        for guard in _gitdirs(disk, _pointed(f"{path}/commondir", after_colon=False), at=path, follow=False):
            yield guard
            if guard.is_git:
                yield from _inner_links(disk, guard.place.path, _GIT_INNER)


def _gitdirs(disk: "_Disk", targets: "Iterable[str]", *, at: str, follow: bool = True) -> "Iterator[Guard]":
    for target in targets:
        place = disk.resolve(target, at=at)
        is_git = place.kind == DIRECTORY and disk.resolve("HEAD", at=place.path).kind != MISSING
        yield Guard(path=place.path, role=GITDIR, place=place, is_git=is_git)
        if is_git and follow:
            yield from _git_directory(disk, place.path)


def _inner_links(disk: "_Disk", directory: str, names: "Iterable[str]") -> "Iterator[Guard]":
    for name in names:
        path = _join(directory, name)
        if disk.kind(path) == _LINK:
            yield Guard(path=path, role=INNER, place=disk.resolve(name, at=directory))


def _pointed(path: str, *, after_colon: bool) -> "Iterator[str]":
    """The paths that a pointer file may mean: as git reads it, and with all surrounding space removed."""
    data = _small_file(path)
    if after_colon:
        data = data.partition(b":")[2].removeprefix(b" ")
    data = data.partition(b"\0")[0].rstrip(b"\r\n")
    for target in dict.fromkeys((data, data.strip())):
        if target:
            text = os.fsdecode(target)
            _check_text(text, f"what {path!r} points to,")
            yield text


def _small_file(path: str) -> bytes:
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


def _join(directory: str, name: str) -> str:
    return f"/{name}" if directory == "/" else f"{directory}/{name}"


class _Disk:
    """One look at the disk: what was seen once is not asked again, so that all facts of a survey agree."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._sealed: dict[str, bool] = {}

    def kind(self, path: str) -> str:
        kind = self._kinds.get(path)
        if kind is None:
            kind = self._kinds[path] = _kind_on_disk(path)
        return kind

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
            if kind != _LINK:
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
    return _LINK if S_ISLNK(mode) else OTHER


def _is_empty(path: str) -> bool:
    """Of a placeholder: it goes away with the call that made it. A command can give any directory its mode."""
    try:
        return not os.listdir(path)
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
    _check_text(target, f"the target of the symbolic link {link!r},")
    return target
