"""Messages to an app-server that nobody in his right mind would send, or only almost.

Owns their making, from the shapes of the interface and from a seed; no text has a slash in it, so that none of them
names a place outside of the current directory. Sends nothing.
"""

import random
from collections.abc import Iterable
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from pycodex.protocol.app.shape import (
    Boolean,
    External,
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
from pycodex.protocol.app.tables import CLIENT_REQUESTS, NEWER_REQUESTS
from pycodex.supervisor.frontends.app_server.methods import table

THREAD = "THREAD"
"""Stands for the id of a thread that is loaded."""

# They would run programs, store a key, or tell the world.
_LEFT_OUT = ("command/exec", "account/login/start", "feedback/upload")
METHODS = [name for name in table.NAMES if name not in _LEFT_OUT]

T = TypeVar("T")
_TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="/"), max_size=8)
_PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 65), 1 << 65)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXTS
)
_ANY = st.recursive(
    _PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3), max_leaves=8
)


def drawn(strategy: st.SearchStrategy[T], count: int) -> list[T]:
    """The same in every run."""
    found: list[T] = []

    @seed(7)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(value: T) -> None:
        found.append(value)

    collect()
    return found


def odd_messages(count: int) -> list[dict[str, Any]]:
    """About so many: requests of every method without an id, and in their midst what is no request."""
    each = max(1, count * 3 // 4 // len(METHODS))
    found = [message for method in METHODS for message in drawn(_request(method), each)]
    found += drawn(_other_messages(), count // 4)
    random.Random(count).shuffle(found)
    return found


def _other_messages() -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        st.fixed_dictionaries({"method": st.sampled_from(METHODS) | _TEXTS, "params": _ANY}),
        st.fixed_dictionaries({"id": st.integers(0, 5), "result": _ANY}),
        st.fixed_dictionaries({"id": st.integers(0, 5), "error": _ANY}),
        st.dictionaries(st.sampled_from(("id", "method", "params", "result", "error", "jsonrpc")), _ANY),
    )


def _request(method: str) -> st.SearchStrategy[dict[str, Any]]:
    known = CLIENT_REQUESTS.get(method) or NEWER_REQUESTS.get(method)
    params = st.none() if known is None or known.params is None else _of_shape(shape_of(known.params))
    return st.fixed_dictionaries({"method": st.just(method), "params": params})


def _of_shape(shape: Shape) -> st.SearchStrategy[Any]:
    """Mostly what is wanted, and now and then something else."""
    return st.integers(0, 15).flatmap(lambda number: _ANY if number == 0 else _right(shape))


def _right(shape: Shape) -> st.SearchStrategy[Any]:
    match shape:
        case Nullable():
            return st.none() | _of_shape(shape.inner)
        case Text():
            return _TEXTS
        case Boolean():
            return st.booleans()
        case Integer():
            return st.integers(shape.number.least, shape.number.most)
        case Real():
            return st.floats(allow_nan=False, allow_infinity=False)
        case ListOf():
            return st.lists(_of_shape(shape.item), max_size=2)
        case MapOf():
            return st.dictionaries(_TEXTS, _of_shape(shape.value), max_size=2)
        case Words():
            return st.sampled_from(shape.words)
        case Struct():
            return _struct(shape)
        case Tagged():
            return st.sampled_from(sorted(shape.variants)).flatmap(lambda word: _tagged(shape, word))
        case External():
            return st.sampled_from(sorted(shape.variants)).flatmap(lambda word: _external(shape, word))
        case Untagged():
            return st.sampled_from(shape.members).flatmap(_of_shape)
        case _:
            return _ANY


def _struct(shape: Struct) -> st.SearchStrategy[dict[str, Any]]:
    fields = {field.name: _field(field.name, field.shape) for field in shape.fields}
    required = {field.name: fields[field.name] for field in shape.fields if field.is_required}
    optional = {name: each for name, each in fields.items() if name not in required}
    return st.fixed_dictionaries(required, optional=optional)


def _field(name: str, shape: Shape) -> st.SearchStrategy[Any]:
    return st.just(THREAD) | st.just(THREAD) | _TEXTS if name == "threadId" else _of_shape(shape)


def _tagged(shape: Tagged, word: str) -> st.SearchStrategy[dict[str, Any]]:
    return _struct(shape.variants[word]).map(lambda value: {**value, shape.tag: word})


def _external(shape: External, word: str) -> st.SearchStrategy[Any]:
    struct = shape.variants[word]
    return st.just(word) if struct is None else _struct(struct)


def mutated(lines: Iterable[bytes], chooser: random.Random) -> bytes:
    """One of the lines, with some of its bytes changed, lost, doubled or put elsewhere; never more than one line."""
    data = bytearray(chooser.choice(list(lines)))
    for _ in range(chooser.randrange(1, 6)):
        start = chooser.randrange(len(data) + 1)
        end = min(len(data), start + chooser.randrange(1, 9))
        piece = bytes(data[start:end])
        match chooser.randrange(4):
            case 0:
                data[start:end] = chooser.randbytes(end - start)
            case 1:
                del data[start:end]
            case 2:
                data[start:start] = piece * chooser.randrange(1, 50)
            case _:
                data[start:start] = chooser.choice((b"[" * 2000, b"{", b'"', b"\\ud800", b"\xff", b"1e999", b"\0"))
    return bytes(data).replace(b"\n", b" ")
