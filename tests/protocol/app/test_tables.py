"""Every message of every recorded conversation fits the model of its method, and is written as it was read."""

import importlib
import pkgutil
from functools import cache
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter

from pycodex.protocol import app
from pycodex.protocol.app.names import CLIENT_METHODS, EXPERIMENTAL_METHODS
from pycodex.protocol.app.shape import External, ListOf, MapOf, Nullable, Shape, Struct, Tagged, shape_of
from pycodex.protocol.app.tables import (
    CLIENT_REQUESTS,
    NEWER_NOTIFICATIONS,
    NEWER_REQUESTS,
    SERVER_NOTIFICATIONS,
    SERVER_REQUESTS,
)
from pycodex.supervisor.frontends.app_server.method import RpcError
from pycodex.supervisor.frontends.app_server.params import checked
from support.app_messages import Recorded, messages, restored
from support.interop import INTEROP

# Where a scenario is about what does not fit.
MEANT_TO_BE_WRONG = {
    ("policy-malformed-answers", "answer", "item/commandExecution/requestApproval"),
    ("rpc-errors", "params", "no/such"),
    ("rpc-lines", "params", "thread/loaded/list"),
    ("rpc-lines", "params", "thread/start"),
}

needs_recordings = pytest.mark.skipif(not INTEROP.is_dir(), reason=f"no recorded scenarios at {INTEROP}")


@cache
def recorded() -> list[Recorded]:
    return [each for each in messages() if (each.scenario, each.kind, each.method) not in MEANT_TO_BE_WRONG]


def undeclared(value: Any, shape: Shape, path: str = "") -> list[str]:
    """Fields that no model knows."""
    match shape:
        case Nullable():
            return [] if value is None else undeclared(value, shape.inner, path)
        case ListOf():
            return [each for item in value for each in undeclared(item, shape.item, path)]
        case MapOf():
            return [each for key, item in value.items() for each in undeclared(item, shape.value, f"{path}.{key}")]
        case Struct():
            known = {field.name: field.shape for field in shape.fields}
            unknown = [f"{path}.{key}" for key in value if key not in known and shape.rest is None]
            inner = [undeclared(item, known[key], f"{path}.{key}") for key, item in value.items() if key in known]
            return unknown + [each for found in inner for each in found]
        case Tagged():
            return undeclared(value, shape.variants[value[shape.tag]], path)
        case External():
            struct = shape.variants[next(iter(value))] if isinstance(value, dict) else None
            return [] if struct is None else undeclared(value, struct, path)
        case _:
            return []


@needs_recordings
def test_there_is_much_to_check() -> None:
    assert len(recorded()) > 1500
    assert {each.kind for each in recorded()} == {"params", "result", "notification", "question", "answer"}


@needs_recordings
def test_recorded_messages_can_be_read() -> None:
    wrong = []
    for each in recorded():
        if each.model is None:
            continue
        model = each.model if isinstance(each.model, type) else None
        value = restored(each.value, shape_of(each.model), each.dropped)
        try:
            if model is not None and issubclass(model, BaseModel):
                checked(model, value)
            else:
                TypeAdapter(each.model).validate_python(value)
        except (RpcError, ValueError) as error:
            wrong.append((each.scenario, each.kind, each.method, str(error)))
    assert wrong == []


@needs_recordings
def test_recorded_messages_hold_nothing_that_no_model_knows() -> None:
    wrong = []
    for each in recorded():
        if each.model is not None:
            found = undeclared(restored(each.value, shape_of(each.model), each.dropped), shape_of(each.model))
            wrong += [(each.scenario, each.kind, each.method, name) for name in found]
    assert wrong == []


@needs_recordings
def test_what_the_server_said_is_written_as_it_was_read() -> None:
    """Null where the reference writes null, nothing where it writes nothing."""
    wrong = []
    for each in recorded():
        if each.kind not in ("result", "notification", "question") or each.dropped:
            continue
        value = restored(each.value, shape_of(each.model), each.dropped)
        adapter = TypeAdapter(each.model)
        if adapter.dump_python(adapter.validate_python(value), mode="json") != value:
            wrong.append((each.scenario, each.kind, each.method))
    assert wrong == []


def test_names_are_those_of_the_table() -> None:
    assert tuple(CLIENT_REQUESTS) == CLIENT_METHODS
    assert {*CLIENT_METHODS, *NEWER_REQUESTS} >= EXPERIMENTAL_METHODS


def test_newer_methods_are_apart() -> None:
    assert set(CLIENT_REQUESTS) & set(NEWER_REQUESTS) == set()
    assert set(SERVER_NOTIFICATIONS) & set(NEWER_NOTIFICATIONS) == set()


def test_every_model_has_a_shape() -> None:
    tables = (*CLIENT_REQUESTS.values(), *SERVER_REQUESTS.values(), *NEWER_REQUESTS.values())
    models = [model for each in tables for model in (each.params, each.result) if model is not None]
    for model in (*models, *SERVER_NOTIFICATIONS.values(), *NEWER_NOTIFICATIONS.values()):
        assert shape_of(model) is not None
        TypeAdapter(model).rebuild()


def test_no_two_models_have_one_name() -> None:
    """Definitions of a schema are found by name."""
    names: dict[str, str] = {}
    for info in pkgutil.iter_modules(app.__path__):
        module = importlib.import_module(f"{app.__name__}.{info.name}")
        for name, value in vars(module).items():
            if isinstance(value, type) and issubclass(value, BaseModel) and value.__module__ == module.__name__:
                assert names.setdefault(name, module.__name__) == module.__name__
