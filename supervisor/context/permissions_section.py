"""Tells the model what its commands may do and who can be asked.

Owns the choice and order of the texts, and the lists in them: writable roots, limits on reading, prefixes that are
allowed already. The sentences lie in `prompts`. Takes permissions and an approval policy, gives one text; looks at no
file, and says only what the sandbox enforces.
"""

import json
import os
from collections.abc import Iterable, Iterator, Sequence

from pycodex.protocol.permissions import (
    CURRENT_WORKING_DIRECTORY,
    DANGER_FULL_ACCESS,
    EXTERNAL_SANDBOX,
    MINIMAL,
    PROJECT_ROOTS,
    ROOT,
    SLASH_TMP,
    TMPDIR,
    WORKSPACE_WRITE,
    FsRule,
    Permissions,
)
from pycodex.protocol.turn_context import ApprovalPolicy
from pycodex.supervisor.prompts import load

MAX_PREFIXES = 100
MAX_PREFIX_CHARACTERS = 5000

ON_REQUEST = "on-request"
GRANULAR = "granular"
GRANULAR_KINDS = ("sandbox_approval", "rules", "skill_approval", "request_permissions", "mcp_elicitations")


def permissions_section(
    permissions: Permissions,
    approval_policy: ApprovalPolicy,
    *,
    cwd: str,
    tmpdir: str | None,
    allowed_prefixes: Sequence[Sequence[str]] = (),
) -> str:
    """What stands between the tags of the permissions block."""
    pieces = [
        load.filled(f"sandbox-{_shown_mode(permissions)}", network=_network(permissions)),
        *_limits_on_reading(permissions, cwd, tmpdir),
        *_approval(approval_policy, allowed_prefixes),
        *_roots(writable_roots(permissions, cwd, tmpdir)),
    ]
    return "\n".join(pieces)


def writable_roots(permissions: Permissions, cwd: str, tmpdir: str | None) -> list[str]:
    """In the order in which they are told: configured ones, working directory, /tmp, $TMPDIR; each once."""
    if permissions.mode != WORKSPACE_WRITE:
        return []
    if permissions.rules:
        paths = _paths(permissions.rules, "write", cwd=cwd, tmpdir=tmpdir)
    else:
        paths = _mode_roots(permissions, cwd, tmpdir)
    return list(dict.fromkeys(os.path.normpath(path) for path in paths))


def _mode_roots(permissions: Permissions, cwd: str, tmpdir: str | None) -> Iterator[str]:
    yield from permissions.writable_roots
    yield cwd
    if not permissions.exclude_slash_tmp:
        yield "/tmp"
    # A relative one is not granted: it would mean another directory to each command.
    if not permissions.exclude_tmpdir_env_var and tmpdir and tmpdir.startswith("/"):
        yield tmpdir


def _paths(rules: Iterable[FsRule], access: str, *, cwd: str, tmpdir: str | None) -> Iterator[str]:
    places = {ROOT: "/", CURRENT_WORKING_DIRECTORY: cwd, PROJECT_ROOTS: cwd, SLASH_TMP: "/tmp"}
    if tmpdir and tmpdir.startswith("/"):
        places[TMPDIR] = tmpdir
    for rule in rules:
        place = places.get(rule.special) if rule.special else rule.path
        if rule.access == access and place:
            yield os.path.join(place, rule.subpath) if rule.subpath else place


def _shown_mode(permissions: Permissions) -> str:
    return DANGER_FULL_ACCESS if permissions.mode == EXTERNAL_SANDBOX else permissions.mode


def _network(permissions: Permissions) -> str:
    return load.text("network-enabled" if permissions.network_access else "network-restricted")


def _limits_on_reading(permissions: Permissions, cwd: str, tmpdir: str | None) -> Iterator[str]:
    rules = permissions.rules
    readable = list(_paths(rules, "read", cwd=cwd, tmpdir=tmpdir)) if rules else [*permissions.readable_roots, cwd]
    if (permissions.restricted_read or rules) and "/" not in readable:
        named = [_quoted(path) for path in readable]
        if permissions.platform_defaults or any(rule.special == MINIMAL for rule in rules):
            named.append(load.text("platform-directories"))
        if named:
            yield load.filled("reads-restricted", paths=", ".join(named))
    denied = list(_paths(rules, "none", cwd=cwd, tmpdir=tmpdir))
    if denied:
        yield load.filled("reads-denied", paths=", ".join(map(_quoted, denied)))


def _approval(policy: ApprovalPolicy, allowed_prefixes: Sequence[Sequence[str]]) -> Iterator[str]:
    if isinstance(policy, dict):
        yield from _granular(policy)
    else:
        yield load.text(f"approval-{policy}")
    if allowed_prefixes and (isinstance(policy, dict) or policy == ON_REQUEST):
        yield "\n" + load.filled("allowed-prefixes", prefixes=_prefix_lines(allowed_prefixes))


def approval_terms(policy: object) -> object:
    """Equal for policies that mean the same, however they are written."""
    return frozenset(_granted(policy)) if isinstance(policy, dict) else policy


def _granted(policy: dict[str, object]) -> list[str]:
    flags = policy.get(GRANULAR)
    return [kind for kind in GRANULAR_KINDS if isinstance(flags, dict) and flags.get(kind) is True]


def _granular(policy: dict[str, object]) -> Iterator[str]:
    granted = _granted(policy)
    yield load.text("approval-granular")
    for name, kinds in (
        ("granular-asked", granted),
        ("granular-rejected", [kind for kind in GRANULAR_KINDS if kind not in granted]),
    ):
        if kinds:
            yield load.filled(name, kinds="\n".join(f"- `{kind}`" for kind in kinds))


def _prefix_lines(prefixes: Sequence[Sequence[str]]) -> str:
    """Short ones first; a list that is cut says so."""
    ordered = sorted(
        {tuple(prefix) for prefix in prefixes}, key=lambda words: (len(words), sum(map(len, words)), words)
    )
    lines = [f"- {json.dumps(words, ensure_ascii=False)}" for words in ordered[:MAX_PREFIXES]]
    length = 0
    for count, line in enumerate(lines):
        length += len(line) + 1
        if length > MAX_PREFIX_CHARACTERS:
            del lines[count:]
            break
    if len(lines) < len(ordered):
        lines.append(load.text("allowed-prefixes-cut"))
    return "\n".join(lines)


def _roots(roots: Sequence[str]) -> Iterator[str]:
    if roots:
        name = "writable-root" if len(roots) == 1 else "writable-roots"
        yield load.filled(name, roots=", ".join(map(_quoted, roots)))


def _quoted(path: str) -> str:
    return f"`{path}`"
