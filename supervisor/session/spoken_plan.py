"""A message of the model in plan mode: the plan in it is an item of its own.

Owns how such a message is told while it comes in. The plan is cut out of what is shown of the message; the model's own
item is recorded as it is.
"""

from pycodex.protocol.events.message import (
    AgentMessageContentDelta,
    ItemCompleted,
    ItemStarted,
    PlanCompleted,
    PlanDelta,
)
from pycodex.protocol.thread_items import AgentMessageItem, PlanItem
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.session.journal import Journal
from pycodex.supervisor.text.plan_blocks import Piece, PlanBlocks


class SpokenPlan:
    """One message. `shown` is the message as it began."""

    def __init__(self, journal: Journal, turn: TurnContext, shown: AgentMessageItem) -> None:
        self._journal = journal
        self._turn = turn
        self._shown = shown.replace(content=())
        self._blocks = PlanBlocks()
        self._plan: str | None = None
        self._said = ""
        self._is_begun = False
        self._was_fed = False

    @property
    def _ids(self) -> dict[str, str]:
        return {"thread_id": self._turn.thread_id, "turn_id": self._turn.turn_id}

    @property
    def _plan_id(self) -> str:
        return f"{self._turn.turn_id}-plan"

    def text(self, delta: str) -> None:
        self._was_fed = True
        for piece in self._blocks.feed(delta):
            self._take(piece)

    def done(self, shown: AgentMessageItem) -> AgentMessageItem | None:
        """The message without its plan; None if nothing else was said."""
        if not self._was_fed:
            self.text(shown.text)
        for piece in self._blocks.finish():
            self._take(piece)
        if self._plan is not None:
            self._journal.tell(PlanCompleted(**self._ids, item=PlanItem(id=self._plan_id, text=self._plan)))
        if not self._is_begun:
            return None
        said = shown.replace(id=self._shown.id, content=({"type": "Text", "text": self._said},))
        self._journal.tell(ItemCompleted(**self._ids, item=said))
        return said

    def _take(self, piece: Piece) -> None:
        if piece.is_plan:
            self._take_plan(piece.text)
            return
        self._said += piece.text
        if self._is_begun:
            self._tell_said(piece.text)
        elif self._said.strip():
            # Blank lines around a plan are no message.
            self._is_begun = True
            self._journal.tell(ItemStarted(**self._ids, item=self._shown))
            self._tell_said(self._said)

    def _tell_said(self, text: str) -> None:
        self._journal.tell(AgentMessageContentDelta(**self._ids, item_id=self._shown.id, delta=text))

    def _take_plan(self, text: str) -> None:
        if self._plan is None:
            self._plan = ""
            self._journal.tell(ItemStarted(**self._ids, item=PlanItem(id=self._plan_id, text="")))
        if text:
            self._plan += text
            self._journal.tell(PlanDelta(**self._ids, item_id=self._plan_id, delta=text))
