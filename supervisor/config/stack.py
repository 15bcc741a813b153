"""The layers of the configuration one by one: where each comes from, its version, and whether it counts.

Owns what a layer is called, how its version is reckoned and which layer a value comes from, all in the reference's
terms, so that clients of both can tell whether a file has changed. Reads files; `layers` decides which count.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from hashlib import sha256
from typing import Any, NamedTuple

from pycodex.supervisor.config import early, trust
from pycodex.supervisor.config.early import FLAGS_LAYER, SYSTEM_DIR, Layer, Settings
from pycodex.supervisor.config.layers import Layered, load_layers

FILE_NAME = "config.toml"
USER = "user"
PROJECT = "project"
SYSTEM = "system"
FLAGS = "sessionFlags"
MANAGED = "legacyManagedConfigTomlFromFile"

Keys = tuple[str, ...]


class Level(NamedTuple):
    """One layer, as it is shown."""

    kind: str
    path: str
    """The file; of a project its `.codex`; of the flags nothing."""
    values: Mapping[str, Any]
    disabled_reason: str | None = None

    @property
    def version(self) -> str:
        return version_of(self.values)

    @property
    def source(self) -> dict[str, str]:
        if self.kind == FLAGS:
            return {"type": self.kind}
        return {"type": self.kind, "dotCodexFolder" if self.kind == PROJECT else "file": self.path}


def version_of(values: Mapping[str, Any]) -> str:
    """Changes with what a layer says, not with how it is written."""
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=_told_moment)
    return f"sha256:{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def plain(values: Any) -> Any:
    """A value of TOML as JSON has it."""
    if isinstance(values, dict):
        return {key: plain(value) for key, value in values.items()}
    if isinstance(values, list):
        return [plain(value) for value in values]
    return _told_moment(values) if isinstance(values, date | time) else values


def _told_moment(value: object) -> dict[str, str]:
    assert isinstance(value, date | datetime | time), f"{type(value).__name__} is no value of TOML"
    return {"$__toml_private_datetime": value.isoformat()}


def base_stack(
    *, env: Mapping[str, str], overrides: Sequence[str], cwd: str, system_dir: str = SYSTEM_DIR
) -> list[Level]:
    """What holds for every directory, lowest first: no project's file is looked at. Raises UserFacing."""
    home = early.codex_home(env)
    layers = early.base_layers(home, env, system_dir=system_dir)
    flags = early.flags_layer(overrides, env, cwd=cwd)
    managed = early.file_layer(os.path.join(system_dir, "managed_config.toml"), env)
    return list(_levels([*layers, flags, *([managed] if managed else ())], home, system_dir))


def full_stack(
    *, env: Mapping[str, str], overrides: Sequence[str], cwd: str, system_dir: str = SYSTEM_DIR
) -> list[Level]:
    """What holds in one directory, lowest first, with the project's files that do not count. Raises UserFacing."""
    layered = load_layers(env=env, overrides=overrides, cwd=cwd, system_dir=system_dir)
    settings = layered.settings
    levels = list(_levels(settings.layers, settings.codex_home, system_dir))
    projects = {level.path: level for level in levels if level.kind == PROJECT}
    for level in _uncounted(layered, env, cwd):
        projects.setdefault(level.path, level)
    others = [level for level in levels if level.kind != PROJECT]
    above = next((at for at, level in enumerate(others) if level.kind in (FLAGS, MANAGED)), len(others))
    # From the root of the project to the working directory, which is from the shortest path to the longest.
    return [*others[:above], *sorted(projects.values(), key=lambda level: len(level.path)), *others[above:]]


def _levels(layers: Iterable[Layer], home: str, system_dir: str) -> Iterator[Level]:
    """The system's and the user's are always there, even while their files are not."""
    named = {os.path.join(system_dir, FILE_NAME): SYSTEM, os.path.join(home, FILE_NAME): USER}
    found = {layer.path: layer for layer in layers}
    for path, kind in named.items():
        layer = found.pop(path, None)
        yield Level(kind, path, layer.values if layer is not None else {})
    for path, layer in found.items():
        if path == FLAGS_LAYER:
            if layer.values:
                yield Level(FLAGS, "", layer.values)
        elif path == os.path.join(system_dir, "managed_config.toml"):
            yield Level(MANAGED, path, layer.values)
        else:
            yield Level(PROJECT, os.path.dirname(path), layer.values)


def _uncounted(layered: Layered, env: Mapping[str, str], cwd: str) -> Iterator[Level]:
    """The `.codex` of the project without a file, and those that are not trusted."""
    settings, root = layered.settings, layered.project_root or cwd
    trusted = trust.Trust(settings.values.get("projects", {}), cwd, root=root)
    for directory in trust.ancestors(cwd):
        folder = os.path.join(directory, ".codex")
        path = os.path.join(folder, FILE_NAME)
        if path in layered.ignored:
            reason = _why_ignored(settings, trusted.of_layer(directory), root)
            yield Level(PROJECT, folder, _believable(path, env), reason)
        elif os.path.isdir(folder) and os.path.realpath(folder) != settings.codex_home:
            yield Level(PROJECT, folder, {})
        if directory == root:
            return


def _believable(path: str, env: Mapping[str, str]) -> Mapping[str, Any]:
    """What an untrusted file says, if that can be told at all: it must not be able to break the rest."""
    try:
        layer = early.file_layer(path, env)
    except early.BadConfig:
        return {}
    return layer.values if layer is not None else {}


def _why_ignored(settings: Settings, level: str | None, root: str) -> str:
    user_file = os.path.join(settings.codex_home, FILE_NAME)
    if level == trust.UNTRUSTED:
        return f"{root} is marked as untrusted in {user_file}. To load config.toml, mark it trusted."
    return f"To load config.toml, add {root} as a trusted project in {user_file}."


# What they say together


def merged(levels: Iterable[Level]) -> dict[str, Any]:
    """The values of all that count."""
    counting = (Layer(level.path, dict(level.values)) for level in levels if level.disabled_reason is None)
    return Settings("", counting).values


def origins(levels: Iterable[Level]) -> dict[str, Level]:
    """By dotted key, and by number in lists: the highest layer that says so."""
    found: dict[str, Level] = {}
    for level in levels:
        if level.disabled_reason is None:
            found.update(dict.fromkeys(map(".".join, _leaves(level.values, ())), level))
    return found


def _leaves(value: Any, keys: Keys) -> Iterator[Keys]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, (*keys, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves(item, (*keys, str(index)))
    elif keys:
        yield keys


def value_at(values: Any, keys: Keys) -> Any:
    """The value at a place, None if there is none; numbers lead into lists."""
    for key in keys:
        if isinstance(values, Mapping):
            values = values.get(key)
        elif isinstance(values, list) and key.isdecimal() and key.isascii() and int(key) < len(values):
            values = values[int(key)]
        else:
            return None
    return values
