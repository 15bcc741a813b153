"""The shapes of the wire as plain values: what a reader checks by, and what schemas are written from.

Owns the way from models (`protocol/app/<resource>`) with their marks (`protocol/app/wire`) to a tree of Shapes. Knows
no method and no resource. Pure; the tree of a model is made once.
"""

import functools
import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, RootModel

from pycodex.protocol.app import wire

_REQUIRED: Any = object()


@dataclass(frozen=True, slots=True, eq=False)
class Anything:
    pass


@dataclass(frozen=True, slots=True, eq=False)
class Boolean:
    pass


@dataclass(frozen=True, slots=True, eq=False)
class Real:
    pass


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    name: str | None = None
    kind: wire.Mark | None = None
    """PATH, ABSOLUTE, or any text."""


@dataclass(frozen=True, slots=True, eq=False)
class Integer:
    number: wire.Number


@dataclass(frozen=True, slots=True, eq=False)
class Nullable:
    inner: "Shape"


@dataclass(frozen=True, slots=True, eq=False)
class ListOf:
    item: "Shape"
    name: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class MapOf:
    value: "Shape"
    name: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """One of some words."""

    name: str | None
    words: tuple[str, ...]
    synonyms: Mapping[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    name: str
    shape: "Shape"
    default: Any
    marks: frozenset[wire.Mark]
    experimental: str | None

    @property
    def is_required(self) -> bool:
        return self.default is _REQUIRED

    @property
    def is_newer(self) -> bool:
        return wire.NEWER in self.marks


@dataclass(frozen=True, slots=True, eq=False)
class Struct:
    """An object; `title` is its class, `name` is None where it has no definition of its own."""

    title: str
    name: str | None
    fields: tuple[Field, ...]
    is_params: bool
    rest: "Shape | None"
    """What fields that nobody declared may hold; None where they are passed over."""
    is_closed: bool
    is_fallback: bool
    is_newer: bool
    experimental: str | None


@dataclass(frozen=True, slots=True, eq=False)
class Tagged:
    """One of some objects, told apart by the word in the field `tag`."""

    name: str
    tag: str
    variants: Mapping[str, Struct]
    synonyms: Mapping[str, str]
    fallback: str | None
    """The variant that stands for words which nobody knows."""

    @property
    def old_variants(self) -> dict[str, Struct]:
        """Those of 0.116."""
        return {word: struct for word, struct in self.variants.items() if not struct.is_newer}


@dataclass(frozen=True, slots=True, eq=False)
class External:
    """One of some words, or an object with a single key: `variants` in order, None for a bare word."""

    name: str
    variants: Mapping[str, Struct | None]


@dataclass(frozen=True, slots=True, eq=False)
class Untagged:
    name: str
    members: tuple["Shape", ...]


Shape = (
    Anything
    | Boolean
    | Real
    | Text
    | Integer
    | Nullable
    | ListOf
    | MapOf
    | Words
    | Struct
    | Tagged
    | External
    | Untagged
)


@functools.cache
def shape_of(annotation: Any) -> Shape:
    """The shape of a model, or of anything that a model's field may be annotated with."""
    marks: tuple[Any, ...] = ()
    if get_origin(annotation) is Annotated:
        annotation, *rest = get_args(annotation)
        marks = tuple(rest)
    name = next((mark.name for mark in marks if isinstance(mark, wire.Named)), None)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _renamed(_of_model(annotation), name)
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return _of_union(get_args(annotation), name)
    if origin is Literal:
        synonyms = next((mark.words for mark in marks if isinstance(mark, wire.Synonyms)), {})
        return Words(name, get_args(annotation), synonyms)
    if origin is list:
        return ListOf(shape_of(get_args(annotation)[0]), name)
    if origin is dict:
        return MapOf(shape_of(get_args(annotation)[1]), name)
    if annotation is str:
        return Text(name, next((mark for mark in marks if mark in (wire.PATH, wire.ABSOLUTE)), None))
    if annotation is int:
        return Integer(next(mark for mark in marks if isinstance(mark, wire.Number)))
    if annotation is bool:
        return Boolean()
    return Real() if annotation is float else Anything()


def _renamed(shape: Shape, name: str | None) -> Shape:
    """A union of one variant is that variant under the union's name."""
    if name is None or not isinstance(shape, Struct):
        return shape
    return _tagged(name, (shape,))


def _of_model(model: type[BaseModel]) -> Shape:
    if issubclass(model, RootModel):
        return _of_union(get_args(model.model_fields["root"].annotation), model.__name__)
    assert issubclass(model, wire.Wire)
    nameless = issubclass(model, (wire.Variant, wire.Keyed, wire.Inline))
    return Struct(
        title=model.__name__,
        name=None if nameless else model.__name__,
        fields=_fields(model),
        is_params=issubclass(model, wire.Params),
        rest=_rest(model) if model.model_config.get("extra") == "allow" else None,
        is_closed=model.model_config.get("extra") == "forbid",
        is_fallback=model.is_fallback,
        is_newer=model.is_newer,
        experimental=model.experimental.name if model.experimental else None,
    )


def _rest(model: type[BaseModel]) -> Shape:
    declared = model.__annotations__.get("__pydantic_extra__")
    return Anything() if declared is None else shape_of(get_args(declared)[1])


def _fields(model: type[BaseModel]) -> tuple[Field, ...]:
    hints = get_type_hints(model, include_extras=True)
    fields = []
    for name, info in model.model_fields.items():
        annotation = hints[name]
        metadata = annotation.__metadata__ if get_origin(annotation) is Annotated else ()
        fields.append(
            Field(
                name=info.alias or name,
                shape=shape_of(annotation),
                default=_REQUIRED if info.is_required() else info.get_default(call_default_factory=True),
                marks=frozenset(mark for mark in metadata if isinstance(mark, wire.Mark)),
                experimental=next((mark.name for mark in metadata if isinstance(mark, wire.Experimental)), None),
            )
        )
    return tuple(fields)


def _of_union(members: tuple[Any, ...], name: str | None) -> Shape:
    given = [member for member in members if member is not types.NoneType]
    if len(given) < len(members):
        inner = shape_of(given[0]) if len(given) == 1 else _of_union(tuple(given), name)
        return Nullable(inner)
    assert name is not None, f"a union without a name: {members}"
    shapes = tuple(shape_of(member) for member in given)
    if all(isinstance(member, type) and issubclass(member, wire.Variant) for member in given):
        return _tagged(name, shapes)
    if any(isinstance(member, type) and issubclass(member, wire.Keyed) for member in given):
        return _external(name, shapes)
    return Untagged(name, shapes)


def _tagged(name: str, shapes: tuple[Shape, ...]) -> Tagged:
    variants: dict[str, Struct] = {}
    synonyms: dict[str, str] = {}
    fallback = None
    tag = ""
    for shape in shapes:
        assert isinstance(shape, Struct)
        tag, words = _tag_of(shape)
        variants[words.words[0]] = shape
        synonyms |= words.synonyms
        if shape.is_fallback:
            fallback = words.words[0]
    return Tagged(name, tag, variants, synonyms, fallback)


def _tag_of(shape: Struct) -> tuple[str, Words]:
    for field in shape.fields:
        if isinstance(field.shape, Words) and field.shape.words == (field.default,):
            return field.name, field.shape
    raise AssertionError(f"{shape.title} has no field that tells it apart")


def _external(name: str, shapes: tuple[Shape, ...]) -> External:
    variants: dict[str, Struct | None] = {}
    for shape in shapes:
        if isinstance(shape, Words):
            variants.update(dict.fromkeys(shape.words))
        else:
            assert isinstance(shape, Struct)
            variants[shape.fields[0].name] = shape
    return External(name, variants)
