"""Permission profiles: `[permissions.NAME]` tables and the built-in ones whose names start with a colon.

Owns the translation of a profile's paths into rules. Loaded only when profiles are in use. Pure: settings in,
Permissions out.
"""

import os
from collections.abc import Iterator
from typing import Any

from pycodex.protocol.errors import UserFacing
from pycodex.protocol.permissions import FsRule, Permissions
from pycodex.supervisor.config.early import Settings, anchored

_SPECIALS = {
    "root": "root",
    "minimal": "minimal",
    "project_roots": "project_roots",
    "workspace_roots": "project_roots",
    "cwd": "current_working_directory",
    "tmpdir": "tmpdir",
    "slash_tmp": "slash_tmp",
}
_ACCESSES = {"read": "read", "write": "write", "none": "none", "deny": "none"}
_BUILT_IN = {
    ":read-only": "read-only",
    ":workspace": "workspace-write",
    ":workspace-write": "workspace-write",
    ":danger-no-sandbox": "danger-full-access",
    ":danger-full-access": "danger-full-access",
}


def named(settings: Settings, name: str, workspace_write: Permissions) -> Permissions:
    """The profile asked for by name."""
    mode = _BUILT_IN.get(name)
    if mode is not None:
        return workspace_write if mode == "workspace-write" else Permissions(mode=mode)
    profiles = _profiles(settings)
    if name not in profiles:
        known = ", ".join(f"`{each}`" for each in (*sorted(profiles), ":read-only", ":workspace", ":danger-no-sandbox"))
        raise UserFacing(f"permission profile `{name}` is not defined; there are {known}")
    return _permissions(settings, name)


def configured(settings: Settings, workspace_write: Permissions) -> Permissions | None:
    """The profile of `default_permissions`; None where the legacy modes are in force."""
    for layer in reversed(settings.layers):
        if "default_permissions" in layer.values:
            break
        if "sandbox_mode" in layer.values:
            return None
    name = settings.get("default_permissions")
    if name is None:
        raise UserFacing("config defines `[permissions]` profiles but does not set `default_permissions`")
    if type(name) is not str:
        raise settings.wrong_type(("default_permissions",), name, "a string")
    if name in _BUILT_IN:
        return named(settings, name, workspace_write)
    profiles = _profiles(settings)
    if not profiles:
        raise UserFacing("default_permissions requires a `[permissions]` table")
    if name not in profiles:
        raise UserFacing(f"default_permissions refers to undefined profile `{name}`")
    return _permissions(settings, name)


def _profiles(settings: Settings) -> dict[str, Any]:
    return _table(settings, "permissions")


def _table(settings: Settings, *keys: str) -> dict[str, Any]:
    value = settings.get(*keys)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise settings.wrong_type(keys, value, "a map")
    return value


def _permissions(settings: Settings, name: str) -> Permissions:
    rules = tuple(_rules(settings, name))
    if not rules:
        raise UserFacing(
            f"permission profile `{name}` grants access to no file: add a `[permissions.{name}.filesystem]` table, "
            'for example with ":root" = "read"'
        )
    writes = any(rule.access == "write" for rule in rules)
    return Permissions(
        mode="workspace-write" if writes else "read-only",
        network_access=settings.boolean("permissions", name, "network", "enabled"),
        rules=rules,
    )


def _rules(settings: Settings, name: str) -> Iterator[FsRule]:
    place = ("permissions", name, "filesystem")
    for key, value in _table(settings, *place).items():
        if isinstance(value, dict):
            for below, access in value.items():
                yield _rule(key, _checked_subpath(below), _checked_access(settings, (*place, key, below), access))
        else:
            yield _rule(key, "", _checked_access(settings, (*place, key), value))


def _rule(key: str, subpath: str, access: str) -> FsRule:
    if key.startswith(":"):
        return FsRule(special=_SPECIALS.get(key[1:], key[1:]), subpath=subpath, access=access)
    if not key.startswith(("/", "~/")) and key != "~":
        raise UserFacing(f"filesystem path `{key}` must be absolute, use `~/...`, or start with `:`")
    if "*" in key:
        raise UserFacing(f"filesystem path `{key}` is a pattern; profiles here take only plain paths")
    path = anchored(key, "/", os.environ)
    return FsRule(path=os.path.join(path, subpath) if subpath else path, access=access)


def _checked_subpath(text: str) -> str:
    if text == ".":
        return ""
    if text.startswith("/") or any(part in ("", ".", "..") for part in text.split("/")):
        raise UserFacing(f"filesystem subpath `{text}` must be a descendant path without `.` or `..` components")
    if "*" in text:
        raise UserFacing(f"filesystem subpath `{text}` is a pattern; profiles here take only plain paths")
    return text


def _checked_access(settings: Settings, keys: tuple[str, ...], value: object) -> str:
    if type(value) is not str:
        raise settings.wrong_type(keys, value, "a string")
    if value not in _ACCESSES:
        raise settings.invalid(keys, f"unknown variant `{value}`, expected one of `read`, `write`, `none`")
    return _ACCESSES[value]
