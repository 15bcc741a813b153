"""The arguments of a function call: what a tool declares, read from the text that the model wrote.

Owns the kinds of fields and the rules between them: a missing field, one given twice, one that nobody knows. Errors are
told as serde_json tells them, because that is what models were trained on. A struct may also be written as a list of
its fields, as there. Takes text and a Shape, gives a map of checked values, or raises ModelFacing. Does no I/O.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pycodex.protocol.errors import ModelFacing
from pycodex.supervisor.tools.json_scanner import (
    CLOSE_MAP,
    END,
    NULL,
    OPEN_LIST,
    OPEN_MAP,
    QUOTE,
    Malformed,
    Scanner,
    described,
)

Kind = Callable[[Scanner], Any]

PARSE_ERROR = "failed to parse function arguments: "

_REQUIRED: Any = object()


class BadArguments(ModelFacing):
    """The arguments cannot be read."""


@dataclass(frozen=True, slots=True)
class Field:
    """`default` stands in for a field that is not given; one without is required."""

    name: str
    kind: Kind
    default: Any = _REQUIRED
    alias: str | None = None
    """Another name under which it may be given."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A struct by the name under which errors know it."""

    name: str
    fields: tuple[Field, ...]
    closed: bool = False
    """Whether a field that is not declared is an error; otherwise it is passed over."""
    checked_whole: bool = False
    """Whether the syntax of the whole text is checked before any field is read."""
    by_name: dict[str, Field] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {name: each for each in self.fields for name in _names(each)})

    def __call__(self, scanner: Scanner) -> dict[str, Any]:
        ahead = scanner.peek_value()
        if ahead == OPEN_MAP:
            return self._from_map(scanner)
        if ahead == OPEN_LIST:
            return self._from_list(scanner)
        raise scanner.wrong_type(f"struct {self.name}")

    def _from_map(self, scanner: Scanner) -> dict[str, Any]:
        scanner.open()
        values: dict[str, Any] = {}
        first = True
        while (key := scanner.key(first=first)) is not None:
            first = False
            declared = self.by_name.get(key)
            if declared is None:
                if self.closed:
                    raise _at_key(scanner, f"unknown field `{key}`, expected {_listed(self.by_name)}")
                scanner.colon()
                scanner.ignore()
                continue
            if declared.name in values:
                raise _at_key(scanner, f"duplicate field `{declared.name}`")
            scanner.colon()
            values[declared.name] = declared.kind(scanner)
        scanner.close_map()
        for each in self.fields:
            if each.name not in values:
                if each.default is _REQUIRED:
                    raise scanner.error(f"missing field `{each.name}`")
                values[each.name] = each.default
        return values

    def _from_list(self, scanner: Scanner) -> dict[str, Any]:
        scanner.open()
        values: dict[str, Any] = {}
        short_at = None
        for index, each in enumerate(self.fields):
            if scanner.has_element(first=index == 0):
                values[each.name] = each.kind(scanner)
                continue
            if each.default is _REQUIRED:
                short_at = index
                break
            values[each.name] = each.default
        scanner.close_list()
        if short_at is not None:
            count = "1 element" if len(self.fields) == 1 else f"{len(self.fields)} elements"
            raise scanner.error(f"invalid length {short_at}, expected struct {self.name} with {count}")
        return values


def parse(text: str, shape: Shape) -> dict[str, Any]:
    """The fields of `shape`, each given or with its default."""
    if shape.checked_whole:
        parse_any(text)
    values: dict[str, Any] = _read(text, shape)
    return values


def parse_any(text: str) -> Any:
    """Whatever the text holds, for somebody else to make sense of."""
    return _read(text, Scanner.value)


def _read(text: str, kind: Kind) -> Any:
    try:
        scanner = Scanner(text)
        value = kind(scanner)
        scanner.finish()
    except Malformed as error:
        raise BadArguments(f"{PARSE_ERROR}{error}") from None
    return value


def _names(field: Field) -> tuple[str, ...]:
    return (field.name,) if field.alias is None else (field.name, field.alias)


def _at_key(scanner: Scanner, text: str) -> Malformed:
    """The key is the mistake, but the space behind it has been passed by the time it is told."""
    scanner.peek()
    return scanner.error(text)


def _listed(names: "dict[str, Field] | tuple[str, ...]") -> str:
    shown = [f"`{name}`" for name in names]
    if len(shown) == 1:
        return shown[0]
    return " or ".join(shown) if len(shown) == 2 else f"one of {', '.join(shown)}"


# Kinds


def text(scanner: Scanner) -> str:
    if scanner.peek_value() != QUOTE:
        raise scanner.wrong_type("a string")
    return scanner.string()


def boolean(scanner: Scanner) -> bool:
    if scanner.peek_value() not in b"tf":
        raise scanner.wrong_type("a boolean")
    return bool(scanner.scalar())


def _integer(expected: str, least: int, most: int) -> Kind:
    def read(scanner: Scanner) -> int:
        if scanner.peek_value() not in b"-0123456789":
            raise scanner.wrong_type(expected)
        value = scanner.number()
        if isinstance(value, float):
            raise scanner.error(f"invalid type: {described(value)}, expected {expected}")
        if not least <= value <= most:
            raise scanner.error(f"invalid value: {described(value)}, expected {expected}")
        return value

    return read


u64 = _integer("u64", 0, (1 << 64) - 1)
usize = _integer("usize", 0, (1 << 64) - 1)
i32 = _integer("i32", -(1 << 31), (1 << 31) - 1)


def optional(kind: Kind) -> Kind:
    """The same, or null."""

    def read(scanner: Scanner) -> Any:
        if scanner.peek() == NULL:
            return scanner.scalar()
        return kind(scanner)

    return read


def list_of(kind: Kind) -> Kind:
    def read(scanner: Scanner) -> list[Any]:
        if scanner.peek_value() != OPEN_LIST:
            raise scanner.wrong_type("a sequence")
        scanner.open()
        values: list[Any] = []
        while scanner.has_element(first=not values):
            values.append(kind(scanner))
        scanner.close_list()
        return values

    return read


def choice(*names: str) -> Kind:
    """One of several words; as a map, a word whose value is null."""

    def word(scanner: Scanner) -> str:
        found = text(scanner)
        if found not in names:
            raise scanner.error(f"unknown variant `{found}`, expected {_listed(names)}")
        return found

    def read(scanner: Scanner) -> str:
        ahead = scanner.peek_value()
        if ahead == QUOTE:
            return word(scanner)
        if ahead != OPEN_MAP:
            raise scanner.error_ahead("expected value")
        scanner.open()
        if scanner.peek_value() != QUOTE:
            raise scanner.wrong_type("variant identifier")
        found = word(scanner)
        scanner.colon()
        if scanner.peek_value() != NULL:
            raise scanner.wrong_type("unit")
        scanner.scalar()
        ahead = scanner.peek()
        if ahead != CLOSE_MAP:
            raise scanner.error("EOF while parsing an object" if ahead == END else "expected value")
        scanner.close_map()
        return found

    return read


def struct(name: str) -> Kind:
    """A map whose fields somebody else reads."""

    def read(scanner: Scanner) -> dict[str, Any]:
        if scanner.peek_value() != OPEN_MAP:
            raise scanner.wrong_type(f"struct {name}")
        found = scanner.value()
        assert isinstance(found, dict)
        return found

    return read
