"""`pycodex sandbox --explain`: the plan of one command as text.

Owns the wording. Takes the confinement that would be enforced and what this host can enforce; runs nothing.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pycodex.protocol.confinement import FULL, LANDLOCK, LINK, NONE, PIN, READ, WRITE, Confinement, Enforced
from pycodex.sandbox.backend import host_backend, host_report
from pycodex.supervisor.cli.terminal import Palette, prefers_colour

_LEVELS = {
    FULL: "namespaces, mounts, Landlock and seccomp",
    LANDLOCK: "Landlock and seccomp, without namespaces",
}
_LABEL_WIDTH = 14

# A label and its values.
Row = tuple[str, list[str]]


def explained(confinement: Confinement, *, cwd: str, env: Mapping[str, str]) -> str:
    palette = Palette(colour=prefers_colour(env))
    return "\n".join(laid_out([("directory", [cwd]), *plan_rows(confinement)], palette))


def plan_rows(confinement: Confinement) -> Iterator[Row]:
    """What may be touched, what this host does about it, and why it would be refused, if it would."""
    host = host_report()
    yield from _rows(confinement)
    yield from _host_rows(host)
    objection = host_backend().objection(confinement, host)
    if objection:
        yield "refused", [objection]


def laid_out(rows: Iterable[Row], palette: Palette) -> Iterator[str]:
    """Labels on the left, one value a line beside them."""
    for label, values in rows:
        for at, value in enumerate(values or ["none"]):
            yield f"{palette.strong((label if at == 0 else '').ljust(_LABEL_WIDTH))}  {value}"


def plan_as_plain(confinement: Confinement) -> dict[str, Any]:
    """The same for machines."""
    host = host_report()
    paths = _by_access(confinement)
    return {
        "unconfinedBecause": confinement.unconfined_because or None,
        "base": confinement.base,
        "readable": paths[READ] if confinement.base != READ else [],
        "writable": paths[WRITE],
        "protected": paths[READ] if confinement.base == READ else [],
        "placeholders": list(confinement.placeholders),
        "denied": paths[NONE],
        "network": confinement.network,
        "level": host.level,
        "refused": host_backend().objection(confinement, host) or None,
    }


def _by_access(confinement: Confinement) -> dict[str, list[str]]:
    by_access: dict[str, list[str]] = {WRITE: [], READ: [], NONE: []}
    for entry in confinement.entries:
        if entry.access != PIN:
            by_access[READ if entry.access == LINK else entry.access].append(entry.path)
    return by_access


def _rows(confinement: Confinement) -> Iterator[Row]:
    if confinement.unconfined_because:
        yield "sandbox", [f"off ({confinement.unconfined_because}): every file and the network are open"]
        return
    by_access = _by_access(confinement)
    yield "readable", [_base(confinement), *([] if confinement.base == READ else by_access[READ])]
    yield "writable", ["everything"] if confinement.base == WRITE else by_access[WRITE]
    if confinement.base == READ:
        yield "protected", [f"{path} (read-only)" for path in by_access[READ]]
    yield "placeholders", [f"{path} (missing; kept from being created)" for path in confinement.placeholders]
    yield "denied", [f"{path} (not even readable)" for path in by_access[NONE]]
    if confinement.hidden:
        yield "hidden", [f"{path} (pycodex's own sockets)" for path in confinement.hidden]
    yield "network", ["on" if confinement.network else "off"]
    yield "limits", [f"{name} = {value}" for name, value in confinement.limits.to_plain().items() if value is not None]


def _base(confinement: Confinement) -> str:
    return "only these" if confinement.base == NONE else "the whole disk"


def _host_rows(host: Enforced) -> Iterator[Row]:
    yield "this host", [f"level {host.level}: {_LEVELS.get(host.level, 'commands are refused')}"]
    yield "", [f"Landlock ABI {host.landlock_abi} ({host.fs})", f"protected paths by {host.carveouts}"]
    if host.degraded:
        yield "degraded", list(host.degraded)
