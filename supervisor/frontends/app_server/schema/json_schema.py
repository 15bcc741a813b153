"""Shapes as JSON Schema (draft 7), and the files that `generate-json-schema` writes.

Owns the notation and the layout of the directory: one file a message, bundles of all of them. Takes nothing but
whether the experimental part is wanted, gives schemas by path. Writes no file: the command line does.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import BaseModel

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
    shape_of,
)
from pycodex.protocol.app.wire import SPARSE
from pycodex.supervisor.frontends.app_server.schema import definitions
from pycodex.supervisor.frontends.app_server.schema.definitions import ENVELOPE, Message, name_of, reachable

Schema = Any
Locate = Callable[[str], str]

_DRAFT = "http://json-schema.org/draft-07/schema#"
_FORMATS = {
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "usize": "uint",
    "i32": "int32",
    "i64": "int64",
}


def _beside(name: str) -> str:
    return f"#/definitions/{name}"


class Writer:
    """Writes shapes down; `locate` says where the definition of a name is."""

    def __init__(self, *, experimental: bool, locate: Locate = _beside) -> None:
        self._experimental = experimental
        self._locate = locate

    def use(self, shape: Shape) -> Schema:
        """The shape where it is used: by reference if it has a name."""
        name = name_of(shape)
        if name is not None and not _is_inlined(shape):
            return {"$ref": self._locate(name)}
        return self.body(shape)

    def body(self, shape: Shape) -> Schema:
        match shape:
            case Anything():
                return True
            case Boolean():
                return {"type": "boolean"}
            case Real():
                return {"type": "number", "format": "double"}
            case Text():
                return {"type": "string"}
            case Integer():
                return self._integer(shape)
            case Nullable():
                return _or_null(self.use(shape.inner))
            case ListOf():
                return {"type": "array", "items": self.use(shape.item)}
            case MapOf():
                return {"type": "object", "additionalProperties": self.use(shape.value)}
            case Words():
                return {"type": "string", "enum": list(shape.words)}
            case Struct():
                return self._struct(shape)
            case Tagged():
                return {"oneOf": [self._variant(struct, shape.tag) for struct in shape.old_variants.values()]}
            case External():
                return self._external(shape)
            case Untagged():
                return {"anyOf": [self.use(member) for member in shape.members]}

    def _integer(self, shape: Integer) -> Schema:
        schema = {"type": "integer", "format": _FORMATS[shape.number.rust]}
        return schema if shape.number.least < 0 else {**schema, "minimum": 0.0}

    def _struct(self, shape: Struct) -> Schema:
        fields = [field for field in shape.fields if self._experimental or field.experimental is None]
        schema: dict[str, Any] = {"type": "object"}
        required = sorted(field.name for field in fields if field.is_required)
        if required:
            schema["required"] = required
        if fields:
            schema["properties"] = {field.name: self._property(field) for field in sorted(fields, key=_name)}
        if shape.rest is not None:
            schema["additionalProperties"] = self.use(shape.rest)
        if shape.is_closed:
            schema["additionalProperties"] = False
        return schema

    def _property(self, field: Field) -> Schema:
        schema = self.use(field.shape)
        if field.is_required or field.default is None or SPARSE in field.marks:
            return schema
        default = field.default.model_dump(mode="json") if isinstance(field.default, BaseModel) else field.default
        return {"default": default, "allOf": [schema]} if "$ref" in schema else {"default": default, **schema}

    def _variant(self, struct: Struct, tag: str) -> Schema:
        schema = self._struct(struct)
        title = struct.title
        words = next(field.shape for field in struct.fields if field.name == tag)
        assert isinstance(words, Words)
        return {
            **schema,
            "required": sorted({*schema.get("required", ()), tag}),
            "properties": {**schema["properties"], tag: _single(words.words[0], f"{title}Type")},
            "title": title,
        }

    def _external(self, shape: External) -> Schema:
        words = [word for word, struct in shape.variants.items() if struct is None]
        keyed = [struct for struct in shape.variants.values() if struct is not None]
        choices: list[Schema] = [{"type": "string", "enum": words}] if words else []
        choices += [{**self._struct(struct), "additionalProperties": False, "title": struct.title} for struct in keyed]
        return {"oneOf": choices}

    def message(self, message: Message, kind: str) -> Schema:
        """One entry of the union of all requests, or of all notifications."""
        title = f"{message.method[0].upper()}{message.method[1:]}{kind}"
        properties: dict[str, Schema] = {"method": _single(message.method, f"{title}Method")}
        required = ["method"]
        if kind == "Request":
            properties = {"id": self.use(shape_of(ENVELOPE[0])), **properties}
            required = ["id", "method"]
        if message.params is not None:
            properties["params"] = self.use(message.params)
            required = [*required, "params"]
        elif kind == "Request":
            properties["params"] = {"type": "null"}
        return {"type": "object", "required": required, "properties": properties, "title": title}


def _name(field: Field) -> str:
    return field.name


def _single(word: str, title: str) -> Schema:
    return {"type": "string", "enum": [word], "title": title}


def _or_null(schema: Schema) -> Schema:
    if schema is True:
        return True
    if isinstance(schema.get("type"), str) and "enum" not in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


# Files


def files(*, experimental: bool) -> dict[str, Schema]:
    """Schemas by path below the directory."""
    writer = Writer(experimental=experimental)
    written = {
        f"{title}.json": _file(writer, title, shapes) for title, shapes in _tops(experimental=experimental).items()
    }
    for title, (schema, shapes) in _unions(writer, experimental=experimental).items():
        written[f"{title}.json"] = _titled(title, schema, _definitions(writer, shapes))
    written["codex_app_server_protocol.schemas.json"] = _nested_bundle(experimental=experimental)
    written["codex_app_server_protocol.v2.schemas.json"] = _flat_bundle(experimental=experimental)
    return written


def _tops(*, experimental: bool) -> dict[str, Shape]:
    """What has a file of its own, by its path without the suffix."""
    tops = {_own_name(shape): shape for shape in map(shape_of, ENVELOPE)}
    tops |= {_own_name(shape): shape for shape in definitions.carried(definitions.server_requests())}
    for message in [*definitions.client_requests(experimental=experimental), *definitions.server_notifications()]:
        if message.method in definitions.LEGACY_METHODS:
            continue
        for shape in definitions.carried([message]):
            tops[_folder(message.method) + _own_name(shape)] = shape
    return tops


def _own_name(shape: Shape) -> str:
    name = name_of(shape)
    assert name is not None
    return name


def _folder(method: str) -> str:
    if method == "initialize":
        return "v1/"
    outer = definitions.OUTER_METHODS | definitions.OUTER_NOTIFICATIONS
    return "" if method in outer else "v2/"


def _file(writer: Writer, path: str, shape: Shape) -> Schema:
    used = _definitions(writer, definitions.parts(shape))
    return _titled(path.rpartition("/")[2], writer.body(shape), used)


def _titled(title: str, schema: Schema, used: dict[str, Schema]) -> Schema:
    head = {"$schema": _DRAFT, "title": title, **schema}
    return {**head, "definitions": used} if used else head


def _definitions(writer: Writer, shapes: Iterable[Shape]) -> dict[str, Schema]:
    return {name: writer.body(shape) for name, shape in reachable(shapes).items() if not _is_inlined(shape)}


def _unions(writer: Writer, *, experimental: bool) -> dict[str, tuple[Schema, list[Shape]]]:
    """The unions of all messages of a kind, each with the shapes that it uses."""
    groups = {
        "ClientRequest": ("Request", definitions.client_requests(experimental=experimental)),
        "ServerRequest": ("Request", definitions.server_requests()),
        "ServerNotification": ("Notification", definitions.server_notifications()),
        "ClientNotification": ("Notification", [Message("initialized", params=None)]),
    }
    unions = {}
    for title, (kind, messages) in groups.items():
        left_out = definitions.LEGACY_METHODS | definitions.INTERNAL_NOTIFICATIONS
        shown = [message for message in messages if message.method not in left_out]
        shapes = [message.params for message in shown if message.params is not None]
        if kind == "Request":
            shapes.append(shape_of(ENVELOPE[0]))
        unions[title] = {"oneOf": [writer.message(message, kind) for message in shown]}, shapes
    return unions


def _nested_bundle(*, experimental: bool) -> Schema:
    """Everything; what the second version uses is in a namespace of its own."""
    tops = _tops(experimental=experimental)
    inner = reachable(definitions.second_version(experimental=experimental))
    outer = {name: shape for name, shape in reachable(tops.values()).items() if name not in inner}

    def locate(name: str) -> str:
        return f"#/definitions/v2/{name}" if name in inner else f"#/definitions/{name}"

    writer = Writer(experimental=experimental, locate=locate)
    own = _bundled(writer, {**outer, "RequestId": shape_of(ENVELOPE[0])}, tops)
    for title, (schema, _) in _unions(writer, experimental=experimental).items():
        own[title] = {"title": title, **schema}
    everything = {**dict(sorted(own.items())), "v2": _bundled(writer, inner, tops)}
    return {"$schema": _DRAFT, "title": "CodexAppServerProtocol", "type": "object", "definitions": everything}


def _flat_bundle(*, experimental: bool) -> Schema:
    """The second version and what its messages are wrapped in, without namespaces."""
    writer = Writer(experimental=experimental)
    unions = _unions(writer, experimental=experimental)
    shapes = definitions.second_version(experimental=experimental)
    named: dict[str, Schema] = {}
    for title in ("ClientRequest", "ServerNotification"):
        schema, used = unions[title]
        named[title] = {"title": title, **schema}
        shapes += used
    flat = {**_bundled(writer, reachable(shapes), _tops(experimental=experimental)), **named}
    everything = dict(sorted(flat.items()))
    return {"$schema": _DRAFT, "title": "CodexAppServerProtocolV2", "type": "object", "definitions": everything}


def _bundled(writer: Writer, shapes: Mapping[str, Shape], tops: Iterable[str]) -> dict[str, Schema]:
    """What has a file of its own has a title here too."""
    titled = {path.rpartition("/")[2] for path in tops}
    return {
        name: {"title": name, **writer.body(shape)} if name in titled else writer.body(shape)
        for name, shape in shapes.items()
        if not _is_inlined(shape)
    }


def _is_inlined(shape: Shape) -> bool:
    return isinstance(shape, ListOf)
