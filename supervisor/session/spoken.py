"""What the model says and thinks, told as events while it comes in.

Owns the active item of a stream: the one that deltas belong to. Turns items of the model into items of the thread.
Records nothing.
"""

from typing import TYPE_CHECKING, TypeGuard

from pycodex.protocol.events.message import (
    AgentMessage,
    AgentMessageContentDelta,
    AgentReasoning,
    AgentReasoningRawContent,
    AgentReasoningSectionBreak,
    ItemCompleted,
    ItemStarted,
    ReasoningContentDelta,
    ReasoningRawContentDelta,
    WebSearchBegin,
    WebSearchEnd,
)
from pycodex.protocol.ids import new_turn_id
from pycodex.protocol.items import texts_of
from pycodex.protocol.thread_items import AgentMessageItem, AnyThreadItem, ReasoningItem, WebSearchItem
from pycodex.protocol.turn_context import PLAN_MODE, TurnContext
from pycodex.supervisor.session.journal import Journal
from pycodex.supervisor.session.spoken_plan import SpokenPlan

if TYPE_CHECKING:
    from pycodex.protocol.items import Item


class Spoken:
    """For one stream."""

    def __init__(self, journal: Journal, turn: TurnContext) -> None:
        self._journal = journal
        self._turn = turn
        self._active: AnyThreadItem | None = None
        self._planned: SpokenPlan | None = None
        self.last_message: str | None = None

    def begun(self, item: "Item") -> None:
        shown = shown_item(item)
        if shown is None:
            return
        self._active = shown
        if self._is_planning(shown):
            self._planned = SpokenPlan(self._journal, self._turn, shown)
        else:
            self._start(shown)

    def done(self, item: "Item") -> None:
        shown = shown_item(item)
        if shown is None:
            return
        if self._is_planning(shown):
            self._planned_done(shown)
            return
        if self._active is None:
            self._start(shown)
        else:
            shown = shown.replace(id=self._active.id)
        self._active = None
        self._journal.tell(ItemCompleted(thread_id=self._turn.thread_id, turn_id=self._turn.turn_id, item=shown))
        self._tell_plainly(shown)

    def _is_planning(self, shown: AnyThreadItem) -> TypeGuard[AgentMessageItem]:
        return self._turn.mode == PLAN_MODE and isinstance(shown, AgentMessageItem)

    def _planned_done(self, shown: AgentMessageItem) -> None:
        planned = self._planned or SpokenPlan(self._journal, self._turn, shown)
        self._active = self._planned = None
        said = planned.done(shown)
        if said is not None:
            self._tell_plainly(said)

    def _start(self, shown: AnyThreadItem) -> None:
        self._journal.tell(ItemStarted(thread_id=self._turn.thread_id, turn_id=self._turn.turn_id, item=shown))
        if isinstance(shown, WebSearchItem):
            self._journal.tell(WebSearchBegin(call_id=shown.id))

    def _tell_plainly(self, shown: AnyThreadItem) -> None:
        """The events that session files keep."""
        if isinstance(shown, AgentMessageItem):
            self.last_message = shown.text
            self._journal.tell(AgentMessage(message=shown.text, phase=shown.phase))
        elif isinstance(shown, ReasoningItem):
            for text in shown.summary_text:
                self._journal.tell(AgentReasoning(text=text))
            for text in shown.raw_content:
                self._journal.tell(AgentReasoningRawContent(text=text))
        elif isinstance(shown, WebSearchItem):
            self._journal.tell(WebSearchEnd(call_id=shown.id, query=shown.query, action=shown.action))

    def text(self, delta: str) -> None:
        if self._planned is not None:
            self._planned.text(delta)
        elif self._active is not None:
            self._journal.tell(
                AgentMessageContentDelta(
                    thread_id=self._turn.thread_id, turn_id=self._turn.turn_id, item_id=self._active.id, delta=delta
                )
            )

    def summary(self, delta: str, index: int) -> None:
        if self._active is not None:
            self._journal.tell(
                ReasoningContentDelta(
                    thread_id=self._turn.thread_id,
                    turn_id=self._turn.turn_id,
                    item_id=self._active.id,
                    delta=delta,
                    summary_index=index,
                )
            )

    def summary_part(self, index: int) -> None:
        if self._active is not None:
            self._journal.tell(AgentReasoningSectionBreak(item_id=self._active.id, summary_index=index))

    def raw_reasoning(self, delta: str, index: int) -> None:
        if self._active is not None:
            self._journal.tell(
                ReasoningRawContentDelta(
                    thread_id=self._turn.thread_id,
                    turn_id=self._turn.turn_id,
                    item_id=self._active.id,
                    delta=delta,
                    content_index=index,
                )
            )


def shown_item(item: "Item") -> AnyThreadItem | None:
    """The item as a person sees it; None if it is not shown by itself."""
    item_id = item.get("id") or new_turn_id()
    kind = item["type"]
    if kind == "message" and item["role"] == "assistant":
        texts = texts_of(item)
        return AgentMessageItem(
            id=item_id,
            content=tuple({"type": "Text", "text": text} for text in texts),
            phase=item.get("phase"),
        )
    if kind == "reasoning":
        return ReasoningItem(
            id=item_id,
            summary_text=tuple(_texts(item["summary"])),
            raw_content=tuple(_texts(item["content"] or [])),
        )
    if kind == "web_search_call":
        action = item.get("action")
        if not isinstance(action, dict) or action.get("type") not in ("search", "open_page", "find_in_page"):
            action = {"type": "other"}
        return WebSearchItem(id=item_id, query=_search_text(action), action=action)
    return None


def _texts(parts: "list[Item]") -> "list[str]":
    return [part["text"] for part in parts if isinstance(part.get("text"), str)]


def _search_text(action: "Item") -> str:
    """What was looked for, in a few words."""
    kind = action.get("type")
    if kind == "search":
        if action.get("query") and isinstance(action["query"], str):
            return action["query"]
        queries = action.get("queries")
        texts = [query for query in queries if isinstance(query, str)] if isinstance(queries, list) else []
        return f"{texts[0]} ..." if len(texts) > 1 and texts[0] else "".join(texts[:1])
    url = action.get("url")
    if kind == "find_in_page":
        pattern = action.get("pattern")
        if isinstance(pattern, str):
            return f"'{pattern}' in {url}" if isinstance(url, str) else f"'{pattern}'"
    return url if isinstance(url, str) else ""
