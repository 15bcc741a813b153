"""What all shapes of the app-server's wire are made of: bases, marks and numbers.

Owns how a Python name becomes a name on the wire, and the marks by which a shape says more than a type can: its own
name, that it is left out where it is unset, that it is experimental. Knows no resource. What reads the marks:
`protocol/app/shape`.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field, RootModel
from pydantic.alias_generators import to_camel

T = TypeVar("T")

# For shapes whose names on the wire are those of Python.
SNAKE = ConfigDict(alias_generator=None)
# For shapes that keep fields which nobody declared.
OPEN = ConfigDict(alias_generator=None, extra="allow")

# For shapes that refuse fields which nobody declared.
CLOSED = ConfigDict(extra="forbid")

# Validators are built when a shape is first used: a server uses few of them in its life.
_CONFIG = ConfigDict(
    alias_generator=to_camel,
    defer_build=True,
    extra="ignore",
    populate_by_name=True,
    protected_namespaces=(),
    serialize_by_alias=True,
)


class Wire(BaseModel):
    """An object with a name of its own. A field that is None is written as null, unless it is Sparse."""

    model_config = _CONFIG
    experimental: ClassVar["Experimental | None"] = None
    """Where the whole shape is."""
    is_fallback: ClassVar[bool] = False
    """Whether this variant stands for words that nobody knows."""
    is_newer: ClassVar[bool] = False
    """Whether this variant is not in 0.116, and so in no schema."""

    def to_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json")


class Params(Wire):
    """What a request carries: a field that may be null may also be left out."""


class Variant(Wire):
    """One of several objects that are told apart by a field inside."""


class Keyed(Wire):
    """One of several objects that are told apart by their only key."""


class Inline(Wire):
    """An object without a name of its own."""


class Choice(RootModel[T]):
    """Parameters that are one of several shapes: `root` is which."""

    model_config = ConfigDict(defer_build=True, serialize_by_alias=True)


@dataclass(frozen=True, slots=True)
class Named:
    """The name of a shape that is not a class."""

    name: str


@dataclass(frozen=True, slots=True)
class Number:
    """The range of an integer; `rust` is what errors and schemas call it."""

    rust: str
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Experimental:
    """Only for clients that asked for the experimental interface; `name` is what they are told otherwise."""

    name: str


@dataclass(frozen=True, slots=True)
class Synonyms:
    """Other words for those of a Literal, by what they stand for."""

    words: dict[str, str]

    def __hash__(self) -> int:
        return hash(tuple(self.words.items()))


@dataclass(frozen=True, slots=True)
class Mark:
    text: str


SPARSE = Mark("left out where unset")
SHOWN = Mark("null where unset, even in parameters")
NEWER = Mark("not in 0.116, where newer clients look for it")
PATH = Mark("a path")
ABSOLUTE = Mark("an absolute path")


def _is_unset(value: object) -> bool:
    return value is None


Sparse = Annotated[T, SPARSE, Field(exclude_if=_is_unset)]
Shown = Annotated[T, SHOWN]
Newer = Annotated[T, NEWER, SPARSE, Field(exclude_if=_is_unset)]

PathText = Annotated[str, PATH]
AbsolutePathBuf = Annotated[str, Named("AbsolutePathBuf"), ABSOLUTE]

U8 = Annotated[int, Number("u8", 0, (1 << 8) - 1)]
U16 = Annotated[int, Number("u16", 0, (1 << 16) - 1)]
U32 = Annotated[int, Number("u32", 0, (1 << 32) - 1)]
U64 = Annotated[int, Number("u64", 0, (1 << 64) - 1)]
Usize = Annotated[int, Number("usize", 0, (1 << 64) - 1)]
I32 = Annotated[int, Number("i32", -(1 << 31), (1 << 31) - 1)]
I64 = Annotated[int, Number("i64", -(1 << 63), (1 << 63) - 1)]
