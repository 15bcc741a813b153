"""Messages between the app-server and its clients: JSON-RPC without the member that names it.

Owns the envelope: what a line may be, and how an answer, a notification or a request of ours is written. Knows no
method and no transport.
"""

import json

from pycodex.protocol.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    RequestId = str | int
    Json = dict[str, Any]

_INT64 = range(-(1 << 63), 1 << 63)
_INFINITY = float("inf")
MOST_LEVELS = 127
"""Of lists and maps within each other: what is deeper is read by none of those who share our files and streams."""


def _refuse_constant(name: "str") -> "Any":
    raise ValueError(f"{name} is no JSON")


def _finite_number(text: "str") -> "float":
    number = float(text)
    if not -_INFINITY < number < _INFINITY:
        raise ValueError("a number is out of range")
    return number


_decode = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite_number).decode
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


class Request(Record):
    """`params` is None where none were given; an explicit null says the same."""

    id: "RequestId"
    method: "str"
    params: "Any" = None


class Notification(Record):
    method: "str"
    params: "Any" = None


class Response(Record):
    """The answer of the client to a request of ours."""

    id: "RequestId"
    result: "Any"


class Failure(Record):
    """The same, where the client could not fulfil it."""

    id: "RequestId"
    error: "Any"


Message = Request | Notification | Response | Failure


def decode(data: "bytes | str") -> "Message | None":
    """None for what is no message; nobody can be told, as it names no request."""
    try:
        raw = _decode(data if isinstance(data, str) else data.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    if type(raw) is not dict or _is_too_deep(raw):
        return None
    request_id, method = _id(raw.get("id")), raw.get("method")
    if type(method) is str:
        params = raw.get("params")
        if request_id is None:
            return Notification(method=method, params=params)
        return Request(id=request_id, method=method, params=params)
    if request_id is not None and "result" in raw:
        return Response(id=request_id, result=raw["result"])
    if request_id is not None and type(raw.get("error")) is dict:
        return Failure(id=request_id, error=raw["error"])
    return None


def _is_too_deep(value: "Json") -> bool:
    level: list[Any] = [value]
    for _ in range(MOST_LEVELS):
        level = [
            item
            for each in level
            for item in (each.values() if type(each) is dict else each)
            if type(item) is dict or type(item) is list
        ]
        if not level:
            return False
    return True


def _id(value: object) -> "RequestId | None":
    if type(value) is str:
        return value
    return value if type(value) is int and value in _INT64 else None


def encode(message: "Json") -> bytes:
    """Without the end of a line."""
    try:
        text = _encode(message)
    except ValueError:
        text = _encode(_finite(message))
    # Half a surrogate pair is no character; nobody could read a line that held one.
    return text.encode("utf-8", "replace")


def _finite(value: "Any") -> "Any":
    """Without numbers that JSON cannot tell, which a model may have sent nevertheless: null stands for them."""
    if type(value) is dict:
        return {key: _finite(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return [_finite(item) for item in value]
    return None if type(value) is float and not -_INFINITY < value < _INFINITY else value


def answer(request_id: "RequestId", result: "Any") -> "Json":
    return {"id": request_id, "result": result}


def error_answer(request_id: "RequestId", *, code: int, message: str, data: object = None) -> "Json":
    error: Json = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return {"error": error, "id": request_id}
