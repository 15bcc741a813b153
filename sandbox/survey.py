"""Looks at the disk before a call: where the permitted paths really lead, and what must be protected in them.

Owns the choice of what planning needs to know, and gives facts only: `plan` decides. Everything below a writable root
was possibly put there by an attacker, so all looking and reading is left to `disk`. Must stay cheap: it runs before
each call. Knows nothing of mounts or Landlock.
"""

import os
import sys

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
from pycodex.sandbox.disk import (
    ABSENT,
    DIRECTORY,
    FILE,
    HIDDEN,
    LINK,
    MISSING,
    Disk,
    Place,
    check_text,
    join,
    small_file,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pycodex.protocol.permissions import FsRule, Permissions

SECRET_NAMES = ("auth.json", ".credentials.json", "app-server-token")
"""In CODEX_HOME: the login, those of MCP servers, and what lets clients drive the app-server."""
GUARDED_NAMES = (".git", ".codex", ".agents")
PLATFORM_PATHS = ("/bin", "/sbin", "/usr", "/etc", "/lib", "/lib64", "/nix/store", "/run/current-system/sw")
MAX_NAMES = 256

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
_GIT_CONFIGS = ("config", "config.worktree")
# Without one of these words a configuration borrows nothing, and need not be understood.
_BORROWING = (b"include", b"hookspath")


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
    plain: "tuple[str, ...]" = ()
    """Roots that git takes for no repository."""
    shared: "tuple[str, ...]" = ()
    """/tmp and $TMPDIR: directories that other programs use at the same time."""
    codex_home: "str" = ""
    """Resolved if it exists, else as it was given; `home` says where the way leads."""
    home: "Place | None" = None
    secrets: "tuple[Place, ...]" = ()
    """Where `SECRET_NAMES` lead, when they are worth hiding."""
    installation: "tuple[Place, ...]" = ()
    """Where our own code and interpreter are loaded from."""
    runtime_bases: "tuple[str, ...]" = ()
    """Directories in /tmp and $TMPDIR in which supervisors of this user keep their sockets."""


# Found once: where we were loaded from does not change while we run. What is there now is looked at each time.
_OWN_INSTALLATION = sys.prefix, os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def own_installation() -> "tuple[str, ...]":
    """Whoever can write here decides what runs unconfined at the next start."""
    return _OWN_INSTALLATION


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
    disk = Disk()
    here = _working_directory(disk, cwd)
    if permissions.mode in (DANGER_FULL_ACCESS, EXTERNAL_SANDBOX):
        return Survey(cwd=here.path)
    home = None
    secrets: tuple[Place, ...] = ()
    if codex_home:
        _check_path(codex_home, "CODEX_HOME")
        home = disk.resolve(codex_home)
        codex_home = home.path if home.kind == DIRECTORY else codex_home
        if permissions.network_access and home.kind == DIRECTORY:
            secrets = tuple(disk.resolve(name, at=home.path) for name in SECRET_NAMES)
    tmpdir = env.get("TMPDIR", "")
    tmpdir = tmpdir if tmpdir.startswith("/") else ""
    grants = tuple(
        Grant(asked=path, origin=origin, access=access, place=here if path == cwd else disk.resolve(path))
        for path, origin, access in _asked(permissions, cwd=cwd, tmpdir=tmpdir, home=home)
    )
    found = Survey(cwd=here.path, grants=grants, codex_home=codex_home, home=home, secrets=secrets)
    roots = [grant.place.path for grant in grants if grant.access == "write" and grant.place.kind == DIRECTORY]
    if not roots:
        return found
    shared = tuple(disk.resolve(path).path for path in ("/tmp", tmpdir) if path)
    guarded = tuple(dict.fromkeys((*roots, here.path)))
    return found.replace(
        installation=tuple(
            disk.resolve(path) for path in (own_installation() if installation is None else installation)
        ),
        guards=tuple(guard for root in guarded for guard in _guards(disk, root)),
        plain=tuple(root for root in guarded if not _is_repository(disk, root)),
        shared=shared,
        runtime_bases=tuple(base for base in _runtime_bases(shared) if disk.kind(base) == DIRECTORY),
    )


def _runtime_bases(shared: "Iterable[str]") -> "Iterator[str]":
    return (f"{folder.rstrip('/')}/pycodex-{os.geteuid()}" for folder in dict.fromkeys(shared))


def _working_directory(disk: "Disk", cwd: str) -> Place:
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
    check_text(path, what)


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


def _is_repository(disk: "Disk", root: str) -> bool:
    """Whether git looks no further: what is called `.git` is one, or at least a file, or the directory itself is."""
    git = disk.resolve(".git", at=root)
    if git.kind == DIRECTORY:
        return disk.kind(f"{git.path}/HEAD") != MISSING or _is_bare(disk, root)
    return git.kind != MISSING or _is_bare(disk, root)


def _is_bare(disk: "Disk", root: str) -> bool:
    if disk.kind(join(root, "HEAD")) == MISSING:
        return False
    return disk.kind(join(root, "commondir")) != MISSING or all(
        disk.resolve(name, at=root).kind == DIRECTORY for name in ("objects", "refs")
    )


def _guards(disk: "Disk", root: str) -> "Iterator[Guard]":
    if _is_bare(disk, root):
        inner = [Guard(path=join(root, name), role=INNER, place=disk.resolve(name, at=root)) for name in _GIT_INNER]
        yield from (guard for guard in inner if guard.place.kind != MISSING or guard.path.endswith("/hooks"))
        yield from _own_and_borrowed(disk, root, root)
    for name in GUARDED_NAMES:
        path = join(root, name)
        place = disk.resolve(name, at=root)
        yield Guard(path=path, role=NAME, place=place)
        if name == ".git":
            if place.kind == FILE:
                yield from _gitdirs(disk, _pointed(place.path, after_colon=True), at=root)
            elif place.kind == DIRECTORY:
                yield from _git_directory(disk, place.path, root)
        elif place.kind == DIRECTORY:
            folders = (".", "rules") if name == ".codex" else (".",)
            yield from _inner_links(disk, place.path, _CODEX_INNER if name == ".codex" else ())
            # What a dangling link leads to is held where git would run it; here that would cost more than it is worth.
            linked_here = (guard for folder in folders for guard in linked(disk, folder, at=place.path))
            yield from (guard for guard in linked_here if guard.place.kind != MISSING)


def _git_directory(disk: "Disk", path: str, root: str) -> "Iterator[Guard]":
    """What a git directory borrows from elsewhere: linked files, and the directory that worktrees have in common."""
    yield from _own_and_borrowed(disk, path, root)
    if disk.kind(f"{path}/commondir") == FILE:
        for guard in _gitdirs(disk, _pointed(f"{path}/commondir", after_colon=False), at=path, follow=False):
            yield guard
            if guard.is_git:
                yield from _own_and_borrowed(disk, guard.place.path, root)


def _own_and_borrowed(disk: "Disk", path: str, root: str) -> "Iterator[Guard]":
    yield from _inner_links(disk, path, _GIT_INNER)
    yield from linked(disk, "hooks", at=path)
    configs = [disk.resolve(name, at=path).path for name in _GIT_CONFIGS if disk.kind(f"{path}/{name}") != MISSING]
    texts = [small_file(config).lower() for config in configs]
    if any(word in text for text in texts for word in _BORROWING):
        from pycodex.sandbox.git_config import borrowed

        yield from borrowed(disk, configs, root)


def linked(disk: "Disk", directory: str, *, at: str = "/") -> "Iterator[Guard]":
    """Links in a protected directory: what they lead to counts as in it."""
    place = disk.resolve(directory, at=at)
    for name in disk.links_in(place.path, most=MAX_NAMES) if place.kind == DIRECTORY else ():
        yield Guard(path=join(place.path, name), role=INNER, place=disk.resolve(name, at=place.path))


def _gitdirs(disk: "Disk", targets: "Iterable[str]", *, at: str, follow: bool = True) -> "Iterator[Guard]":
    for target in targets:
        place = disk.resolve(target, at=at)
        is_git = place.kind == DIRECTORY and disk.resolve("HEAD", at=place.path).kind != MISSING
        yield Guard(path=place.path, role=GITDIR, place=place, is_git=is_git)
        if is_git and follow:
            yield from _git_directory(disk, place.path, at)


def _inner_links(disk: "Disk", directory: str, names: "Iterable[str]") -> "Iterator[Guard]":
    for name in names:
        path = join(directory, name)
        if disk.kind(path) == LINK:
            yield Guard(path=path, role=INNER, place=disk.resolve(name, at=directory))


def _pointed(path: str, *, after_colon: bool) -> "Iterator[str]":
    """The paths that a pointer file may mean: as git reads it, and with all surrounding space removed."""
    data = small_file(path)
    if after_colon:
        data = data.partition(b":")[2].removeprefix(b" ")
    data = data.partition(b"\0")[0].rstrip(b"\r\n")
    for target in dict.fromkeys((data, data.strip())):
        if target:
            text = os.fsdecode(target)
            check_text(text, f"what {path!r} points to,")
            yield text
