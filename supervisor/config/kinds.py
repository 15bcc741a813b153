"""The kinds of values that a setting can have, and what is said of a value of another kind.

Owns the rules and their wording, which is that of the reference. Knows no key: `schema` says which key is of which
kind. Pure: `first_mismatch` looks at a value and says what is wrong with it first.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pycodex.supervisor.config.early import described

Keys = tuple[str | int, ...]


class Mismatch(Exception):
    """A value that is not of its kind. `keys` lead to it; `place` is what the message calls it."""

    def __init__(self, where: "Where", message: str, *, in_file: str = "") -> None:
        super().__init__(message)
        self.keys = where.keys
        self.place = where.place
        self.message = message
        self.in_file = in_file


class Where(NamedTuple):
    """How far the check has come. Below a table with free names the reference no longer knows the way (`lost`)."""

    keys: Keys = ()
    place: tuple[str, ...] = ()
    lost: bool = False

    def at(self, key: str | int) -> "Where":
        keys = (*self.keys, key)
        return Where(keys, (*self.place, key) if isinstance(key, str) and not self.lost else self.place, self.lost)

    def unnamed(self, key: str) -> "Where":
        """Down into something that the messages do not name."""
        return Where((*self.keys, key), self.place, self.lost)

    def losing(self) -> "Where":
        return self._replace(lost=True)


class Kind:
    """Any value will do."""

    def check(self, value: Any, where: Where) -> None:
        """Raise Mismatch unless the value is of this kind."""


class Scalar(Kind):
    def __init__(self, expected: str, *types: type) -> None:
        self.expected = expected
        self.types = types

    def check(self, value: Any, where: Where) -> None:
        if type(value) not in self.types:
            raise wrong_type(value, self.expected, where)


class Integer(Kind):
    def __init__(self, name: str, low: int, high: int) -> None:
        self.name = name
        self.low = low
        self.high = high

    def check(self, value: Any, where: Where) -> None:
        if type(value) is not int:
            raise wrong_type(value, self.name, where)
        if not self.low <= value <= self.high:
            raise Mismatch(where, f"invalid value: integer `{value}`, expected {self.name}")


class Seconds(Scalar):
    """A duration."""

    def __init__(self) -> None:
        super().__init__("f64", float, int)

    def check(self, value: Any, where: Where) -> None:
        super().check(value, where)
        if not 0 <= value < 1 << 63:
            problem = "value is negative" if value < 0 else "value is either too big or NaN"
            raise Mismatch(where, f"cannot convert float seconds to Duration: {problem}")


class Choice(Kind):
    """One of some words; some of them may come as a table that holds more (`payloads`)."""

    def __init__(self, *words: str, payloads: Mapping[str, "Table"] | None = None, bare_payload: str = "") -> None:
        self.words = words
        self.payloads = payloads or {}
        self.bare_payload = bare_payload

    def check(self, value: Any, where: Where) -> None:
        if isinstance(value, dict):
            self._check_table(value, where)
        elif type(value) is not str:
            if where.lost:
                raise wrong_type(value, "string or map", where)
            raise Mismatch(where, "invalid type: unit variant, expected string only", in_file="wanted string or table")
        else:
            self._check_word(value, where)
            if value in self.payloads:
                raise Mismatch(where, f"invalid type: unit variant, expected {self.bare_payload}")

    def _check_word(self, word: str, where: Where) -> None:
        if word not in self.words:
            raise Mismatch(where, f"unknown variant `{word}`, expected {alternatives(self.words)}")

    def _check_table(self, value: dict[str, Any], where: Where) -> None:
        if len(value) != 1:
            count = "found 0 elements" if not value else "more than 1 element"
            raise Mismatch(where, f"wanted exactly 1 element, {count}")
        word = next(iter(value))
        self._check_word(word, where)
        if word not in self.payloads:
            raise wrong_type(value, "a string", where)
        self.payloads[word].check(value[word], where.unnamed(word))


class Sequence(Kind):
    def __init__(self, item: Kind) -> None:
        self.item = item

    def check(self, value: Any, where: Where) -> None:
        if not isinstance(value, list):
            raise wrong_type(value, "a sequence", where)
        for index, item in enumerate(value):
            self.item.check(item, where.at(index))


class Names(Kind):
    """A table whose keys are the user's own."""

    def __init__(self, item: Kind, *, expected: str = "a map", loses: bool = False, rule: "Rule | None" = None) -> None:
        self.item = item
        self.expected = expected
        self.loses = loses
        self.rule = rule

    def check(self, value: Any, where: Where) -> None:
        if not isinstance(value, dict):
            raise wrong_type(value, self.expected, where)
        inside = where.losing() if self.loses else where
        for key in sorted(value):
            self.item.check(value[key], inside.at(key))
        if self.rule:
            self.rule(value, where)


class Table(Kind):
    """A table with known keys; others are ignored, or are all of one kind (`rest`).

    `is_open`: newer versions keep things of their own here, so an unknown key is no mistake worth a word.
    """

    def __init__(
        self,
        expected: str,
        fields: Mapping[str, Kind],
        *,
        required: tuple[str, ...] = (),
        rest: Kind | None = None,
        rule: "Rule | None" = None,
        is_open: bool = False,
    ) -> None:
        self.expected = expected
        self.fields = fields
        self.required = required
        self.rest = rest
        self.rule = rule
        self.is_open = is_open

    def check(self, value: Any, where: Where) -> None:
        if not isinstance(value, dict):
            raise wrong_type(value, self.expected, where)
        for key in sorted(value):
            if key in self.fields:
                self.fields[key].check(value[key], where.at(key))
        if self.rest:
            for key in sorted(value.keys() - self.fields.keys()):
                self.rest.check(value[key], where.losing().at(key))
        for key in self.required:
            if key not in value:
                raise Mismatch(where, f"missing field `{key}`")
        if self.rule:
            self.rule(value, where)


class Either(Kind):
    """Of one of several kinds; the message does not say which one was meant."""

    def __init__(self, name: str, *kinds: Kind) -> None:
        self.name = name
        self.kinds = kinds

    def check(self, value: Any, where: Where) -> None:
        for kind in self.kinds:
            try:
                kind.check(value, where)
                return
            except Mismatch:
                continue
        raise Mismatch(where, f"data did not match any variant of untagged enum {self.name}")


Rule = Callable[[dict[str, Any], Where], None]


def wrong_type(value: object, expected: str, where: Where) -> Mismatch:
    return Mismatch(where, f"invalid type: {described(value)}, expected {expected}")


def alternatives(words: tuple[str, ...]) -> str:
    ticked = [f"`{word}`" for word in words]
    if len(ticked) > 2:
        return f"one of {', '.join(ticked)}"
    return " or ".join(ticked)


def first_mismatch(kind: Kind, value: object, where: Where | None = None) -> Mismatch | None:
    try:
        kind.check(value, where or Where())
    except Mismatch as found:
        return found
    return None


ANY = Kind()
STRING = Scalar("a string", str)
PATH = Scalar("path string", str)
BOOLEAN = Scalar("a boolean", bool)
I32 = Integer("i32", -(1 << 31), (1 << 31) - 1)
I64 = Integer("i64", -(1 << 63), (1 << 63) - 1)
U16 = Integer("u16", 0, (1 << 16) - 1)
U32 = Integer("u32", 0, (1 << 32) - 1)
U64 = Integer("u64", 0, (1 << 63) - 1)
USIZE = Integer("usize", 0, (1 << 63) - 1)
SECONDS = Seconds()
STRINGS = Sequence(STRING)
PATHS = Sequence(PATH)
STRING_MAP = Names(STRING)
