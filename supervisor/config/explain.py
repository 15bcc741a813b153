"""Where every setting comes from.

Owns the order in which sources count, told per key: what holds, who said it, and who said something else in vain. Takes
the layers and the name of a profile; gives rows of plain text with secrets masked.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.config import features, requirements
from pycodex.supervisor.config.defaults import DEFAULTS
from pycodex.supervisor.config.early import FLAGS_LAYER, Layer
from pycodex.supervisor.config.kinds import Choice, Either, Kind, Names, Sequence, Table
from pycodex.supervisor.config.layers import Layered
from pycodex.supervisor.config.requirements import Requirements
from pycodex.supervisor.config.schema import PROFILE_KEYS, ROOT
from pycodex.supervisor.config.toml_errors import key_lines
from pycodex.supervisor.config.trust import UNTRUSTED
from pycodex.supervisor.config.unknown_keys import nearest

MASK = "*****"

_SECRET_KEYS = frozenset(("experimental_bearer_token", "bearer_token"))
_SECRET_TABLES = frozenset(("env", "http_headers", "headers", "query_params", "set"))
_SECRET_WORDS = ("token", "secret", "password", "api_key", "apikey")
# Who asks, and what is asked for: either may be a key.
_URL_SECRETS = re.compile(r"(?<=://)[^/?#\s]+(?=@)|(?<=\?)[^#\s]+")
_LONGEST = 72

Path = tuple[str, ...]


class Said(NamedTuple):
    """One value and who gave it."""

    value: str
    origin: str


class Row(NamedTuple):
    key: str
    effective: Said | None
    """None: nobody says anything, and there is no default."""
    shadowed: tuple[Said, ...] = ()
    """Highest first."""


def explained(layered: Layered, *, profile: str | None, env: Mapping[str, str], key: str | None) -> list[Row]:
    """A row for each setting that is set or has a default, sorted; only those at or below `key`, if it is given."""
    wanted = () if key is None else _known_path(key)
    name = profile if profile is not None else layered.settings.values.get("profile")
    said = _collected(layered, name)
    for path, found in _defaults(layered, env, wanted):
        said.setdefault(path, []).append(found)
    for path, found in _demanded(said, layered.demanded):
        said[path].insert(0, found)
    rows = [
        Row(_dotted(path), _shown(path, found[0]), tuple(_shown(path, each) for each in found[1:]))
        for path, found in sorted(said.items())
        if path[: len(wanted)] == wanted
    ]
    return rows or [Row(_dotted(wanted), None)]


class _Source(NamedTuple):
    value: Any
    origin: str


def _collected(layered: Layered, profile: str | None) -> dict[Path, list[_Source]]:
    """All that the layers say about each key, what counts first."""
    said: dict[Path, list[_Source]] = {}
    lines = {layer.path: key_lines(layer.text) for layer in layered.settings.layers if layer.path != FLAGS_LAYER}
    layers = tuple(reversed(layered.settings.layers))
    if profile is not None:
        for layer in layers:
            table = layer.values["profiles"][profile] if layer.holds(("profiles", profile)) else None
            if not isinstance(table, dict):
                continue
            for path, value in _leaves({key: table[key] for key in PROFILE_KEYS & set(table)}):
                origin = _origin(layer, ("profiles", profile, *path), lines)
                said.setdefault(_proper(path), []).append(_Source(value, f"profile {profile} ({origin})"))
    for layer in layers:
        for path, value in _leaves(layer.values):
            said.setdefault(_proper(path), []).append(_Source(value, _origin(layer, path, lines)))
    return said


def _leaves(table: Mapping[str, Any], prefix: Path = ()) -> Iterator[tuple[Path, Any]]:
    """What layers replace as a whole: anything but tables, and tables that stand for one choice."""
    for key, value in table.items():
        path = (*prefix, key)
        if isinstance(value, dict) and value and not isinstance(_kind_below(ROOT, path), Choice):
            yield from _leaves(value, path)
        else:
            yield path, value


def _proper(path: Path) -> Path:
    """Older names of features stand for the newer ones."""
    if path[0] == "features" and len(path) == 2:
        return "features", features.ALIASES.get(path[1], path[1])
    return path


def _origin(layer: Layer, path: Path, lines: Mapping[str, Mapping[tuple[str | int, ...], int]]) -> str:
    if layer.path == FLAGS_LAYER:
        return FLAGS_LAYER
    return f"{layer.path}:{lines[layer.path].get(path, 1)}"


def _defaults(layered: Layered, env: Mapping[str, str], wanted: Path) -> Iterator[tuple[Path, _Source]]:
    trust = layered.trust_level
    because = "no trust is recorded for this directory" if trust is None else f"this directory is {trust}"
    policy = "untrusted" if trust == UNTRUSTED else "on-request"
    yield ("approval_policy",), _Source(policy, f"default ({because})")
    yield ("sandbox_mode",), _Source("read-only" if trust is None else "workspace-write", f"default ({because})")
    if env.get("OPENAI_BASE_URL"):
        yield ("openai_base_url",), _Source(env["OPENAI_BASE_URL"], "OPENAI_BASE_URL (deprecated)")
    for key, value in DEFAULTS.items():
        yield tuple(key.split(".")), _Source(value, "default")
    if wanted[:1] == ("features",):
        for name in features.NAMES:
            stage = f"default ({features.STAGES[name]})"
            yield ("features", name), _Source(name in features.ON_BY_DEFAULT, stage)


def _demanded(said: Mapping[Path, list[_Source]], demanded: Requirements) -> Iterator[tuple[Path, _Source]]:
    """The values that an administrator replaces."""
    checks = (
        ("approval_policy", demanded.approval_policies, requirements.constrained_policy),
        ("sandbox_mode", demanded.sandbox_modes, requirements.constrained_mode),
    )
    for key, allowed, constrained in checks:
        found = said.get((key,))
        if found and allowed is not None:
            value = constrained(found[0].value, allowed, explicit=False, warnings=[])
            if value != found[0].value:
                yield (key,), _Source(value, allowed.source)
    search, modes = said[("web_search",)], demanded.web_search_modes
    if modes is not None:
        value = requirements.constrained_web_search(search[0].value, modes, warnings=[])
        if value != search[0].value:
            yield ("web_search",), _Source(value, modes.source)
    for name, on in demanded.features.items():
        found = said.get(("features", name))
        if found and found[0].value is not on:
            yield ("features", name), _Source(on, demanded.source)


# Text


def _shown(path: Path, source: _Source) -> Said:
    text = _text(source.value, path)
    return Said(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…", source.origin)


def _is_secret(path: Path) -> bool:
    name = path[-1].lower()
    if path[-1] in _SECRET_KEYS or any(part in _SECRET_TABLES for part in path[1:-1]):
        return True
    return any(word in name for word in _SECRET_WORDS) and not _is_known(path)


def _text(value: Any, path: Path) -> str:
    """A value as TOML would have it, on one line."""
    if _is_secret(path):
        return MASK
    if isinstance(value, list):
        return f"[{', '.join(_text(item, path) for item in value)}]"
    if isinstance(value, dict):
        pairs = (f"{_word(key)} = {_text(item, (*path, key))}" for key, item in value.items())
        return f"{{ {', '.join(pairs)} }}" if value else "{}"
    if isinstance(value, str):
        shown = _URL_SECRETS.sub(MASK, value) if "://" in value else value
        return json.dumps(shown, ensure_ascii=False)
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return str(value)


def _dotted(path: Path) -> str:
    return ".".join(map(_word, path))


def _word(part: str) -> str:
    return part if part and part.replace("_", "").replace("-", "").isalnum() else json.dumps(part, ensure_ascii=False)


# Which keys there are


def _is_known(path: Path) -> bool:
    return _kind_below(ROOT, path) is not None


def _kind_below(kind: Kind, path: Path) -> Kind | None:
    if not path:
        return kind
    if isinstance(kind, Table):
        below = kind.fields.get(path[0], kind.rest)
        return None if below is None else _kind_below(below, path[1:])
    if isinstance(kind, Names):
        return _kind_below(kind.item, path[1:])
    if isinstance(kind, Choice):
        return _kind_below(kind.payloads[path[0]], path[1:]) if path[0] in kind.payloads else None
    if isinstance(kind, Either):
        return next((found for each in kind.kinds if (found := _kind_below(each, path)) is not None), None)
    return None if isinstance(kind, Sequence) or type(kind) is not Kind else kind


def _known_path(key: str) -> Path:
    """The parts of a key that a person typed; quotes keep dots together, as in TOML."""
    path = _split(key)
    for depth in range(1, len(path) + 1):
        if _kind_below(ROOT, path[:depth]) is None:
            holder = _kind_below(ROOT, path[: depth - 1])
            meant = nearest(path[depth - 1], holder.fields) if isinstance(holder, Table) else None
            hint = f"; did you mean `{_dotted((*path[: depth - 1], meant))}`?" if meant else ""
            raise UserFacing(f"unknown key `{key}`{hint}")
    return path


def _split(key: str) -> Path:
    parts: list[str] = []
    rest = key
    while rest:
        if rest[0] in "\"'" and (end := rest.find(rest[0], 1)) > 0:
            part, rest = rest[1:end], rest[end + 1 :].removeprefix(".")
        else:
            part, _, rest = rest.partition(".")
        parts.append(part)
    return tuple(parts)
