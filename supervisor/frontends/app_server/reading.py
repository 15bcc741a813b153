"""A value against its shape: which error comes first, and what it says.

As serde tells it, because clients match on the words: keys are read in their order, what is missing is told last, and a
struct may also be a list of its fields. Fields that nobody declared are passed over. Takes decoded JSON, gives the same
with every synonym and list resolved, or raises Unreadable. Knows no method.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from pycodex.protocol.app.shape import (
    Anything,
    Boolean,
    External,
    Field,
    Integer,
    ListOf,
    MapOf,
    Nullable,
    Real,
    Shape,
    Struct,
    Tagged,
    Text,
    Untagged,
    Words,
)
from pycodex.protocol.app.wire import ABSOLUTE, PATH, SPARSE

_MOST_U64 = (1 << 64) - 1
_LEAST_I64 = -(1 << 63)


class Unreadable(Exception):
    """The value does not have the shape; the text says where it differs first."""


def read(value: object, shape: Shape) -> Any:
    match shape:
        case Anything():
            return value
        case Nullable():
            return None if value is None else read(value, shape.inner)
        case Text():
            return _text(value, shape)
        case Boolean():
            return _of_type(value, bool, "a boolean")
        case Integer() | Real():
            return _number(value, shape)
        case ListOf():
            return [read(item, shape.item) for item in _of_type(value, list, "a sequence")]
        case MapOf():
            return {key: read(item, shape.value) for key, item in _of_type(value, dict, "a map").items()}
        case Words():
            return _word(value, shape)
        case Struct():
            return _struct(value, shape, f"struct {shape.title}")
        case Tagged():
            return _tagged(value, shape)
        case External():
            return _external(value, shape)
        case Untagged():
            return _untagged(value, shape)


def _of_type(value: Any, wanted: type, expected: str) -> Any:
    if not isinstance(value, wanted):
        raise _wrong_type(value, expected)
    return value


def _text(value: object, shape: Text) -> str:
    path: str = _of_type(value, str, "path string" if shape.kind in (PATH, ABSOLUTE) else "a string")
    if shape.kind is ABSOLUTE and not path.startswith("/"):
        raise Unreadable("AbsolutePathBuf deserialized without a base path")
    return path


def _number(value: object, shape: Integer | Real) -> Any:
    if isinstance(shape, Real):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _wrong_type(value, "f64")
        return float(value)
    number = shape.number
    if isinstance(value, bool) or not isinstance(value, int) or not _LEAST_I64 <= value <= _MOST_U64:
        raise _wrong_type(value, number.rust)
    if not number.least <= value <= number.most:
        raise Unreadable(f"invalid value: {_described(value)}, expected {number.rust}")
    return value


def _word(value: object, shape: Words) -> str:
    word, content = _variant(value, list(shape.words), shape.synonyms)
    check_unit(content)
    return word


def _external(value: object, shape: External) -> Any:
    word, content = _variant(value, list(shape.variants), {})
    struct = shape.variants[word]
    if struct is None:
        check_unit(content)
        return word
    if isinstance(value, str):
        inner = struct.fields[0].shape
        form = "struct variant" if isinstance(inner, Struct) and inner.name is None else "newtype variant"
        raise Unreadable(f"invalid type: unit variant, expected {form}")
    inner = struct.fields[0].shape
    if isinstance(inner, Struct) and inner.name is None:
        if not isinstance(content, dict | list):
            raise _wrong_type(content, "struct variant")
        variant = struct.title.removesuffix(shape.name)
        return {word: _struct(content, inner, f"struct variant {shape.name}::{variant}")}
    return {word: read(content, inner)}


def _variant(value: object, words: list[str], synonyms: Mapping[str, str]) -> tuple[str, object]:
    """The word that chooses, and what comes with it. A word may be written as the only key of an object."""
    content = None
    if isinstance(value, dict):
        if len(value) != 1:
            raise Unreadable("invalid value: map, expected map with a single key")
        ((given, content),) = value.items()
    elif isinstance(value, str):
        given = value
    else:
        raise _wrong_type(value, "string or map")
    word = synonyms.get(given, given)
    if word not in words:
        raise _unknown_variant(given, words, synonyms)
    return word, content


def _struct(value: object, shape: Struct, expected: str, skip: str | None = None) -> dict[str, Any]:
    """Keys in their order, then what is missing in the order of the fields. `skip`: a field that was read before."""
    fields = [field for field in shape.fields if field.name != skip]
    if isinstance(value, list):
        return _struct_from_list(value, fields, expected)
    if not isinstance(value, dict):
        raise _wrong_type(value, expected)
    by_name = {field.name: field for field in fields}
    found: dict[str, Any] = {}
    for name, item in value.items():
        field = by_name.get(name)
        if field is not None:
            found[name] = read(item, field.shape)
        elif shape.rest is not None:
            found[name] = read(item, shape.rest)
    for field in fields:
        if field.is_required and field.name not in found:
            raise Unreadable(f"missing field `{field.name}`")
    return found


def _struct_from_list(value: list[Any], fields: list[Field], expected: str) -> dict[str, Any]:
    fields = [field for field in fields if not field.is_newer]
    if len(value) > len(fields):
        raise Unreadable(f"invalid length {len(value)}, expected {_elements(fields)} in sequence")
    found = {field.name: read(item, field.shape) for field, item in zip(fields, value, strict=False)}
    for index, field in enumerate(fields[len(value) :], len(value)):
        # Null stands for what is left out of an object, not for what is left out of a list.
        if field.is_required or (field.default is None and SPARSE not in field.marks):
            raise Unreadable(f"invalid length {index}, expected {expected} with {_elements(fields)}")
    return found


def _tagged(value: object, shape: Tagged) -> dict[str, Any]:
    rest: object
    if isinstance(value, dict):
        if shape.tag not in value:
            raise Unreadable(f"missing field `{shape.tag}`")
        given, rest = value[shape.tag], value
    elif isinstance(value, list):
        if not value:
            raise Unreadable(f"missing field `{shape.tag}`")
        given, rest = value[0], value[1:]
    else:
        raise _wrong_type(value, f"internally tagged enum {shape.name}")
    word = _tag(given, shape)
    struct = shape.variants[word]
    if len(struct.fields) == 1 and isinstance(value, dict):
        return {shape.tag: word}
    variant = struct.title.removesuffix(shape.name)
    found = _struct(rest, struct, f"struct variant {shape.name}::{variant}", skip=shape.tag)
    return {shape.tag: word, **found}


def _tag(given: object, shape: Tagged) -> str:
    words = list(shape.old_variants)
    if isinstance(given, int) and not isinstance(given, bool) and given >= 0:
        if given < len(words):
            return words[given]
        if shape.fallback is None:
            raise Unreadable(f"invalid value: integer `{given}`, expected variant index 0 <= i < {len(words)}")
        return shape.fallback
    if not isinstance(given, str):
        raise _wrong_type(given, "variant identifier")
    word = shape.synonyms.get(given, given)
    if word in shape.variants:
        return word
    if shape.fallback is None:
        raise _unknown_variant(given, words, shape.synonyms)
    return shape.fallback


def _untagged(value: object, shape: Untagged) -> Any:
    for member in shape.members:
        try:
            return read(value, member)
        except Unreadable:
            continue
    raise Unreadable(f"data did not match any variant of untagged enum {shape.name}")


def check_unit(value: object) -> None:
    if value is not None and value != {}:
        raise _wrong_type(value, "unit")


# What errors say


def _wrong_type(value: object, expected: str) -> Unreadable:
    return Unreadable(f"invalid type: {_described(value)}, expected {expected}")


def _unknown_variant(given: str, words: Iterable[str], synonyms: Mapping[str, str]) -> Unreadable:
    known = [each for word in words for each in sorted([word, *(key for key in synonyms if synonyms[key] == word)])]
    quoted = [f"`{word}`" for word in known]
    if len(quoted) <= 2:
        return Unreadable(f"unknown variant `{given}`, expected {' or '.join(quoted)}")
    return Unreadable(f"unknown variant `{given}`, expected one of {', '.join(quoted)}")


def _described(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return f"boolean `{'true' if value else 'false'}`"
        case int() if _LEAST_I64 <= value <= _MOST_U64:
            return f"integer `{value}`"
        case int() | float():
            return f"floating point `{float(value)!r}`"
        case str():
            return f"string {_debug_quoted(value)}"
        case list():
            return "sequence"
        case _:
            return "map"


_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}


def _debug_quoted(text: str) -> str:
    shown = (_ESCAPES.get(char) or (char if char.isprintable() else f"\\u{{{ord(char):x}}}") for char in text)
    return f'"{"".join(shown)}"'


def _elements(fields: list[Field]) -> str:
    return "1 element" if len(fields) == 1 else f"{len(fields)} elements"
