"""What a person allows: the mode, its extra roots and, in place of them, a list of file rules.

Owns the value that configuration produces and `sandbox` turns into a `Confinement`, and its two JSON spellings: the
policy with a `type` tag, and the split pair of a file policy and a network word. Knows nothing of the disk: paths are
as they were written, and nothing here resolves them.
"""

import os

from pycodex.protocol.record import BadRecord, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

READ_ONLY = "read-only"
WORKSPACE_WRITE = "workspace-write"
DANGER_FULL_ACCESS = "danger-full-access"
EXTERNAL_SANDBOX = "external-sandbox"

ROOT = "root"
MINIMAL = "minimal"
CURRENT_WORKING_DIRECTORY = "current_working_directory"
PROJECT_ROOTS = "project_roots"
TMPDIR = "tmpdir"
SLASH_TMP = "slash_tmp"
UNKNOWN = "unknown"

_ACCESSES = ("read", "write", "none")
_NETWORK_WORDS = {"restricted": False, "enabled": True}


class FsRule(Record):
    """Access to one path and what is below it. Exactly one of `path` and `special` says where.

    A special place that this version does not know keeps its word in `special` (and in `path` what came with it) and
    grants and denies nothing.
    """

    path: "str" = ""
    special: "str" = ""
    subpath: "str" = ""
    """Relative to the special place."""
    access: "str"


class Permissions(Record):
    mode: "str"
    writable_roots: "tuple[str, ...]" = ()
    network_access: "bool" = False
    exclude_tmpdir_env_var: "bool" = False
    exclude_slash_tmp: "bool" = False
    restricted_read: "bool" = False
    """Only `readable_roots`, the working directory, the writable roots and (if asked) the platform can be read."""
    platform_defaults: "bool" = False
    readable_roots: "tuple[str, ...]" = ()
    rules: "tuple[FsRule, ...]" = ()
    """When not empty these replace all the file settings above; what no rule names cannot even be read."""


def widened(
    permissions: Permissions, *, read: "tuple[str, ...]" = (), write: "tuple[str, ...]" = (), network: bool = False
) -> Permissions:
    """With these absolute paths, and the network, allowed besides. Where there are no limits, nothing changes."""
    if permissions.mode in (DANGER_FULL_ACCESS, EXTERNAL_SANDBOX):
        return permissions
    permissions = permissions.replace(network_access=permissions.network_access or network)
    if permissions.restricted_read and not permissions.rules:
        permissions = permissions.replace(readable_roots=(*permissions.readable_roots, *read))
    if permissions.mode == WORKSPACE_WRITE and not permissions.rules:
        return permissions.replace(writable_roots=(*permissions.writable_roots, *write))
    if not permissions.rules and not write:
        return permissions
    rules = list(permissions.rules or _rules_of_mode(permissions))
    if permissions.rules:
        rules.extend(FsRule(path=path, access="read") for path in read)
    rules.extend(FsRule(path=path, access="write") for path in write)
    return permissions.replace(mode=WORKSPACE_WRITE if write else permissions.mode, rules=tuple(rules))


def from_legacy(policy: object) -> Permissions:
    """Read the tagged policy; anything malformed is a BadRecord that names the field."""
    fields = _map(policy, "sandbox policy")
    mode = fields.get("type")
    if mode == DANGER_FULL_ACCESS:
        return Permissions(mode=mode, network_access=True)
    if mode == EXTERNAL_SANDBOX:
        return Permissions(mode=mode, network_access=_network(fields.get("network_access", "restricted")))
    if mode == READ_ONLY:
        reads = _reads(fields.get("access"))
        return Permissions(mode=mode, network_access=_flag(fields, "network_access"), **reads)
    if mode == WORKSPACE_WRITE:
        return Permissions(
            mode=mode,
            writable_roots=_paths(fields, "writable_roots"),
            network_access=_flag(fields, "network_access"),
            exclude_tmpdir_env_var=_flag(fields, "exclude_tmpdir_env_var"),
            exclude_slash_tmp=_flag(fields, "exclude_slash_tmp"),
            **_reads(fields.get("read_only_access")),
        )
    raise BadRecord(f"sandbox policy: unknown type {mode!r:.60}")


