"""A turn: the person's input goes in, the model and its tools work until nothing is left to answer.

Owns the sequence of a regular turn. Everything that it does is told or recorded through the journal, and everything
that it waits for can be cancelled: then `abandon` leaves the history whole.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import trio

from pycodex.protocol.events.error import ErrorEvent
from pycodex.protocol.events.turn import TaskComplete, TaskStarted, TokenCount
from pycodex.protocol.items import input_text, message
from pycodex.protocol.turn_context import TurnContext
from pycodex.protocol.user_input import LocalImage, UserInput
from pycodex.supervisor.context import user_message
from pycodex.supervisor.model.request import Prompt
from pycodex.supervisor.model.stream import ModelFailure
from pycodex.supervisor.prompts import load
from pycodex.supervisor.rollout.writer import RolloutUnwritable
from pycodex.supervisor.session.goals import Outcome
from pycodex.supervisor.session.opening import Beginning, Given, record_context, record_input
from pycodex.supervisor.session.sampling import Sampler, ToolSet
from pycodex.supervisor.session.state import ThreadState
from pycodex.supervisor.session.turn_metadata import TurnMetadata
from pycodex.supervisor.tools.offered import offered
from pycodex.supervisor.tools.router import Router
from pycodex.supervisor.tools.tool import ToolScope, ToolSpec
from pycodex.supervisor.workspace.turn_diff import TurnChanges

if TYPE_CHECKING:
    from pycodex.protocol.items import Item


class RegularTurn:
    """A task of a session: `run` it once; after it was cancelled, `abandon` it. `interrupt` makes the session do so."""

    def __init__(
        self, state: ThreadState, turn: TurnContext, beginning: Beginning, *, interrupt: Callable[[], None]
    ) -> None:
        self.turn = turn
        self._state = state
        self._beginning = beginning
        self._has_called_tools = False
        self._journal = state.journal
        self._interrupt = interrupt
        self._specs: list[ToolSpec] = []
        self._sampler: Sampler | None = None

    async def run(self) -> None:
        window = self.turn.model_info.effective_context_window
        self._journal.tell(
            TaskStarted(turn_id=self.turn.turn_id, model_context_window=window, collaboration_mode_kind=self.turn.mode)
        )
        self._state.goals.turn_began(self.turn.turn_id)
        last_message: str | None = None
        failure: object = None
        try:
            said = self._beginning.said
            self._open(None if said is None else await _message_of(said.inputs))
            last_message = await self._work()
            items = self._journal.history.items
            self._state.notifier.turn_completed(self.turn, items, last_message=last_message)
        except ModelFailure as error:
            failure = error.info or "other"
            self._fail(error)
        except RolloutUnwritable as error:
            failure = "other"
            self._journal.tell(ErrorEvent(message=str(error), codex_error_info="other"))
        self._keep_waiting_input()
        outcome = Outcome(called_tools=self._has_called_tools, last_message=last_message, failure=failure)
        self._state.goals.turn_ended(outcome)
        self._journal.tell(TaskComplete(turn_id=self.turn.turn_id, last_agent_message=last_message))

    def abandon(self) -> None:
        """Leave a consistent history behind after a cancelled `run`."""
        if self._sampler is not None:
            self._sampler.abandon()
        self._keep_waiting_input()

    def _keep_waiting_input(self) -> None:
        """What came too late for the model to see in this turn is there for the next."""
        waiting, self._state.waiting_input = self._state.waiting_input, []
        with suppress(RolloutUnwritable):
            self._take_items()
        for given in waiting:
            try:
                self._take_input(given, user_message.message_of(given.inputs))
            except RolloutUnwritable:
                # The history has it, and whoever records next meets the same error.
                continue

    def _warn_model(self, text: str) -> None:
        self._journal.record([message("user", [input_text(f"Warning: {text}")])], self.turn)

    def _note_for_model(self, text: str) -> None:
        self._journal.record([message("developer", [input_text(text)])], self.turn)

    def _open(self, said: "Item | None") -> None:
        """What the model must know first, then the settings, then what the person said."""
        state, turn = self._state, self.turn
        state.reference_context = record_context(
            self._journal, turn, state.around, previous=state.reference_context, previous_model=state.previous_model
        )
        state.previous_model = turn.model
        if self._beginning.note is not None:
            self._note_for_model(self._beginning.note)
        if self._beginning.said is not None and said is not None:
            self._take_input(self._beginning.said, said)
        self._journal.begin_file()

    def _take_input(self, given: Given, said: "Item") -> None:
        record_input(self._journal, self.turn, given, said=said, skills=self._state.skills)

    def _take_items(self) -> None:
        items, self._state.waiting_items = self._state.waiting_items, []
        self._journal.record(items, self.turn)

    async def _work(self) -> str | None:
        """Ask the model until it waits for nothing more; gives what it said last."""
        state = self._state
        sampler = self._sampler = await self._equipped()
        last_message: str | None = None
        while True:
            sampled = await sampler.sample(self._prompt, max_retries=state.stream_max_retries)
            last_message = sampled.last_message or last_message
            self._has_called_tools |= sampled.called_tools
            self._take_items()
            is_used_up = state.goals.spend()
            if not await self._heard_more() and not sampled.called_tools:
                return last_message
            if is_used_up:
                self._note_for_model(load.text("goal-budget"))

    async def _equipped(self) -> Sampler:
        """With the tools of the turn. Those of MCP servers are known once all of them have started, or failed to."""
        state, turn = self._state, self.turn
        if state.tools.mcp is not None:
            await state.tools.mcp.settled()
        offer = offered(turn, state.tools)
        self._specs = [tool.spec(turn) for tool in offer.shown]
        scope = ToolScope(
            turn=turn,
            emit=state.journal.tell,
            services=state.tools,
            warn=self._warn_model,
            note=self._note_for_model,
            interrupt=self._interrupt,
            answer_to=state.pending.answer_to,
            changes=TurnChanges(),
        )
        source = state.client.turn(TurnMetadata(turn).header)
        return Sampler(state, turn, source, ToolSet(Router(offer.shown, offer.hidden), scope))

    async def _heard_more(self) -> bool:
        """Take in what was said meanwhile; whether anything was."""
        waiting = self._state.waiting_input
        heard = bool(waiting)
        while waiting:
            # It waits until it can be recorded: whoever is interrupted here loses nothing.
            said = await _message_of(waiting[0].inputs)
            self._take_input(waiting.pop(0), said)
        return heard

    def _prompt(self) -> Prompt:
        state, turn = self._state, self.turn
        return Prompt(
            model=turn.model,
            model_info=turn.model_info,
            instructions=state.around.base_instructions,
            input=state.journal.history.for_prompt(turn.model_info),
            tools=self._specs,
            parallel_tool_calls=turn.model_info.supports_parallel_tool_calls,
            effort=turn.effort,
            summary=turn.summary,
            verbosity=state.verbosity,
            service_tier=state.service_tier,
            output_schema=turn.output_schema,
            thread_id=turn.thread_id,
        )

    def _fail(self, failure: ModelFailure) -> None:
        if failure.is_context_overflow:
            window = self.turn.model_info.effective_context_window
            self._state.usage.fill(window or 0)
            self._journal.tell(TokenCount(info=self._state.usage.info(window), rate_limits=self._state.rate_limits))
        self._journal.tell(ErrorEvent(message=failure.message, codex_error_info=failure.info))


async def _message_of(inputs: Sequence[UserInput]) -> "Item":
    """Pictures take time to decode, and other sessions have work to do."""
    if any(isinstance(given, LocalImage) for given in inputs):
        return await trio.to_thread.run_sync(user_message.message_of, inputs)
    return user_message.message_of(inputs)
