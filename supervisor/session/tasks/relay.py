"""What a reviewer does, told by the thread that it works for.

Owns which of its events are told there and how: under the review's own ids, apart from the id by which the beginning of
its turn is told. The last message is not among them: it is the report. Which one is the last is known only when another
one follows or none does, so a message waits until then. Pure.
"""

from collections.abc import Iterator
from typing import Any

from pycodex.protocol.events.exec import ExecCommandEnd
from pycodex.protocol.events.mcp import McpStartupComplete, McpStartupUpdate
from pycodex.protocol.events.message import (
    AgentMessage,
    AgentMessageContentDelta,
    ItemCompleted,
    ItemStarted,
    RawResponseItem,
    UserMessage,
)
from pycodex.protocol.events.patch import PatchApplyEnd
from pycodex.protocol.events.turn import ShutdownComplete, TaskComplete, TaskStarted, TokenCount, TurnAborted
from pycodex.protocol.events.union import AnyEvent
from pycodex.protocol.thread_items import AgentMessageItem
from pycodex.protocol.turn_context import TurnContext

# Its own business: what its thread is, what it takes, how it ends.
_KEPT = (AgentMessageContentDelta, RawResponseItem, ShutdownComplete, TaskComplete, TokenCount, TurnAborted)
_ENDS = (ExecCommandEnd, PatchApplyEnd)
# It has servers of its own, which start before its turn does.
_SERVERS = (McpStartupUpdate, McpStartupComplete)


class Relay:
    """Of one reviewer to `turn`, the review."""

    def __init__(self, turn: TurnContext) -> None:
        self._ids = {"thread_id": turn.thread_id, "turn_id": turn.turn_id}
        self._has_begun = False
        self._message: list[AnyEvent] = []
        """The last one so far, in all its events."""

    def told(self, event: AnyEvent) -> Iterator[AnyEvent]:
        """What is to be told now that this has happened."""
        if isinstance(event, TaskStarted):
            self._has_begun = True
            yield event
        elif isinstance(event, _KEPT) or not (self._has_begun or isinstance(event, _SERVERS)):
            # What else a thread tells before its first turn, its parent has told of itself.
            return
        elif _is_message(event):
            yield from self._earlier_message(event)
        else:
            yield self._renamed(event)
            if isinstance(event, UserMessage):
                # The reference has it twice in the session files of reviews, and so have we.
                yield event

    def told_at_the_end(self, event: AnyEvent) -> Iterator[AnyEvent]:
        """The same once the reviewer is told to end: what has begun still ends."""
        if isinstance(event, _ENDS):
            yield self._renamed(event)

    def _earlier_message(self, event: AnyEvent) -> Iterator[AnyEvent]:
        if isinstance(event, ItemStarted):
            yield from self._message
            self._message = []
        self._message.append(self._renamed(event))

    def _renamed(self, event: AnyEvent) -> AnyEvent:
        ids: dict[str, Any] = {name: value for name, value in self._ids.items() if name in event._fields}
        return event.replace(**ids)


def _is_message(event: AnyEvent) -> bool:
    if isinstance(event, ItemStarted | ItemCompleted):
        return isinstance(event.item, AgentMessageItem)
    return isinstance(event, AgentMessage)
