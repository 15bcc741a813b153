"""Which shapes the interface has, by name, and which belongs where in what is written about it.

Owns the walk over the method tables and the split of names: what the second version of the interface uses, and what
only the messages around it do. Knows no notation: `json_schema` and `typescript` write these shapes down.
"""

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pycodex.protocol.app import envelope
from pycodex.protocol.app.names import EXPERIMENTAL_METHODS
from pycodex.protocol.app.shape import (
    External,
    ListOf,
    MapOf,
    Nullable,
    Shape,
    Struct,
    Tagged,
    Text,
    Untagged,
    Words,
    shape_of,
)
from pycodex.protocol.app.tables import (
    CLIENT_REQUESTS,
    NEWER_NOTIFICATIONS,
    NEWER_REQUESTS,
    SERVER_NOTIFICATIONS,
    SERVER_REQUESTS,
)
from pycodex.supervisor.frontends.app_server.methods import table

NAMED = (Text, ListOf, MapOf, Words, Struct, Tagged, External, Untagged)

# What is left of the first version: typed, but in no schema.
LEGACY_METHODS = frozenset({"getConversationSummary", "gitDiffToRemote", "getAuthStatus"})
# Outside of the second version, though not left over.
OUTER_METHODS = frozenset(
    {
        "initialize",
        "fuzzyFileSearch",
        "fuzzyFileSearch/sessionStart",
        "fuzzyFileSearch/sessionUpdate",
        "fuzzyFileSearch/sessionStop",
    }
)
OUTER_NOTIFICATIONS = frozenset({"fuzzyFileSearch/sessionUpdated", "fuzzyFileSearch/sessionCompleted"})
# Only for clients of one kind: it has a shape, but the union of all notifications does not name it.
INTERNAL_NOTIFICATIONS = frozenset({"rawResponseItem/completed"})

ENVELOPE = (
    envelope.RequestId,
    envelope.JSONRPCError,
    envelope.JSONRPCErrorError,
    envelope.JSONRPCMessage,
    envelope.JSONRPCNotification,
    envelope.JSONRPCRequest,
    envelope.JSONRPCResponse,
)


@dataclass(frozen=True, slots=True)
class Message:
    """A message by its method: what it carries, None for nothing, and what answers it."""

    method: str
    params: Shape | None
    result: Shape | None = None


def name_of(shape: Shape) -> str | None:
    return shape.name if isinstance(shape, NAMED) else None


def client_requests(*, experimental: bool) -> list[Message]:
    """Those that the server answers."""
    return [
        Message(method, shape_of(models.params) if models.params else None, shape_of(models.result))
        for method, models in (CLIENT_REQUESTS | NEWER_REQUESTS).items()
        if method in table.FILE_OF and (experimental or method not in EXPERIMENTAL_METHODS)
    ]


def server_requests() -> list[Message]:
    return [
        Message(method, shape_of(models.params), shape_of(models.result)) for method, models in SERVER_REQUESTS.items()
    ]


def server_notifications() -> list[Message]:
    return [Message(method, shape_of(model)) for method, model in (SERVER_NOTIFICATIONS | NEWER_NOTIFICATIONS).items()]


def carried(messages: Iterable[Message]) -> Iterator[Shape]:
    for message in messages:
        yield from (shape for shape in (message.params, message.result) if shape is not None)


def second_version(*, experimental: bool) -> list[Shape]:
    """What the methods and notifications of the second version carry."""
    outer = LEGACY_METHODS | OUTER_METHODS | OUTER_NOTIFICATIONS
    messages = [*client_requests(experimental=experimental), *server_notifications()]
    return list(carried(message for message in messages if message.method not in outer))


@functools.cache
def parts(shape: Shape) -> tuple[Shape, ...]:
    """The shapes that a shape is made of, one level down."""
    match shape:
        case Nullable():
            return (shape.inner,)
        case ListOf():
            return (shape.item,)
        case MapOf():
            return (shape.value,)
        case Struct():
            return (*(field.shape for field in shape.fields), *((shape.rest,) if shape.rest else ()))
        case Tagged():
            return tuple(shape.old_variants.values())
        case External():
            return tuple(struct for struct in shape.variants.values() if struct is not None)
        case Untagged():
            return shape.members
        case _:
            return ()


def reachable(shapes: Iterable[Shape]) -> dict[str, Shape]:
    """Every named shape that these are or use, by name and in its order."""
    found: dict[str, Shape] = {}
    waiting = list(shapes)
    while waiting:
        shape = waiting.pop()
        name = name_of(shape)
        if name is not None:
            if name in found:
                continue
            found[name] = shape
        waiting += parts(shape)
    return dict(sorted(found.items()))
