"""Immutable values that cross process borders.

Owns one thing: a frozen record with named fields that can be turned into plain data and back, checked field by field.
It exists instead of `dataclasses` because the one-shot sandbox and every worker load it, and `dataclasses` alone would
cost more start-up than all of our modules together. Knows no file, socket or process.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Self, dataclass_transform
else:

    def dataclass_transform(**_: object) -> "Callable[[Any], Any]":
        return lambda decorated: decorated


class BadRecord(ValueError):
    """Plain data that does not describe the record it was read as."""


def _is_int(value: object) -> bool:
    return type(value) is int and -(1 << 63) <= value < 1 << 63


def _is_str(value: object) -> bool:
    return type(value) is str


_SCALARS: "Mapping[str, Callable[[object], bool]]" = {
    "int": _is_int,
    "float": lambda value: type(value) in (int, float),
    "str": _is_str,
    "bytes": lambda value: type(value) is bytes,
    "bool": lambda value: type(value) is bool,
}
_PLAIN_KINDS = frozenset((*_SCALARS, *(f"{kind} | None" for kind in _SCALARS)))
_EXACT: "Mapping[str, type]" = {"float": float, "str": str, "bytes": bytes, "bool": bool}
"""Kinds of which every value of this very type is good."""


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Record:
    """Base of all wire values. Annotations are strings on purpose: they are the wire's schema.

    Allowed annotations: int, float, str, bytes, bool, the name of another Record of the same module, each optionally
    `| None`; `tuple[X, ...]` of those; `dict[str, str]`.
    """

    __slots__ = ("__dict__",)
    _fields: "dict[str, str]" = {}
    _defaults: "dict[str, Any]" = {}
    _known: "dict[str, type[Record]]" = {}
    _nested: "tuple[str, ...]" = ()
    """Fields that may hold records."""
    _exact: "dict[str, type]" = {}
    """Of the other fields, those whose type is all that is to be checked."""

    def __init_subclass__(cls) -> None:
        own = {name: kind for name, kind in cls.__dict__.get("__annotations__", {}).items() if name[0] != "_"}
        cls._fields = {**cls._fields, **own}
        cls._defaults = {**cls._defaults, **{name: cls.__dict__[name] for name in own if name in cls.__dict__}}
        cls._nested = tuple(name for name, kind in cls._fields.items() if kind not in _PLAIN_KINDS)
        cls._exact = {name: _EXACT[kind] for name, kind in cls._fields.items() if kind in _EXACT}
        Record._known[cls.__name__] = cls

    def __init__(self, **values: "Any") -> None:
        fields = self._fields
        if len(values) != len(fields):
            values = {**self._defaults, **values}
        if values.keys() != fields.keys():
            wrong = sorted(values.keys() ^ fields.keys())
            raise TypeError(f"{type(self).__name__}: missing or unknown fields: {', '.join(wrong)}")
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} is frozen")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.__dict__ == self.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *(value for value in self.__dict__.values() if not isinstance(value, dict))))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={self.__dict__[name]!r}' for name in self._fields)})"

    def replace(self, **changes: "Any") -> "Self":
        return type(self)(**{**self.__dict__, **changes})

    def to_plain(self) -> "dict[str, Any]":
        """Maps, lists and scalars only, for msgpack, JSON or marshal."""
        values = self.__dict__
        plain = {name: values[name] for name in self._fields}
        for name in self._nested:
            plain[name] = _plain(plain[name])
        return plain

    @classmethod
    def from_plain(cls, plain: object) -> "Self":
        """Rebuild from untrusted plain data; missing fields take their defaults, anything else wrong is an error."""
        if type(plain) is not dict:
            raise BadRecord(f"{cls.__name__}: expected a map")
        values = cls._defaults | plain
        fields, exact = cls._fields, cls._exact
        for name, value in plain.items():
            if type(name) is not str or name not in fields:
                raise BadRecord(f"{cls.__name__}: unknown field {name!r:.40}")
            if exact.get(name) is not type(value):
                values[name] = _checked(fields[name], value, f"{cls.__name__}.{name}")
        if len(values) != len(fields):
            raise BadRecord(f"{cls.__name__}: missing {', '.join(sorted(fields.keys() - values.keys()))}")
        record = cls.__new__(cls)
        record.__dict__.update(values)
        return record


def _plain(value: "Any") -> "Any":
    if isinstance(value, Record):
        return value.to_plain()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _checked(kind: str, value: object, where: str) -> object:
    scalar = _SCALARS.get(kind)
    if scalar is not None:
        if not scalar(value):
            raise BadRecord(f"{where}: expected {kind}")
        return value
    if kind.endswith(" | None"):
        return None if value is None else _checked(kind[:-7], value, where)
    if kind.startswith("tuple[") and kind.endswith(", ...]"):
        if not isinstance(value, list | tuple):
            raise BadRecord(f"{where}: expected a list")
        return tuple(_checked(kind[6:-6], item, where) for item in value)
    if kind == "dict[str, str]":
        if type(value) is not dict or not all(_is_str(k) and _is_str(v) for k, v in value.items()):
            raise BadRecord(f"{where}: expected a map of text")
        return value
    record = Record._known.get(kind)
    if record is None:
        raise TypeError(f"{where}: no wire form for {kind}")
    return record.from_plain(value)
