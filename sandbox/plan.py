"""Turns permissions and what a survey found into the `Confinement` that a backend enforces.

Owns every decision about paths: which are writable, which stay protected inside them, what must not be renamed so that
the protection holds, and when to refuse. Pure: the same permissions and survey give the same plan, and no file is
touched. Knows nothing of how a backend enforces it.

The order of force, weakest first: the base, granted paths (the deepest wins), protected names, our own installation,
CODEX_HOME, paths that are never read.
"""

from pycodex.protocol.confinement import LINK, NONE, PIN, READ, WRITE, Confinement, Entry, Limits, Unenforceable
from pycodex.protocol.permissions import DANGER_FULL_ACCESS, EXTERNAL_SANDBOX
from pycodex.sandbox.disk import ABSENT, BROKEN, DIRECTORY, HIDDEN, MISSING
from pycodex.sandbox.survey import (
    CONFIGURED,
    CWD,
    GITDIR,
    MEMORIES,
    NAME,
    PLATFORM,
    READABLE,
    SECRET_NAMES,
    TMPDIR,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pycodex.protocol.permissions import Permissions
    from pycodex.sandbox.disk import Place
    from pycodex.sandbox.survey import Grant, Guard, Survey

_STRENGTH = {READ: 0, WRITE: 1, NONE: 2}
_NOT_THERE = (MISSING, ABSENT, HIDDEN, BROKEN)
_NO_LIMITS = Limits()


def plan(
    permissions: "Permissions",
    survey: "Survey",
    *,
    runtime_dir: str = "",
    landlock_only: bool = False,
    limits: Limits = _NO_LIMITS,
    deny_read_defaults: bool = True,
) -> Confinement:
    """The confinement of one call. Raises Unenforceable, naming the path, where protection could be got round.

    `runtime_dir` must be canonical; it becomes `hidden`.
    """
    if permissions.mode == DANGER_FULL_ACCESS:
        return Confinement(base=WRITE, network=True, unconfined_because="danger-full-access", limits=limits)
    if permissions.mode == EXTERNAL_SANDBOX:
        because = "external sandbox" if permissions.network_access else ""
        return Confinement(base=WRITE, network=permissions.network_access, unconfined_because=because, limits=limits)
    draft = _Draft(NONE if permissions.rules or permissions.restricted_read else READ, survey)
    draft.grant()
    draft.protect_codex_home()
    draft.protect_installation()
    draft.protect_names()
    if deny_read_defaults and permissions.network_access:
        draft.deny_secrets()
    draft.hold_still(runtime_dir)
    return Confinement(
        base=draft.base,
        entries=draft.entries(),
        placeholders=tuple(sorted(draft.placeholders)),
        ledger=f"{survey.codex_home.rstrip('/')}/tmp/placeholders" if survey.codex_home else "",
        not_repositories=tuple(root for root in survey.plain if draft.is_workspace(root)),
        hidden=(*survey.runtime_bases, *((runtime_dir,) if runtime_dir else ())),
        network=permissions.network_access,
        landlock_only=landlock_only,
        limits=limits,
    )


def access_at(confinement: Confinement, path: str) -> str:
    """What is granted at one absolute, canonical path: `write`, `read` or `none`. The deepest entry wins.

    A `link` can be read, not changed; a `pin` grants what its parent grants; a placeholder can be read, what is hidden
    cannot.
    """
    return access_of(confinement)(path)


def access_of(confinement: Confinement) -> "Callable[[str], str]":
    """The same for many paths."""
    if confinement.unconfined_because:
        return lambda _: WRITE
    table = {entry.path: entry.access for entry in confinement.entries}
    table.update(dict.fromkeys(confinement.placeholders, READ))
    table.update(dict.fromkeys(confinement.hidden, NONE))
    return lambda path: _look_up(table, confinement.base, path)


def opened(
    confinement: Confinement, places: "Iterable[str]", *, directories: "Iterable[str]", guarded: "Iterable[str]" = ()
) -> Confinement:
    """The same, but these `places` can be written, because a person has said so about each of them.

    `directories` are where they lie, never the root. All are canonical, and directories are there. What is protected
    below one stays so, and so do `guarded` directories, unless they are one themselves; nothing stands in for a missing
    name on the way to one of the places.
    """
    if confinement.unconfined_because:
        return confinement
    wanted = tuple(places)
    table = {entry.path: entry.access for entry in confinement.entries}
    table.update((path, WRITE) for path in directories if path != "/")
    for path in guarded:
        if path not in table and _look_up(table, confinement.base, path) == WRITE:
            table[path] = READ
    table.update((path, WRITE) for path in wanted if path in table)
    return confinement.replace(
        entries=tuple(
            Entry(path=path, access=table[path]) for path in sorted(table, key=lambda path: (_depth(path), path))
        ),
        placeholders=tuple(
            name for name in confinement.placeholders if not any(_is_inside(place, name) for place in wanted)
        ),
    )


def _look_up(table: "dict[str, str]", base: str, path: str) -> str:
    while len(path) > 1:
        access = table.get(path)
        if access is not None and access != PIN:
            return READ if access == LINK else access
        path = _parent(path)
    return base


def _parent(path: str) -> str:
    return path[: path.rindex("/")] or "/"


def _depth(path: str) -> int:
    return path.count("/") if len(path) > 1 else 0


def _is_inside(path: str, top: str) -> bool:
    return top in (path, "/") or path.startswith(f"{top}/")


class _Draft:
    """The plan while it grows. `table` holds what is known so far; an access is always asked from it."""

    def __init__(self, base: str, survey: "Survey") -> None:
        self.base = base
        self.survey = survey
        self.table: dict[str, str] = {}
        self.placeholders: set[str] = set()
        self._roots: dict[str, bool] = {}
        """Writable roots, and whether missing names may be created in each."""
        self._ways: list[Place] = []
        """Paths whose links and detours must stay as they are."""

    def access(self, path: str) -> str:
        return _look_up(self.table, self.base, path)

    def put(self, path: str, access: str) -> None:
        if path == "/":
            self.base = access
        elif access == WRITE or self.access(path) != access:
            self.table[path] = access

    def deny(self, place: "Place") -> None:
        if place.kind not in _NOT_THERE:
            self.put(place.path, NONE)
            self._ways.append(place)

    def deny_secrets(self) -> None:
        """By their names, too: somebody may log in, or a token be renewed, while the command runs."""
        home = self.survey.home
        for name, place in zip(SECRET_NAMES, self.survey.secrets, strict=False):
            if home is not None and self.access(home.path) == READ:
                self.put(f"{home.path}/{name}", NONE)
            self.deny(place)

    def entries(self) -> "tuple[Entry, ...]":
        paths = sorted(self.table.keys() - self.placeholders, key=lambda path: (_depth(path), path))
        return tuple(Entry(path=path, access=self.table[path]) for path in paths)

    # Grants

    def grant(self) -> None:
        """Most specific path wins; of several for one path, `none` before `write` before `read`."""
        found = [grant for grant in self.survey.grants if _is_there(grant)]
        roots = [grant for grant in found if grant.access == WRITE]
        chosen: dict[str, str] = {}
        for grant in found:
            if grant.access != NONE and self._is_from_untrusted_link(grant, roots):
                continue
            path = grant.place.path
            self._ways.append(grant.place)
            if grant.access == WRITE:
                is_workspace = grant.origin in (CONFIGURED, CWD) and path not in self.survey.shared
                self._roots[path] = self._roots.get(path, False) or is_workspace
            known = chosen.get(path, READ)
            if grant.origin not in (READABLE, PLATFORM):
                chosen[path] = max(known, grant.access, key=_STRENGTH.__getitem__)
        for path in sorted(chosen, key=_depth):
            self.put(path, chosen[path])
        self._add_readable(found)
        if self.access(self.survey.cwd) == WRITE:
            self._roots.setdefault(self.survey.cwd, self.survey.cwd not in self.survey.shared)
        for grant in self.survey.grants:
            if grant.access != WRITE and grant.origin == CONFIGURED and not _is_there(grant):
                self._deny_absent(grant)

    def _add_readable(self, found: "list[Grant]") -> None:
        extra = {grant.place.path: grant.access for grant in found if grant.origin in (READABLE, PLATFORM)}
        for path in sorted(extra, key=_depth):
            if self.access(path) == NONE and path not in self.table:
                self.put(path, extra[path])

    def _is_from_untrusted_link(self, grant: "Grant", roots: "list[Grant]") -> bool:
        """Whether a command could have made the link that this grant goes through, and so chosen what it opens.

        The working directory, too: a command of another session may have put a link where it was a moment ago.
        """
        if not any(_link_in(grant, root) for root in roots):
            return False
        trusted = [root for root in roots if not any(_link_in(root, other) for other in roots)]
        covered = any(_is_inside(grant.place.path, root.place.path) for root in trusted)
        if covered or grant.origin == MEMORIES:
            return True
        what = {TMPDIR: "$TMPDIR", CWD: "the working directory"}.get(grant.origin, "the permitted path")
        raise Unenforceable(
            f"{what} {grant.asked!r} goes through the symbolic link {grant.place.links[0]!r} inside a writable root, "
            f"where a command could redirect it; name {grant.place.path!r} itself"
        )

    def _deny_absent(self, grant: "Grant") -> None:
        place = grant.place
        if place.kind == ABSENT or self.access(place.path) != WRITE:
            return
        if place.kind != MISSING:
            raise Unenforceable(f"cannot deny access to {grant.asked!r}: {place.path!r} does not lead there")
        if "*" in grant.asked:
            raise Unenforceable(f"cannot deny access to {grant.asked!r}: patterns are not supported, name each path")
        self._hold_place(place.path)
        self._ways.append(place)

    def is_workspace(self, root: str) -> bool:
        """Writable, and not a directory that others use at the same time."""
        return self._roots.get(root, False) and self.access(root) == WRITE

    # Protected names

    def protect_codex_home(self) -> None:
        """Never writable, even as a root itself: it holds credentials and what later sessions execute."""
        home = self.survey.home
        if home is None or self.access(home.path) != WRITE:
            return
        self._refuse_if_hidden(home, "CODEX_HOME")
        self._roots.pop(home.path, None)
        if home.kind == MISSING:
            self._hold_place(home.path)
        elif home.kind not in _NOT_THERE:
            self.put(home.path, READ)
        self._ways.append(home)

    def protect_installation(self) -> None:
        """Our own code, unless it is the very workspace: then its owner is working on it."""
        for place in self.survey.installation:
            self._refuse_if_hidden(place, "our own installation")
            if place.kind == DIRECTORY and place.path not in self._roots and self.access(place.path) == WRITE:
                self.put(place.path, READ)
                self._ways.append(place)

    def _refuse_if_hidden(self, place: "Place", what: str) -> None:
        """A command may have closed a directory on the way, so that we look past what lies below it."""
        if place.kind == HIDDEN and self.access(place.path) == WRITE:
            raise Unenforceable(f"cannot protect {what}: {place.path!r} cannot be looked into; restore its mode")

    def protect_names(self) -> None:
        for guard in sorted(self.survey.guards, key=lambda guard: _depth(guard.place.path)):
            if guard.role == NAME:
                self._refuse_if_hopeless(guard)
            else:
                self._refuse_if_hidden(guard.place, repr(guard.path))
            self._protect(guard)
            self._ways.append(guard.place)

    def _refuse_if_hopeless(self, guard: "Guard") -> None:
        place = guard.place
        if self.access(guard.path) != WRITE or guard.path in self._roots:
            return
        if place.kind in (BROKEN, HIDDEN):
            problem = "cannot be followed"
        elif place.links and place.path in self._roots:
            problem = f"leads to {place.path!r}, a writable root"
        elif place.links and place.kind == MISSING and not self._may_create(place.path):
            problem = f"leads to {place.path!r}, which does not exist and could be created"
        else:
            return
        raise Unenforceable(f"cannot protect {guard.path!r}: it {problem}; remove or replace it")

    def _protect(self, guard: "Guard") -> None:
        path, kind = guard.place.path, guard.place.kind
        if path in self._roots or self.access(path) != WRITE or kind in (ABSENT, BROKEN, HIDDEN):
            return
        if kind == DIRECTORY and guard.role == GITDIR and not guard.is_git:
            # Whoever wrote the pointer chose this directory: it stays writable, but cannot become a repository.
            path, kind = f"{path}/HEAD", MISSING
        if kind != MISSING:
            self.put(path, READ)
        elif self._may_create(path):
            self._hold_place(path)

    def _may_create(self, path: str) -> bool:
        """In workspace roots only, or where nothing can be created anyway."""
        if self.access(path) != WRITE:
            return True
        while path not in self._roots and path != "/":
            path = _parent(path)
        return self._roots.get(path, False)

    def _hold_place(self, path: str) -> None:
        self.table[path] = READ
        self.placeholders.add(path)

    # Names that must stay

    def hold_still(self, runtime_dir: str) -> None:
        """Fix links and directories on the way to anything above, as renaming one would lead round the protection."""
        for place in self._ways:
            for link in place.links:
                if self.access(link) == WRITE or self._is_missed(link, place):
                    self.table[link] = LINK
            for directory in place.through:
                if self.access(directory) == WRITE:
                    self.table.setdefault(directory, PIN)
        for path in list(self.table):
            self._pin_above(path)
        if runtime_dir:
            self._pin_above(runtime_dir)

    def _is_missed(self, link: str, place: "Place") -> bool:
        """Where reads are restricted, a link to something granted must be there to be followed.

        Those of the top directory are left out: backends keep them in any case.
        """
        return _depth(link) > 1 and self.access(link) == NONE and self.access(place.path) != NONE

    def _pin_above(self, path: str) -> None:
        path = _parent(path)
        if self.access(path) != WRITE:
            return
        while path != "/" and path not in self.table:
            self.table[path] = PIN
            path = _parent(path)


def _is_there(grant: "Grant") -> bool:
    if grant.origin in (CONFIGURED, READABLE, PLATFORM):
        return grant.place.kind not in _NOT_THERE
    return grant.place.kind == DIRECTORY


def _link_in(grant: "Grant", root: "Grant") -> bool:
    """Whether `grant` crosses a link that lies in another writable root."""
    top = root.place.path
    return top != grant.place.path and any(_is_inside(_parent(link), top) for link in grant.place.links)