def to_legacy(permissions: Permissions) -> "dict[str, Any]":
    if permissions.rules:
        raise BadRecord("a list of file rules cannot be written as a tagged sandbox policy")
    policy: dict[str, Any] = {"type": permissions.mode}
    if permissions.mode == EXTERNAL_SANDBOX:
        policy["network_access"] = "enabled" if permissions.network_access else "restricted"
    elif permissions.mode == READ_ONLY:
        if permissions.restricted_read:
            policy["access"] = _restricted(permissions)
        if permissions.network_access:
            policy["network_access"] = True
    elif permissions.mode == WORKSPACE_WRITE:
        policy["writable_roots"] = list(permissions.writable_roots)
        if permissions.restricted_read:
            policy["read_only_access"] = _restricted(permissions)
        policy["network_access"] = permissions.network_access
        policy["exclude_tmpdir_env_var"] = permissions.exclude_tmpdir_env_var
        policy["exclude_slash_tmp"] = permissions.exclude_slash_tmp
    return policy


def told_as_legacy(permissions: Permissions) -> "dict[str, Any]":
    """The tagged policy that says most of it, for those who are told but do not enforce.

    File rules have no exact form there: what they let be written is named, what they hide is not.
    """
    if not permissions.rules:
        return to_legacy(permissions)
    written = [rule for rule in permissions.rules if rule.access == "write"]
    specials = {rule.special for rule in written}
    return to_legacy(
        Permissions(
            mode=permissions.mode,
            network_access=permissions.network_access,
            writable_roots=tuple(rule.path for rule in written if not rule.special),
            exclude_slash_tmp=SLASH_TMP not in specials,
            exclude_tmpdir_env_var=TMPDIR not in specials,
        )
    )


def from_split(files: object, network: object) -> Permissions:
    """Read the pair of a file policy and a network word (`restricted` or `enabled`)."""
    fields = _map(files, "file system policy")
    enabled = _network(network)
    kind = fields.get("kind")
    if kind == "unrestricted" and enabled:
        return Permissions(mode=DANGER_FULL_ACCESS, network_access=True)
    if kind in ("unrestricted", EXTERNAL_SANDBOX):
        return Permissions(mode=EXTERNAL_SANDBOX, network_access=enabled)
    if kind != "restricted":
        raise BadRecord(f"file system policy: unknown kind {kind!r:.60}")
    entries = fields.get("entries", [])
    if not isinstance(entries, list):
        raise BadRecord("file system policy: entries: expected a list")
    # No entry at all means "nothing may be read": a rule that names no known place keeps that apart from "no rules".
    rules = tuple(map(_rule, entries)) or (FsRule(special=UNKNOWN, access="none"),)
    mode = WORKSPACE_WRITE if any(rule.access == "write" for rule in rules) else READ_ONLY
    return Permissions(mode=mode, network_access=enabled, rules=rules)


def to_split(permissions: Permissions) -> "tuple[dict[str, Any], str]":
    """The file policy and the network word. Modes are written as the rules they stand for."""
    network = "enabled" if permissions.network_access else "restricted"
    if permissions.mode == DANGER_FULL_ACCESS:
        return {"kind": "unrestricted"}, "enabled"
    if permissions.mode == EXTERNAL_SANDBOX:
        return {"kind": EXTERNAL_SANDBOX}, network
    rules = permissions.rules or _rules_of_mode(permissions)
    return {"kind": "restricted", "entries": [_entry(rule) for rule in rules]}, network


