"""Messages between clients and the reference's app-server, as scenarios recorded them.

Owns what recording took away: values that change from run to run stand as placeholders, some fields were dropped, and
an answer does not say which request it answers. `messages` finds that out again; `restored` puts something in the
place of what is gone, so that a message can be read.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pycodex.protocol.app.shape import (
    Boolean,
    External,
    Integer,
    ListOf,
    MapOf,
    Nullable,
    Shape,
    Struct,
    Tagged,
    Text,
    Words,
    shape_of,
)
from pycodex.protocol.app.tables import CLIENT_REQUESTS, SERVER_NOTIFICATIONS, SERVER_REQUESTS
from pycodex.protocol.app.wire import ABSOLUTE
from support.interop import INTEROP

PLACEHOLDER = "<v>"
# Told beside the other messages, without the ids that they carry.
ASIDE = {
    "status": ("thread/status/changed", {"threadId": ""}),
    "tokenUsage": ("thread/tokenUsage/updated", {"threadId": "", "turnId": ""}),
}


@dataclass(frozen=True)
class Recorded:
    scenario: str
    kind: str
    """`params`, `result`, `notification`, `question` or `answer`."""
    method: str
    value: Any
    dropped: frozenset[str]

    @property
    def model(self) -> Any:
        if self.kind == "notification":
            return SERVER_NOTIFICATIONS[self.method]
        table = SERVER_REQUESTS if self.kind in ("question", "answer") else CLIENT_REQUESTS
        models = table[self.method]
        return models.params if self.kind in ("params", "question") else models.result


def messages() -> Iterator[Recorded]:
    for path in sorted((INTEROP / "expected").glob("*.json")):
        scenario = json.loads((INTEROP / "scenarios" / path.name).read_text(encoding="utf-8"))
        expected = json.loads(path.read_text(encoding="utf-8"))
        for asked, heard in zip(scenario["runs"], expected.get("runs", ()), strict=False):
            if asked.get("args", ["app-server"])[0] == "app-server" and "rpc" in asked:
                yield from _run(path, asked["rpc"], heard, frozenset(scenario.get("drop", ())))


def _run(path: Path, steps: list[Any], heard: dict[str, Any], dropped: frozenset[str]) -> Iterator[Recorded]:
    def recorded(kind: str, method: str, value: object) -> Recorded:
        return Recorded(path.stem, kind, method, value, dropped)

    waiting: list[tuple[str, bool]] = []
    for step in steps:
        method = step.get("call") or step.get("send")
        if method:
            waiting.append((method, "call" in step))
            yield recorded("params", method, step.get("params", {}))
        elif "raw" in step:
            waiting += [(found, True) for found in _asked_by_line(step["raw"])]
        elif "answer" in step:
            given = step.get("results", [step["result"]] if "result" in step else [])
            yield from (recorded("answer", step["answer"], value) for value in given)
    for message in heard.get("messages", ()):
        if "notification" in message:
            yield recorded("notification", message["notification"], message["params"])
        elif "server_request" in message:
            yield recorded("question", message["server_request"], message["params"])
        elif "answer" in message:
            method = _answered(message["answer"], waiting, dropped)
            if "result" in message["answer"]:
                yield recorded("result", method, message["answer"]["result"])
    for key, (method, ids) in ASIDE.items():
        for value in heard.get(key, ()):
            yield recorded("notification", method, {**ids, key: value})


def _asked_by_line(line: str) -> list[str]:
    try:
        message = json.loads(line)
    except ValueError:
        return []
    return [message["method"]] if isinstance(message, dict) and "method" in message and "id" in message else []


def _answered(answer: dict[str, Any], waiting: list[tuple[str, bool]], dropped: frozenset[str]) -> str:
    """The first request that it can be the answer to: one that was not waited for may be answered later."""
    for index, (method, is_waited_for) in enumerate(waiting):
        if _fits(answer["result"], method, dropped) if "result" in answer else is_waited_for:
            del waiting[index]
            return method
    raise AssertionError(f"{answer} answers none of {waiting}")


def _fits(result: dict[str, Any], method: str, dropped: frozenset[str]) -> bool:
    if method not in CLIENT_REQUESTS:
        return False
    shape = shape_of(CLIENT_REQUESTS[method].result)
    if not isinstance(shape, Struct):
        return True
    required = {field.name for field in shape.fields if field.is_required} - dropped
    return required <= set(result) <= {field.name for field in shape.fields}


def restored(value: Any, shape: Shape, dropped: frozenset[str]) -> Any:
    """With a number where one was hidden, and with something in each field that was dropped."""
    match shape:
        case Nullable():
            return None if value is None else restored(value, shape.inner, dropped)
        case Integer() if value == PLACEHOLDER:
            return 1
        case Text() if shape.kind is ABSOLUTE:
            return value if value.startswith("/") else f"/{value}"
        case ListOf() if isinstance(value, list):
            return [restored(item, shape.item, dropped) for item in value]
        case MapOf() if isinstance(value, dict):
            return {key: restored(item, shape.value, dropped) for key, item in value.items()}
        case Struct() if isinstance(value, dict):
            return _restored_struct(value, shape, dropped)
        case Tagged() if isinstance(value, dict) and value.get(shape.tag) in shape.variants:
            return _restored_struct(value, shape.variants[value[shape.tag]], dropped)
        case External() if isinstance(value, dict):
            struct = shape.variants.get(next(iter(value), ""))
            return value if struct is None else _restored_struct(value, struct, dropped)
        case _:
            return value


def _restored_struct(value: dict[str, Any], shape: Struct, dropped: frozenset[str]) -> dict[str, Any]:
    by_name = {field.name: field for field in shape.fields}
    whole = {
        key: restored(item, by_name[key].shape, dropped) if key in by_name else item for key, item in value.items()
    }
    for name in dropped & {field.name for field in shape.fields if field.is_required} - set(whole):
        whole[name] = _anything(by_name[name].shape)
    return whole


def _anything(shape: Shape) -> Any:
    match shape:
        case Text():
            return "/"
        case Integer():
            return 0
        case Boolean():
            return False
        case ListOf():
            return []
        case Words():
            return shape.words[0]
        case Tagged():
            return {shape.tag: next(iter(shape.variants))}
        case External():
            return next(word for word, struct in shape.variants.items() if struct is None)
        case Struct():
            return {field.name: _anything(field.shape) for field in shape.fields if field.is_required}
        case _:
            return None
