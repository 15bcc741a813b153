"""Items of a thread as a person sees them: what was said, thought and looked up.

Owns the values that `item_started` and `item_completed` carry. The model's own items are in `items`.
"""

from pycodex.protocol.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar


class ThreadItem(Record):
    _tag: "ClassVar[str]" = ""

    def to_wire(self) -> "dict[str, Any]":
        return {"type": self._tag, **self.to_plain()}


class UserMessageItem(ThreadItem):
    _tag = "UserMessage"

    id: "str"
    content: "tuple[dict[str, Any], ...]"
    """The inputs: maps with a `type` of text, image, local_image, skill or mention."""
    client_id: "str | None" = None
    """What the client calls it."""

    def to_wire(self) -> "dict[str, Any]":
        wire = super().to_wire()
        if self.client_id is None:
            del wire["client_id"]
        return wire


class AgentMessageItem(ThreadItem):
    _tag = "AgentMessage"

    id: "str"
    content: "tuple[dict[str, str], ...]"
    """Maps `{"type": "Text", "text": ...}`."""
    phase: "str | None" = None

    @property
    def text(self) -> str:
        return "".join(part["text"] for part in self.content)


class ReasoningItem(ThreadItem):
    _tag = "Reasoning"

    id: "str"
    summary_text: "tuple[str, ...]"
    raw_content: "tuple[str, ...]" = ()


class WebSearchItem(ThreadItem):
    _tag = "WebSearch"

    id: "str"
    query: "str"
    action: "dict[str, Any]"


class PlanItem(ThreadItem):
    """What the model proposes to do, in plan mode."""

    _tag = "Plan"

    id: "str"
    text: "str"


class ContextCompactionItem(ThreadItem):
    """What was said so far becomes shorter."""

    _tag = "ContextCompaction"

    id: "str"


AnyThreadItem = UserMessageItem | AgentMessageItem | ReasoningItem | WebSearchItem | PlanItem | ContextCompactionItem