def _rules_of_mode(permissions: Permissions) -> "tuple[FsRule, ...]":
    rules: list[FsRule] = []
    if not permissions.restricted_read:
        rules.append(FsRule(special=ROOT, access="read"))
    else:
        if permissions.platform_defaults:
            rules.append(FsRule(special=MINIMAL, access="read"))
        rules.extend(FsRule(path=path, access="read") for path in permissions.readable_roots)
        rules.append(FsRule(special=CURRENT_WORKING_DIRECTORY, access="read"))
    if permissions.mode == WORKSPACE_WRITE:
        rules.extend(FsRule(path=path, access="write") for path in permissions.writable_roots)
        rules.append(FsRule(special=CURRENT_WORKING_DIRECTORY, access="write"))
        if not permissions.exclude_slash_tmp:
            rules.append(FsRule(special=SLASH_TMP, access="write"))
        if not permissions.exclude_tmpdir_env_var:
            rules.append(FsRule(special=TMPDIR, access="write"))
    return tuple(rules)


def _rule(entry: object) -> FsRule:
    fields = _map(entry, "file system entry")
    access = fields.get("access")
    if access not in _ACCESSES:
        raise BadRecord(f"file system entry: unknown access {access!r:.60}")
    where = _map(fields.get("path"), "file system entry: path")
    if where.get("type") == "path":
        return FsRule(path=_absolute(where.get("path"), "file system entry: path"), access=access)
    if where.get("type") != "special":
        raise BadRecord(f"file system entry: unknown path type {where.get('type')!r:.60}")
    value = _map(where.get("value"), "file system entry: special path")
    kind = value.get("kind")
    subpath = value.get("subpath") or ""
    carried = value.get("path") or ""
    if type(kind) is not str or not kind or type(subpath) is not str or type(carried) is not str:
        raise BadRecord(f"file system entry: malformed special path {value!r:.80}")
    if os.path.isabs(subpath) or ".." in subpath.split("/"):
        raise BadRecord(f"file system entry: subpath {subpath!r:.80} leaves its place")
    return FsRule(special=kind, path=carried, subpath=subpath, access=access)


def _entry(rule: FsRule) -> "dict[str, Any]":
    if not rule.special:
        return {"path": {"type": "path", "path": rule.path}, "access": rule.access}
    value = {"kind": rule.special}
    if rule.path:
        value["path"] = rule.path
    if rule.subpath:
        value["subpath"] = rule.subpath
    return {"path": {"type": "special", "value": value}, "access": rule.access}


def _reads(access: object) -> "dict[str, Any]":
    if access is None:
        return {}
    fields = _map(access, "read access")
    if fields.get("type") == "full-access":
        return {}
    if fields.get("type") != "restricted":
        raise BadRecord(f"read access: unknown type {fields.get('type')!r:.60}")
    return {
        "restricted_read": True,
        "platform_defaults": _flag(fields, "include_platform_defaults", otherwise=True),
        "readable_roots": _paths(fields, "readable_roots"),
    }


def _restricted(permissions: Permissions) -> "dict[str, Any]":
    return {
        "type": "restricted",
        "include_platform_defaults": permissions.platform_defaults,
        "readable_roots": list(permissions.readable_roots),
    }


def _map(value: object, where: str) -> "dict[str, Any]":
    if type(value) is not dict:
        raise BadRecord(f"{where}: expected a map")
    return value


def _flag(fields: "dict[str, Any]", name: str, *, otherwise: bool = False) -> bool:
    value = fields.get(name, otherwise)
    if type(value) is not bool:
        raise BadRecord(f"{name}: expected true or false")
    return value


def _network(word: object) -> bool:
    enabled = _NETWORK_WORDS.get(word) if type(word) is str else None
    if enabled is None:
        raise BadRecord(f"network access: expected restricted or enabled, not {word!r:.60}")
    return enabled


def _paths(fields: "dict[str, Any]", name: str) -> "tuple[str, ...]":
    value = fields.get(name, [])
    if not isinstance(value, list):
        raise BadRecord(f"{name}: expected a list of paths")
    return tuple(_absolute(path, name) for path in value)


def _absolute(path: object, where: str) -> str:
    if type(path) is not str or not os.path.isabs(path):
        raise BadRecord(f"{where}: expected an absolute path, not {path!r:.80}")
    return path
