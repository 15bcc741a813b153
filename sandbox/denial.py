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

_REFUSED = re.compile(r"read-only file system|permission denied|operation not permitted", re.IGNORECASE)
_QUOTED_AFTER = re.compile(r"""[^'"]*['"]([^'"]*)['"]""")
_NOT_IN_A_BARE_NAME = "'\"`:"
_MOST_LINES = 1000
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
    for line in text.splitlines()[:_MOST_LINES]:
        refusals = list(_REFUSED.finditer(line))
        if refusals:
            name = _named_after(line, refusals) or _named_before(line, refusals)
            if name:
                yield name


def _named_after(line: str, refusals: list[re.Match[str]]) -> str:
    """`Permission denied: '/etc/x'`. Looks at each part of the line once, as lines can be of any length."""
    looked_at = 0
    for refusal in refusals:
        if refusal.end() < looked_at:
            continue
        quoted = _QUOTED_AFTER.match(line, refusal.end())
        if quoted is None:
            break
        if quoted[1]:
            return quoted[1]
        looked_at = quoted.end()
    return ""


def _named_before(line: str, refusals: list[re.Match[str]]) -> str:
    """`cannot touch '/etc/x': Read-only file system`, or the same without quotes. Only the first name counts."""
    for refusal in refusals:
        start = _start_of_run(line, refusal.start(), str.isspace)
        if line[start - 1 : start] != ":":
            continue
        end = start - 2 if line[start - 2 : start - 1] == " " else start - 1
        quoted = _quoted_before(line, end)
        if quoted:
            return quoted
        bare = line[_start_of_run(line, end, _is_in_a_bare_name) : end]
        if bare:
            # `ping: socket: Operation not permitted` names no file; only a file system can be read-only.
            is_a_file = "/" in bare or refusal[0].lower().startswith("read-only")
            return bare if is_a_file else ""
    return ""


def _quoted_before(line: str, end: int) -> str:
    """What stands in quotes that close at `end`."""
    if line[end - 1 : end] not in ("'", '"', "`", "\u2019"):
        return ""
    start = _start_of_run(line, end - 1, lambda each: each not in "'\"`\u2019")
    if line[start - 1 : start] in ("'", '"', "`"):
        return line[start : end - 1]
    opening = line.find("\u2018", start, end)
    return line[opening + 1 : end - 1] if opening >= 0 else ""


def _is_in_a_bare_name(each: str) -> bool:
    return each not in _NOT_IN_A_BARE_NAME and not each.isspace()


def _start_of_run(line: str, end: int, belongs: Callable[[str], bool]) -> int:
    """Where the characters that belong together and end at `end` begin."""
    while end > 0 and belongs(line[end - 1]):
        end -= 1
    return end


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
