"""Events about what the person and the model say."""

from pycodex.protocol.events.event import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pycodex.protocol.thread_items import AnyThreadItem


class UserMessage(Event):
    _tag = "user_message"
    _optional = ("client_id",)
    _persisted = True

    message: "str"
    images: "tuple[str, ...]" = ()
    local_images: "tuple[str, ...]" = ()
    text_elements: "tuple[dict[str, Any], ...]" = ()
    client_id: "str | None" = None
    """What the client calls it."""


class AgentMessage(Event):
    _tag = "agent_message"
    _persisted = True

    message: "str"
    phase: "str | None" = None
    memory_citation: "dict[str, Any] | None" = None


class AgentReasoning(Event):
    """One part of the summary of what the model thought."""

    _tag = "agent_reasoning"
    _persisted = True

    text: "str"


class AgentReasoningRawContent(Event):
    _tag = "agent_reasoning_raw_content"
    _persisted = True

    text: "str"


class ItemStarted(Event):
    _tag = "item_started"

    thread_id: "str"
    turn_id: "str"
    item: "AnyThreadItem"

    def to_wire(self) -> "dict[str, Any]":
        return {**super().to_wire(), "item": self.item.to_wire()}


class ItemCompleted(Event):
    _tag = "item_completed"

    thread_id: "str"
    turn_id: "str"
    item: "AnyThreadItem"

    def to_wire(self) -> "dict[str, Any]":
        return {**super().to_wire(), "item": self.item.to_wire()}


class PlanCompleted(ItemCompleted):
    """The same for a plan, which every session file keeps."""

    _persisted = True


class RawResponseItem(Event):
    """An item as the model sees it, for those who want to follow the conversation itself."""

    _tag = "raw_response_item"

    turn_id: "str"
    item: "dict[str, Any]"


class PlanDelta(Event):
    _tag = "plan_delta"

    thread_id: "str"
    turn_id: "str"
    item_id: "str"
    delta: "str"


class AgentMessageContentDelta(Event):
    _tag = "agent_message_content_delta"

    thread_id: "str"
    turn_id: "str"
    item_id: "str"
    delta: "str"


class ReasoningContentDelta(Event):
    _tag = "reasoning_content_delta"

    thread_id: "str"
    turn_id: "str"
    item_id: "str"
    delta: "str"
    summary_index: "int"


class ReasoningRawContentDelta(Event):
    _tag = "reasoning_raw_content_delta"

    thread_id: "str"
    turn_id: "str"
    item_id: "str"
    delta: "str"
    content_index: "int"


class AgentReasoningSectionBreak(Event):
    _tag = "agent_reasoning_section_break"

    item_id: "str"
    summary_index: "int"


class WebSearchBegin(Event):
    _tag = "web_search_begin"

    call_id: "str"


class WebSearchEnd(Event):
    _tag = "web_search_end"
    _persisted_at_length = True

    call_id: "str"
    query: "str"
    action: "dict[str, Any]"
