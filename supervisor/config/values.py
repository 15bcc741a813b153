"""Setting single values of the user's config.toml for a client, with the checks that a person would miss.

Owns what a change means (replace, merge, take away), when it is refused, and whether it has any effect: a higher layer
may say otherwise. The writing itself, with all comments kept, is in `edit`. Takes changes by dotted key.
"""

import copy
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.config import early, stack
from pycodex.supervisor.config.early import SYSTEM_DIR, BadConfig
from pycodex.supervisor.config.edit import Edit, Put, Remove, edit_config
from pycodex.supervisor.config.kinds import first_mismatch
from pycodex.supervisor.config.schema import ROOT
from pycodex.supervisor.config.stack import FILE_NAME, FLAGS, MANAGED, PROJECT, SYSTEM, USER, Keys, Level

REPLACE = "replace"
UPSERT = "upsert"

VALIDATION_ERROR = "configValidationError"
VERSION_CONFLICT = "configVersionConflict"
LAYER_READONLY = "configLayerReadonly"
PATH_NOT_FOUND = "configPathNotFound"

MOST_CHANGES = 1000
_MOST_DEPTH = 64
_I64 = range(-(1 << 63), 1 << 63)


class Change(NamedTuple):
    """`value` None takes the key away."""

    key_path: str
    value: Any
    strategy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Overridden:
    """A change that has no effect, because of another layer."""

    message: str
    level: Level
    effective_value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    path: str
    version: str
    overridden: Overridden | None


class WriteRefused(Exception):
    """Nothing was written. `code` says why in a word."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFile:
    """The user's config.toml and the layers around it."""

    env: Mapping[str, str]
    overrides: Sequence[str]
    cwd: str
    system_dir: str = SYSTEM_DIR

    def write(
        self, changes: Sequence[Change], *, file_path: str | None = None, expected_version: str | None = None
    ) -> Written:
        """All of the changes or none. Raises WriteRefused, or UserFacing if the file cannot be read or written."""
        home = early.codex_home(self.env)
        path = os.path.join(home, FILE_NAME)
        if file_path is not None and os.path.realpath(os.path.join(self.cwd, file_path)) != os.path.realpath(path):
            raise WriteRefused(LAYER_READONLY, "Only writes to the user config are allowed")
        if len(changes) > MOST_CHANGES:
            raise WriteRefused(VALIDATION_ERROR, f"{len(changes)} edits are more than {MOST_CHANGES}")
        levels = self._levels()
        user = next(level for level in levels if level.kind == USER)
        if expected_version is not None and expected_version != user.version:
            text = "Configuration was modified since last read. Fetch latest version and retry."
            raise WriteRefused(VERSION_CONFLICT, text)
        values, edits, places = _changed(user.values, changes)
        _check(values)
        early.anchor_paths(values, home, self.env)
        updated = [user._replace(values=values) if level.kind == USER else level for level in levels]
        _check(stack.merged(updated))
        if edits:
            edit_config(home, edits)
        return Written(path=path, version=stack.version_of(values), overridden=_first_overridden(updated, places))

    def _levels(self) -> list[Level]:
        return stack.base_stack(env=self.env, overrides=self.overrides, cwd=self.cwd, system_dir=self.system_dir)


def _changed(values: Mapping[str, Any], changes: Sequence[Change]) -> tuple[dict[str, Any], list[Edit], list[Keys]]:
    """The values after the changes, what must be edited for that, and the places that were named."""
    after = copy.deepcopy(dict(values))
    edits: list[Edit] = []
    places = []
    for change in changes:
        if not change.key_path.strip():
            raise WriteRefused(VALIDATION_ERROR, "keyPath must not be empty")
        keys = tuple(change.key_path.split("."))
        if len(keys) > _MOST_DEPTH:
            raise WriteRefused(VALIDATION_ERROR, f"keyPath of {len(keys)} parts is deeper than {_MOST_DEPTH}")
        before = copy.deepcopy(stack.value_at(after, keys))
        if change.value is None:
            _take_away(after, keys)
        else:
            _check_is_toml(change.value, 0)
            _put(after, keys, change)
        now = stack.value_at(after, keys)
        if now != before or type(now) is not type(before):
            edits.append(Remove(keys) if now is None else Put(keys, now))
        places.append(keys)
    return after, edits, places


