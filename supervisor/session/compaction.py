"""Making the history shorter when the context is full, or when the person wants it.

Owns the request for it and what is recorded and told of it. OpenAI's own servers do it by themselves; any other model
is asked to write a summary. Until the new history is there the old one stays: whoever is interrupted, or meets a
failure, has lost nothing. When it is time is decided elsewhere.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pycodex.protocol.events.error import BackgroundEvent, WarningEvent
from pycodex.protocol.events.message import ItemCompleted, ItemStarted
from pycodex.protocol.events.turn import ContextCompacted
from pycodex.protocol.ids import new_turn_id
from pycodex.protocol.items import input_text, message, texts_of
from pycodex.protocol.thread_items import ContextCompactionItem
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.context.compaction import kept_of_answer, summarised, with_context
from pycodex.supervisor.context.history import History
from pycodex.supervisor.model.stream import ItemDone, ModelFailure, TurnSource
from pycodex.supervisor.prompts import load
from pycodex.supervisor.session.failures import Reconnecting
from pycodex.supervisor.session.meter import Meter
from pycodex.supervisor.session.prompting import turn_prompt
from pycodex.supervisor.session.state import ThreadState

if TYPE_CHECKING:
    from pycodex.protocol.items import Item

ACCURACY_WARNING = (
    "Heads up: Long threads and multiple compactions can cause the model to be less accurate. Start a new thread when "
    "possible to keep threads small and targeted."
)


class Compaction:
    """What it asks, it asks of the turn's model; `specs` gives the tools of the turn, if anybody wants to know."""

    def __init__(
        self,
        state: ThreadState,
        turn: TurnContext,
        source: TurnSource,
        specs: Callable[[], Awaitable[list[dict[str, Any]]]],
    ) -> None:
        self._state = state
        self._turn = turn
        self._source = source
        self._specs = specs
        self._journal = state.journal
        self._meter = Meter(state, turn)

    async def run(self, context: "Sequence[Item] | None" = None) -> None:
        """`context` is what the model must be told again because its turn goes on; None: the next turn tells it.

        Raises ModelFailure, or RolloutUnwritable.
        """
        state, turn = self._state, self._turn
        item = ContextCompactionItem(id=new_turn_id())
        self._journal.tell(ItemStarted(thread_id=turn.thread_id, turn_id=turn.turn_id, item=item))
        summary = "" if state.client.compacts_itself else await self._summary()
        items = (
            summarised(self._journal.history.items, summary, state.summaries) if summary else await self._shortened()
        )
        state.reference_context = None
        # The history has it whatever becomes of the file.
        state.summaries |= {summary} if summary else set()
        try:
            self._journal.compact(summary, items if context is None else with_context(items, context, summary))
            if context is not None:
                state.reference_context = self._journal.record_turn(turn)
        finally:
            self._meter.context_changed()
        self._journal.tell(ItemCompleted(thread_id=turn.thread_id, turn_id=turn.turn_id, item=item))
        self._journal.tell(ContextCompacted())
        if summary:
            self._journal.tell(WarningEvent(message=ACCURACY_WARNING))

    async def _summary(self) -> str:
        """As it will stand in the history."""
        asked = History(self._journal.history.items)
        asked.record(
            [message("user", [input_text(self._state.compact_prompt or load.text("compaction"))])],
            self._turn.truncation,
        )
        dropped = 0
        reconnecting = self._reconnecting()
        while True:
            try:
                text = await self._written(asked)
                break
            except ModelFailure as failure:
                if failure.rate_limits is not None:
                    self._meter.limits_seen(dict(failure.rate_limits))
                fewer = asked.drop_oldest(self._turn.model_info.context_window) if failure.is_context_overflow else 0
                if fewer:
                    dropped += fewer
                    reconnecting = self._reconnecting()
                else:
                    await reconnecting.pause_after(failure)
        if dropped:
            told = (
                f"Trimmed {dropped} older thread item(s) before compacting so the prompt fits the model context window."
            )
            self._journal.tell(BackgroundEvent(message=told))
        return f"{load.text('compaction-summary-prefix')}\n{text}"

    def _reconnecting(self) -> Reconnecting:
        return Reconnecting(self._journal, max_retries=self._state.stream_max_retries)

    async def _written(self, asked: History) -> str:
        """What the model says last. Nobody is shown it while it comes."""
        prompt = replace(
            turn_prompt(self._state, self._turn, []),
            input=asked.for_prompt(self._turn.model_info),
            parallel_tool_calls=False,
            output_schema=None,
        )
        text = ""
        async with self._source.stream(prompt) as events:
            async for event in events:
                self._meter.take(event)
                if isinstance(event, ItemDone) and event.item.get("role") == "assistant":
                    text = "".join(texts_of(event.item)).strip() or text
        if not text:
            raise ModelFailure("the model wrote no summary, so the conversation was left as it is", retryable=True)
        return text

    async def _shortened(self) -> "list[Item]":
        """What the provider makes of the history."""
        history = self._journal.history
        asked = History(history.items)
        instructions = self._state.around.base_instructions
        asked.drop_last_outputs(self._turn.model_info.context_window, instructions)
        prompt = replace(
            turn_prompt(self._state, self._turn, await self._specs()),
            input=asked.for_prompt(self._turn.model_info),
            output_schema=None,
        )
        try:
            answer = await self._state.client.compacted(prompt)
        except ModelFailure as failure:
            failure.message = f"Error running remote compact task: {failure.message}"
            raise
        return kept_of_answer(answer, history.items)
