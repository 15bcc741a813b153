"""The one way out of a session: to its history, its session file and its front-end.

Owns the order: an item is in history and file before its effect, an event is in the file before the front-end hears of
it. When the file cannot be written, telling goes on, but whoever records learns of it: no tool runs whose call the file
does not hold.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pycodex.protocol.events.message import RawResponseItem
from pycodex.protocol.events.turn import TaskStarted
from pycodex.protocol.events.union import AnyEvent
from pycodex.protocol.items import written
from pycodex.protocol.rollout import COMPACTED, EVENT_MSG, RESPONSE_ITEM, TURN_CONTEXT
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.context.history import History
from pycodex.supervisor.rollout.writer import RolloutUnwritable, RolloutWriter
from pycodex.supervisor.session.outbox import Outbox

if TYPE_CHECKING:
    from pycodex.protocol.items import Item


class Journal:
    """With `tells_work` the file keeps what commands and patches did, for those who show a thread later.

    With `tells_items` the front-end hears of every item that is recorded.
    """

    def __init__(
        self,
        history: History,
        file: RolloutWriter,
        outbox: Outbox,
        *,
        tells_work: bool = False,
        tells_items: bool = False,
    ) -> None:
        self.history = history
        self._tells_items = tells_items
        self._tells_work = tells_work
        self._file = file
        self._outbox = outbox

    def tell(self, event: AnyEvent) -> None:
        """Never fails: what the file did not take it is offered again with the next line."""
        if event._persisted or (self._tells_work and event._persisted_at_length):
            try:
                self._file.append(EVENT_MSG, event.to_stored())
            except RolloutUnwritable:
                # Whoever records next meets the same error, at a place where it can end the turn.
                pass
        self._outbox.put(event)

    def tell_beginning(self, turn: TurnContext) -> None:
        """Of a turn, whatever it is made of."""
        window = turn.model_info.effective_context_window
        self.tell(TaskStarted(turn_id=turn.turn_id, model_context_window=window, collaboration_mode_kind=turn.mode))

    def record(
        self, items: "Iterable[Item]", turn: TurnContext, figures: "Mapping[str, dict[str, Any]] | None" = None
    ) -> None:
        """Raises RolloutUnwritable, with all of them in the history and waiting for the file.

        `figures` are what the calls have taken, by their ids; they go into the file with the answers.
        """
        items = list(items)
        self.history.record(items, turn.truncation)
        unwritable: RolloutUnwritable | None = None
        for item in items:
            try:
                self._file.append(
                    RESPONSE_ITEM, written(item), figures.get(item.get("call_id", "")) if figures else None
                )
            except RolloutUnwritable as error:
                unwritable = error
            if self._tells_items:
                self._outbox.put(RawResponseItem(turn_id=turn.turn_id, item=item))
        if unwritable is not None:
            raise unwritable

    def record_turn(self, turn: TurnContext) -> dict[str, Any]:
        """Write down the settings of a turn; gives them in the form of the file."""
        payload = turn.to_rollout()
        self._file.append(TURN_CONTEXT, payload)
        return payload

    def compact(self, summary: str, items: "Sequence[Item]") -> None:
        """Put these in the place of the whole history. Raises RolloutUnwritable, as `record` does."""
        self.history.replace(items)
        self._file.append(COMPACTED, {"message": summary, "replacement_history": [written(item) for item in items]})

    @property
    def path(self) -> str | None:
        """Of the file, if there is or will be one."""
        return self._file.path

    @property
    def is_on_disk(self) -> bool:
        """Whether the file holds all that was told and recorded."""
        return self._file.is_whole

    def begin_file(self) -> None:
        """From the first message of the person on, there is a file. Raises RolloutUnwritable."""
        self._file.materialise()