def _put(values: dict[str, Any], keys: Keys, change: Change) -> None:
    holder: Any = values
    for key in keys[:-1]:
        if not isinstance(holder, dict):
            break
        holder = holder.setdefault(key, {})
    if not isinstance(holder, dict):
        raise WriteRefused(VALIDATION_ERROR, "cannot set value on non-table parent")
    held = holder.get(keys[-1])
    if change.strategy == UPSERT and isinstance(held, dict) and isinstance(change.value, dict):
        layers = (early.Layer("", held), early.Layer("", change.value))
        holder[keys[-1]] = early.Settings("", layers).values
    else:
        holder[keys[-1]] = copy.deepcopy(change.value)


def _take_away(values: dict[str, Any], keys: Keys) -> None:
    holder: Any = values
    for key in keys[:-1]:
        holder = holder.get(key) if isinstance(holder, dict) else None
    if not isinstance(holder, dict):
        raise WriteRefused(PATH_NOT_FOUND, "Path not found")
    holder.pop(keys[-1], None)


def _check_is_toml(value: Any, depth: int) -> None:
    """JSON can say things that TOML cannot."""
    if value is None:
        raise WriteRefused(VALIDATION_ERROR, "invalid value: invalid type: null, expected any valid TOML value")
    if depth > _MOST_DEPTH:
        raise WriteRefused(VALIDATION_ERROR, f"invalid value: nested deeper than {_MOST_DEPTH}")
    if type(value) is int and value not in _I64:
        text = "u64 value was too large" if value > 0 else "i64 value was too small"
        raise WriteRefused(VALIDATION_ERROR, f"invalid value: {text}")
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _check_is_toml(item, depth + 1)


def _check(values: Mapping[str, Any]) -> None:
    found = first_mismatch(ROOT, values)
    if found is not None:
        wrong = BadConfig(found.message, place=".".join(found.place))
        raise WriteRefused(VALIDATION_ERROR, f"Invalid configuration: {wrong}")


def _first_overridden(levels: Sequence[Level], places: Sequence[Keys]) -> Overridden | None:
    effective = stack.merged(levels)
    user = next(level for level in levels if level.kind == USER)
    for keys in places:
        value, wanted = stack.value_at(effective, keys), stack.value_at(user.values, keys)
        if value == wanted and type(value) is type(wanted):
            continue
        for level in reversed(levels):
            if stack.value_at(level.values, keys) is not None:
                return Overridden(message=_why(level), level=level, effective_value=stack.plain(value))
    return None


def _why(level: Level) -> str:
    if level.kind == FLAGS:
        return "Overridden by session flags"
    by = {
        SYSTEM: "managed config (system)",
        MANAGED: "legacy managed_config.toml",
        USER: "user config",
        PROJECT: "project config",
    }
    return f"Overridden by {by[level.kind]}: {level.path}"


def set_skill(codex_home: str, path: str, *, enabled: bool) -> None:
    """Turn one skill on or off. Skills are on unless an entry says otherwise, so what is on needs none."""
    layer = early.read_layer(os.path.join(codex_home, FILE_NAME))
    skills = layer.values.get("skills") if layer is not None else None
    entries = skills.get("config") if isinstance(skills, dict) else None
    if entries is not None and not isinstance(entries, list):
        raise UserFacing("`skills.config` is not a list of tables")
    real = os.path.realpath(path)
    kept = [entry for entry in entries or () if not _is_about(entry, real, codex_home)]
    after = kept if enabled else [*kept, {"path": path, "enabled": False}]
    if after == (entries or []):
        return
    if after:
        edit: Edit = Put(("skills", "config"), after)
    else:
        edit = Remove(("skills", "config") if len(skills or ()) > 1 else ("skills",))
    edit_config(codex_home, [edit])


def _is_about(entry: Any, real: str, codex_home: str) -> bool:
    path = entry.get("path") if isinstance(entry, dict) else None
    return isinstance(path, str) and os.path.realpath(os.path.join(codex_home, path)) == real
