"""Keys in configuration files that nothing knows: most likely a slip of the pen.

Owns what counts as unknown and the wording of the hint. Only files are looked at: what comes by `-c` may be meant for
another version. Pure: layers in, lines out.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from pycodex.supervisor.config.early import FLAGS_LAYER, Layer
from pycodex.supervisor.config.features import ALIASES, NAMES
from pycodex.supervisor.config.kinds import Choice, Either, Kind, Names, Sequence, Table
from pycodex.supervisor.config.schema import ROOT

Keys = tuple[str | int, ...]


def unknown_key_warnings(layers: Iterable[Layer]) -> tuple[str, ...]:
    """One line for each unknown key, with its place and what was probably meant."""
    lines: dict[str, None] = {}
    for layer in layers:
        if layer.path == FLAGS_LAYER:
            continue
        found = list(_unknown(ROOT, layer.values, ()))
        if not found:
            continue
        from pycodex.supervisor.config.toml_errors import key_lines

        places = key_lines(layer.text)
        for keys, meant in found:
            line = places.get(keys, 1)
            lines.setdefault(f"{layer.path}:{line}: {_hint(keys, meant)}")
    return tuple(lines)


def _hint(keys: Keys, meant: str | None) -> str:
    name = ".".join(str(key) for key in keys if isinstance(key, str))
    if meant is None:
        return f"unknown key `{name}` is ignored"
    return f"unknown key `{name}` is ignored; did you mean `{'.'.join([*name.split('.')[:-1], meant])}`?"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant."""
    from difflib import get_close_matches

    matches = get_close_matches(word, sorted(known), n=1, cutoff=0.7)
    return matches[0] if matches else None


def _unknown(kind: Kind, value: Any, keys: Keys) -> Iterator[tuple[Keys, str | None]]:
    if isinstance(kind, Table) and isinstance(value, dict):
        for key, item in value.items():
            if key in kind.fields:
                yield from _unknown(kind.fields[key], item, (*keys, key))
            elif kind.rest:
                yield from _unknown(kind.rest, item, (*keys, key))
            elif not kind.is_open:
                yield (*keys, key), nearest(key, kind.fields)
    elif isinstance(kind, Names) and isinstance(value, dict):
        if keys and keys[-1] == "features":
            yield from _mistyped_features(value, keys)
        for key, item in value.items():
            yield from _unknown(kind.item, item, (*keys, key))
    elif isinstance(kind, Sequence) and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown(kind.item, item, (*keys, index))
    elif isinstance(kind, Choice) and isinstance(value, dict):
        for word, item in value.items():
            if word in kind.payloads:
                yield from _unknown(kind.payloads[word], item, (*keys, word))
    elif isinstance(kind, Either) and isinstance(value, dict):
        for each in kind.kinds:
            yield from _unknown(each, value, keys)


def _mistyped_features(features: dict[str, Any], keys: Keys) -> Iterator[tuple[Keys, str | None]]:
    """A name that we do not know may be a newer version's; only one that looks like ours is worth a word."""
    for name in features:
        if name not in NAMES and name not in ALIASES:
            meant = nearest(name, NAMES)
            if meant:
                yield (*keys, name), meant
