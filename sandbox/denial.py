"""Was this failure the sandbox, and what would have allowed it?

Owns two kinds of evidence: what a command printed, and, where its output went straight to a terminal, what it was
asked to do. Pure: values in, a Denial or None out; nobody is told anything without evidence.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence

from pycodex.protocol.confinement import NONE, PIN, READ, WRITE, Confinement, Entry
from pycodex.protocol.record import Record
from pycodex.sandbox import intent
from pycodex.sandbox.plan import access_at

NETWORK = "network"
SYSCALL = "syscall"

_SIGSYS = 31
_KEYWORDS = (
    "operation not permitted",
    "permission denied",
    "read-only file system",
    "seccomp",
    "sandbox",
    "landlock",
    "failed to write file",
)
_NOT_THE_SANDBOX = (2, 126, 127)

_REFUSED = r"(?:read-only file system|permission denied|operation not permitted)"
_NAMED_BEFORE = re.compile(
    rf"""(?:['"`\u2018](?P<quoted>[^'"`\u2019\n]+)['"`\u2019]|(?P<bare>[^\s'"`:]+)) ?:\s*(?P<why>{_REFUSED})""",
    re.IGNORECASE,
)
_NAMED_AFTER = re.compile(rf"""{_REFUSED}[^\n'"]*['"](?P<quoted>[^'"\n]+)['"]""", re.IGNORECASE)
_NO_NETWORK = re.compile(
    r"could not resolve host|name or service not known|temporary failure in name resolution|network is unreachable"
    r"|getaddrinfo (?:eai_again|enotfound)|failed to establish a new connection|could not resolve hostname",
    re.IGNORECASE,
)


class Denial(Record):
    """One thing the sandbox does not allow. `path` is empty where none is concerned."""

    path: "str"
    access: "str"
    """`write`, `read`, `network` or `syscall`."""
    rule: "str"
    remedy: "str"


def likely_denied(exit_code: int | None, signal: int | None, text: str) -> bool:
    """Whether a command that ended so, having printed `text`, was probably stopped by the sandbox."""
    if exit_code == 0:
        return False
    lowered = text.lower()
    if any(keyword in lowered for keyword in _KEYWORDS):
        return True
    if exit_code in _NOT_THE_SANDBOX:
        return False
    return signal == _SIGSYS or exit_code == 128 + _SIGSYS


def explain(argv: Sequence[str], cwd: str, confinement: Confinement, text: str) -> Denial | None:
    """The denial that a failed command's own output tells of, else the one its arguments suggest."""
    if confinement.unconfined_because:
        return None
    for name in _names_refused(text):
        denial = _of_path(confinement, _absolute(name, cwd), cwd)
        if denial is not None:
            return denial
    if not confinement.network and _NO_NETWORK.search(text):
        return _of_network(confinement)
    if any(keyword in text.lower() for keyword in _KEYWORDS):
        return guess(confinement, argv=argv, cwd=cwd, exit_code=1)
    return None


def guess(
    confinement: Confinement,
    *,
    argv: Sequence[str],
    cwd: str,
    exit_code: int,
    resolve: Callable[[str], str] = os.path.normpath,
) -> Denial | None:
    """The denial that a failed command's arguments suggest. `resolve` makes an absolute path canonical."""
    if confinement.unconfined_because or exit_code in (0, 126, 127):
        return None
    if exit_code == 128 + _SIGSYS:
        return _of_syscall()
    for wish in intent.wishes(argv, cwd):
        if wish.access == NETWORK:
            if not confinement.network:
                return _of_network(confinement)
            continue
        path = _enclosing_repository(confinement, resolve(wish.path))
        denial = _of_path(confinement, path, cwd, wanted=wish.access)
        if denial is not None:
            return denial
    return None


def _enclosing_repository(confinement: Confinement, path: str) -> str:
    """Git looks for its directory upwards: the protected one that it will find, if `path` is a missing one."""
    if os.path.basename(path) != ".git":
        return path
    protected = [entry.path for entry in confinement.entries if entry.access == READ] + list(confinement.placeholders)
    above = [each for each in protected if each.endswith("/.git") and _covers(os.path.dirname(each), path)]
    return max(above, key=len, default=path)


def _names_refused(text: str) -> Iterator[str]:
    for line in text.splitlines()[:1000]:
        after = _NAMED_AFTER.search(line[:4096])
        before = _NAMED_BEFORE.search(line[:4096])
        if after:
            yield after["quoted"]
        elif before and before["quoted"]:
            yield before["quoted"]
        # `ping: socket: Operation not permitted` names no file; only a file system can be read-only.
        elif before and ("/" in before["bare"] or before["why"].lower().startswith("read-only")):
            yield before["bare"]


def _absolute(name: str, cwd: str) -> str:
    return os.path.normpath(os.path.join(cwd, name))


# The plan, asked


def _covers(above: str, path: str) -> bool:
    return above in (path, "/") or path.startswith(above + "/")


def _governing(confinement: Confinement, path: str) -> Entry | None:
    """The deepest entry over a path that grants or refuses something there."""
    entries = [entry for entry in confinement.entries if entry.access != PIN]
    entries += [Entry(path=placeholder, access=READ) for placeholder in confinement.placeholders]
    entries += [Entry(path=hidden, access=NONE) for hidden in confinement.hidden]
    over = [entry for entry in entries if _covers(entry.path, path)]
    return max(over, key=lambda entry: len(entry.path), default=None)


def _writable(confinement: Confinement) -> list[str]:
    return [entry.path for entry in confinement.entries if entry.access == WRITE]


def _held(confinement: Confinement, path: str) -> bool:
    return any(entry.path == path and entry.access == PIN for entry in confinement.entries)


def _of_path(confinement: Confinement, path: str, cwd: str, wanted: str = "") -> Denial | None:
    if not path.startswith("/") or _covers("/dev", path) or _covers("/proc", path):
        return None
    entry = _governing(confinement, path)
    access = access_at(confinement, path)
    if access == NONE:
        return _unreadable(path, entry)
    if wanted == READ:
        return None
    if access == WRITE:
        return _pinned(path) if wanted == WRITE and _held(confinement, path) else None
    root = next((each for each in _writable(confinement) if _covers(each, path)), None)
    if entry is not None and root is not None:
        return _protected(path, entry, root)
    return _outside(confinement, path, cwd)


def _unreadable(path: str, entry: Entry | None) -> Denial:
    if entry is not None:
        why = "" if entry.path == path else f" (below {entry.path}, which is denied)"
        return Denial(
            path=path,
            access="read",
            rule=f"the sandbox does not allow reading {path}{why}",
            remedy="to allow it, drop the rule from the profile; a default one: -c sandbox.deny_read_defaults=false",
        )
    return Denial(
        path=path,
        access="read",
        rule=f"the sandbox does not allow reading {path}: only paths the profile names can be read",
        remedy=f'to allow it, add {json.dumps(path)} = "read" to the profile\'s filesystem table',
    )


def _pinned(path: str) -> Denial:
    return Denial(
        path=path,
        access=WRITE,
        rule=f"the sandbox does not allow renaming or removing {path}: a protected path depends on it",
        remedy="to do it, run the command outside the sandbox",
    )


def _protected(path: str, entry: Entry, root: str) -> Denial:
    what = "it" if entry.path == path else entry.path
    return Denial(
        path=path,
        access=WRITE,
        rule=f"the sandbox does not allow writing to {path}: {what} is protected, although {root} is writable",
        remedy="to do it, run the command outside the sandbox; protected paths stay read-only inside",
    )


def _outside(confinement: Confinement, path: str, cwd: str) -> Denial:
    writable = _writable(confinement)
    if writable:
        rule = f"the sandbox does not allow writing to {path}: only {_listed(writable)} can be written"
        where = json.dumps(os.path.dirname(path), ensure_ascii=False)
        remedy = f"to allow it, add -c 'sandbox_workspace_write.writable_roots=[{where}]'"
    else:
        rule = f"the sandbox does not allow writing to {path}: it is read-only"
        remedy = f"to allow writing in {cwd}, add --full-auto"
        if not _covers(cwd, path) and not _covers("/tmp", path):
            where = json.dumps(os.path.dirname(path), ensure_ascii=False)
            remedy = f"to allow it, add --full-auto -c 'sandbox_workspace_write.writable_roots=[{where}]'"
    return Denial(path=path, access=WRITE, rule=rule, remedy=remedy)


def _listed(paths: Sequence[str]) -> str:
    if len(paths) == 1:
        return paths[0]
    shown = [*paths[:4], f"{len(paths) - 4} more"] if len(paths) > 5 else list(paths)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def _of_network(confinement: Confinement) -> Denial:
    mode = "" if _writable(confinement) else "--full-auto "
    return Denial(
        path="",
        access=NETWORK,
        rule="the sandbox does not allow network access",
        remedy=f"to allow it, add {mode}-c sandbox_workspace_write.network_access=true",
    )


def _of_syscall() -> Denial:
    return Denial(
        path="",
        access=SYSCALL,
        rule="the sandbox ended the command (SIGSYS): it used the system calls of another architecture",
        remedy="to run it, use a build for this machine's own architecture, or run it outside the sandbox",
    )
