"""The experimental part of the interface, which a client must have asked for.

Owns which fields belong to it. Which methods do, they say themselves. A field that says nothing, such as null, false or
an empty list, is no use of it.
"""

from collections.abc import Iterator
from typing import Any

from pycodex.supervisor.frontends.app_server.method import Method, RpcError

_FIELDS = {
    "thread/start": {
        "dynamicTools": "dynamicTools",
        "mockExperimentalField": "mockExperimentalField",
        "experimentalRawEvents": "experimentalRawEvents",
        "persistExtendedHistory": "persistFullHistory",
    },
    "thread/resume": {"history": "history", "path": "path", "persistExtendedHistory": "persistFullHistory"},
    "thread/fork": {"path": "path", "persistExtendedHistory": "persistFullHistory"},
    "turn/start": {"collaborationMode": "collaborationMode"},
}
"""By method: the field as it is written, and the name by which it is refused."""


def refuse_experimental(method: Method, params: Any) -> None:
    """Raises RpcError for the first use."""
    for use in _uses(method, params if isinstance(params, dict) else {}):
        raise RpcError(f"{use} requires experimentalApi capability")


def _uses(method: Method, params: dict[str, Any]) -> Iterator[str]:
    if method.experimental:
        yield method.name
    policy = params.get("approvalPolicy")
    if isinstance(policy, dict) and "granular" in policy:
        yield "askForApproval.granular"
    for field, name in _FIELDS.get(method.name, {}).items():
        if params.get(field):
            yield f"{method.name}.{name}"
