"""Parameters of requests: checked against their model, and against what the client has asked for.

Owns the two gates that a request passes before its method runs: its shape (in the words of `reading`), and the
experimental interface. Takes a model and decoded JSON, gives an instance of the model, or raises RpcError.
"""

from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import BaseModel

from pycodex.protocol.app.shape import External, Nullable, Shape, Struct, Tagged, shape_of
from pycodex.supervisor.frontends.app_server.method import RpcError
from pycodex.supervisor.frontends.app_server.reading import Unreadable, check_unit, read

Model = TypeVar("Model", bound=BaseModel)


def checked(model: type[Model], params: object) -> Model:
    """`params` as the model wants them. Null counts as not given."""
    if params is None:
        raise _invalid("missing field `params`")
    try:
        value = read(params, shape_of(model))
    except Unreadable as error:
        raise _invalid(str(error)) from None
    return model.model_validate(value)


def check_absent(params: object) -> None:
    """For methods without parameters: nothing, or something empty."""
    try:
        check_unit(params)
    except Unreadable as error:
        raise _invalid(str(error)) from None


def check_stable(params: BaseModel) -> None:
    """Refuse what is only for clients that asked for the experimental interface."""
    for name in _experimental_uses(params.model_dump(mode="json"), shape_of(type(params))):
        raise RpcError(requires_experimental(name))


def requires_experimental(name: str) -> str:
    """`name`: a method, or a field as the interface calls it."""
    return f"{name} requires experimentalApi capability"


def _invalid(text: str) -> RpcError:
    return RpcError(f"Invalid request: {text}")


def _experimental_uses(value: Any, shape: Shape) -> Iterator[str]:
    """In the order of the fields. Null, false and empty lists are no use."""
    match shape:
        case Nullable():
            if value is not None:
                yield from _experimental_uses(value, shape.inner)
        case Struct():
            if shape.experimental:
                yield shape.experimental
            for field in shape.fields:
                used = value.get(field.name)
                if used is None or used is False or used == []:
                    continue
                if field.experimental:
                    yield field.experimental
                yield from _experimental_uses(used, field.shape)
        case Tagged():
            yield from _experimental_uses(value, shape.variants[value[shape.tag]])
        case External():
            struct = shape.variants[next(iter(value))] if isinstance(value, dict) else None
            if struct is not None:
                yield from _experimental_uses(value, struct)
        case _:
            return
