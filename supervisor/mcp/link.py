"""What carries messages to an MCP server and back, whichever way it is reached.

Owns the interface that `stdio` and `http` offer and `peer` uses, and the size of a message. Knows no method.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import trio

from pycodex.protocol.jsonrpc import Message
from pycodex.supervisor.mcp.failures import McpFailure

MOST_MESSAGE_BYTES = 32 << 20
"""Results may hold pictures; nothing that a server sends on purpose is longer."""
MOST_WAITING_MESSAGES = 64

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Undelivered:
    """A request has come to nothing on its way; without an id, all that are open have."""

    request_id: int | None
    failure: McpFailure


Incoming = Message | Undelivered


class Link(Protocol):
    """`run` it once, in a nursery; what it opened is closed when it is cancelled, or when the server is gone."""

    async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
        """Started once messages can be sent. Raises McpFailure before that."""
        ...

    async def send(self, message: Json) -> None:
        """Waits for room. Raises ConnectionLost."""
        ...

    def put(self, message: Json) -> None:
        """The same without waiting: where there is no room, it is left out."""
        ...

    async def receive(self) -> Incoming | None:
        """None after the last."""
        ...

    def agreed(self, protocol_version: str) -> None:
        """Both sides speak this version from now on."""
        ...

    def forget(self, request_id: int) -> None:
        """Nobody waits for the answer any more."""
        ...
