"""A turn: the person's input goes in, the model and its tools work until nothing is left to answer.

Owns the sequence of a regular turn. Everything that it does is told or recorded through the journal, and everything
that it waits for can be cancelled: then `abandon` leaves the history whole.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import trio

from pycodex.protocol.events.error import ErrorEvent
from pycodex.protocol.events.turn import TaskComplete
from pycodex.protocol.items import input_text, message
from pycodex.protocol.turn_context import TurnContext
from pycodex.protocol.user_input import LocalImage, UserInput
from pycodex.supervisor.context import user_message
from pycodex.supervisor.context.fragments import initial_context
from pycodex.supervisor.model.request import Prompt
from pycodex.supervisor.model.stream import ModelFailure
from pycodex.supervisor.prompts import load
from pycodex.supervisor.rollout.writer import RolloutUnwritable
from pycodex.supervisor.session.failures import tell_failure
from pycodex.supervisor.session.goals import Outcome
from pycodex.supervisor.session.meter import Meter
from pycodex.supervisor.session.opening import Beginning, Given, record_context, record_input
from pycodex.supervisor.session.prompting import turn_prompt
from pycodex.supervisor.session.sampling import Sampler, ToolSet
from pycodex.supervisor.session.state import ThreadState
from pycodex.supervisor.session.turn_metadata import TurnMetadata
from pycodex.supervisor.tools.offered import settled_offer
from pycodex.supervisor.tools.router import Router
from pycodex.supervisor.tools.tool import ToolScope, ToolSpec
from pycodex.supervisor.workspace.turn_diff import TurnChanges

if TYPE_CHECKING:
    from pycodex.protocol.items import Item
    from pycodex.supervisor.session.compaction import Compaction


REGULAR = "regular"


class RegularTurn:
    """A task of a session: `run` it once; after it was cancelled, `abandon` it. `interrupt` makes the session do so."""

    kind = REGULAR

    def __init__(
        self, state: ThreadState, turn: TurnContext, beginning: Beginning, *, interrupt: Callable[[], None]
    ) -> None:
        self.turn = turn
        self._state = state
        self._beginning = beginning
        self._unheard = beginning.said
        """What the person said, until the history has it."""
        self._has_called_tools = False
        self._journal = state.journal
        self._interrupt = interrupt
        self._specs: list[ToolSpec] = []
        self._sampler: Sampler | None = None
        self._meter = Meter(state, turn)
        self._source = state.client.turn(TurnMetadata(turn).header)

    async def run(self) -> None:
        self._journal.tell_beginning(self.turn)
        self._state.goals.turn_began(self.turn.turn_id)
        last_message: str | None = None
        failure: object = None
        try:
            await self._make_room()
            said = self._beginning.said
            self._open(None if said is None else await _message_of(said.inputs))
            last_message = await self._work()
            items = self._journal.history.items
            self._state.notifier.turn_completed(self.turn, items, last_message=last_message)
        except ModelFailure as error:
            failure = error.info or "other"
            tell_failure(error, self._journal, self._meter)
        except RolloutUnwritable as error:
            failure = "other"
            self._journal.tell(ErrorEvent(message=str(error), codex_error_info="other"))
            self._keep_unheard()
        self._keep_waiting_input()
        outcome = Outcome(called_tools=self._has_called_tools, last_message=last_message, failure=failure)
        self._state.goals.turn_ended(outcome)
        self._journal.tell(TaskComplete(turn_id=self.turn.turn_id, last_agent_message=last_message))

    def abandon(self) -> None:
        """Leave a consistent history behind after a cancelled `run`."""
        if self._sampler is not None:
            self._sampler.abandon()
        self._keep_unheard()
        self._keep_waiting_input()

    def _keep_unheard(self) -> None:
        """For a turn that ends before it has begun to ask: what it was to begin with is there for the next."""
        given, self._unheard = self._unheard, None
        if given is not None:
            with suppress(RolloutUnwritable):
                self._take_input(given, user_message.message_of(given.inputs))
                self._journal.begin_file()

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

    def _remind_of_goal(self, text: str) -> None:
        self._journal.record([_goal_note(text)], self.turn)

    def _open(self, said: "Item | None") -> None:
        """What the model must know first, then the settings, then what the person said."""
        state, turn = self._state, self.turn
        state.reference_context = record_context(
            self._journal, turn, state.around, previous=state.reference_context, previous_model=state.previous_model
        )
        state.previous_model = turn.model
        if self._beginning.note is not None:
            self._remind_of_goal(self._beginning.note)
        given, self._unheard = self._unheard, None
        if given is not None and said is not None:
            self._take_input(given, said)
        self._journal.begin_file()

    def _take_input(self, given: Given, said: "Item") -> None:
        record_input(self._journal, self.turn, given, said=said, skills=self._state.skills)

    def _take_items(self) -> None:
        items, self._state.waiting_items = self._state.waiting_items, []
        self._journal.record(items, self.turn)

    async def _work(self) -> str | None:
        """Ask the model until it waits for nothing more; gives what it said last."""
        state = self._state
        sampler = await self._equipped()
        last_message: str | None = None
        while True:
            sampled = await sampler.sample(self._prompt, max_retries=state.stream_max_retries)
            last_message = sampled.last_message or last_message
            self._has_called_tools |= sampled.called_tools
            self._take_items()
            is_used_up = state.goals.spend()
            if not sampled.called_tools and not state.waiting_input:
                return last_message
            if self._meter.is_context_full:
                await self._compaction(self.turn).run(self._still_needed())
            await self._hear()
            if is_used_up:
                self._remind_of_goal(load.text("goal-budget"))

    async def _equipped(self) -> Sampler:
        """With the tools of the turn. Those of MCP servers are known once all of them have started, or failed to."""
        if self._sampler is not None:
            return self._sampler
        state, turn = self._state, self.turn
        offer = await settled_offer(turn, state.tools)
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
        self._sampler = Sampler(state, turn, self._source, ToolSet(Router(offer.shown, offer.hidden), scope))
        return self._sampler

    async def _tool_specs(self) -> list[ToolSpec]:
        await self._equipped()
        return self._specs

    async def _hear(self) -> None:
        """Take in what was said meanwhile."""
        waiting = self._state.waiting_input
        while waiting:
            # It waits until it can be recorded: whoever is interrupted here loses nothing.
            said = await _message_of(waiting[0].inputs)
            self._take_input(waiting.pop(0), said)

    def _prompt(self) -> Prompt:
        return turn_prompt(self._state, self.turn, self._specs)

    async def _make_room(self) -> None:
        """Before anything is said, so that a failure leaves the history as it was."""
        outgrown = self._outgrown_model()
        if outgrown is not None:
            await self._compaction(outgrown).run()
        if self._meter.is_context_full:
            await self._compaction(self.turn).run()

    def _outgrown_model(self) -> TurnContext | None:
        """The turn as the model of the last one would have it, if only that one can still read all of it."""
        state, limit = self._state, self.turn.model_info.auto_compact_token_limit
        if limit is None or state.previous_model in (None, self.turn.model) or self._meter.context_tokens <= limit:
            return None
        settings = replace(state.settings, model=state.previous_model)
        before = state.turns.turn(settings, turn_id=self.turn.turn_id, output_schema=None)
        shrinks = (before.model_info.context_window or 0) > (self.turn.model_info.context_window or 0)
        return before if shrinks else None

    def _compaction(self, turn: TurnContext) -> "Compaction":
        from pycodex.supervisor.session.compaction import Compaction

        return Compaction(self._state, turn, self._source, self._tool_specs)

    def _still_needed(self) -> "list[Item]":
        """What the model knew of its surroundings and its goal, for one that goes on with its turn."""
        items = initial_context(self.turn, self._state.around)
        note = self._beginning.note
        return items if note is None else [*items, _goal_note(note)]


def _goal_note(text: str) -> "Item":
    """In the person's name, because their objective is in it: it has no more weight than their word."""
    return message("user", [input_text(text)])


async def _message_of(inputs: Sequence[UserInput]) -> "Item":
    """Pictures take time to decode, and other sessions have work to do."""
    if any(isinstance(given, LocalImage) for given in inputs):
        return await trio.to_thread.run_sync(user_message.message_of, inputs)
    return user_message.message_of(inputs)
