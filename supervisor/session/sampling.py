"""One request to the model and all that its answer sets off.

Owns the reading of the stream: items are recorded and told as they come, tools start while it goes on, and a broken
stream is tried again with the same prompt. Takes a prompt, gives what was said last and whether the model waits for
answers. Knows nothing of what a turn is made of.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import trio

from pycodex.protocol.events.error import WarningEvent
from pycodex.protocol.events.turn import ModelReroute
from pycodex.protocol.items import input_text, message
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.model.request import Prompt
from pycodex.supervisor.model.stream import (
    ItemAdded,
    ItemDone,
    ModelFailure,
    RawReasoningDelta,
    ServerModel,
    StreamEvent,
    SummaryDelta,
    SummaryPartAdded,
    TextDelta,
    TurnSource,
)
from pycodex.supervisor.session.failures import Reconnecting
from pycodex.supervisor.session.meter import Meter
from pycodex.supervisor.session.spoken import Spoken
from pycodex.supervisor.session.state import ThreadState
from pycodex.supervisor.session.tool_runs import ToolRuns
from pycodex.supervisor.tools.router import Router
from pycodex.supervisor.tools.tool import ToolScope, call_of

if TYPE_CHECKING:
    from pycodex.protocol.items import Item

MAX_IMAGE_REPAIRS = 1


@dataclass(frozen=True, slots=True)
class ToolSet:
    """The tools of a turn, and what they may use."""

    router: Router
    scope: ToolScope


@dataclass(frozen=True, slots=True)
class Sampled:
    last_message: str | None
    called_tools: bool


class Sampler:
    """The requests of one turn."""

    def __init__(self, state: ThreadState, turn: TurnContext, source: TurnSource, tools: ToolSet) -> None:
        self._state = state
        self._turn = turn
        self._source = source
        self._tools = tools
        self._journal = state.journal
        self._meter = Meter(state, turn)
        self._runs: ToolRuns | None = None
        self._rerouted = False

    async def sample(self, prompt: Callable[[], Prompt], *, max_retries: int) -> Sampled:
        """Raises ModelFailure once it cannot be tried again."""
        sent = prompt()
        reconnecting = Reconnecting(self._journal, max_retries=max_retries)
        repairs = 0
        while True:
            try:
                return await self._attempt(sent)
            except ModelFailure as failure:
                if failure.rate_limits is not None:
                    self._meter.limits_seen(dict(failure.rate_limits))
                if failure.is_bad_image and repairs < MAX_IMAGE_REPAIRS and self._repair_images():
                    repairs += 1
                    sent = prompt()
                    continue
                await reconnecting.pause_after(failure)

    async def _attempt(self, prompt: Prompt) -> Sampled:
        spoken = Spoken(self._journal, self._turn)
        failure: Exception | None = None
        outputs: list[Item] = []
        async with trio.open_nursery() as nursery:
            self._runs = runs = ToolRuns(nursery, self._tools.router, self._tools.scope)
            try:
                async with self._source.stream(prompt) as events:
                    async for event in events:
                        self._take(event, spoken, runs)
            except Exception as error:
                # Raised below: a nursery would wrap it. What its calls did is unknown to the model from here on.
                failure = error
                nursery.cancel_scope.cancel()
            else:
                outputs = await runs.finished()
        self._runs = None
        if failure is not None:
            raise failure
        self._journal.record(outputs, self._turn, runs.figures())
        await self._tell_changes(runs)
        return Sampled(spoken.last_message, called_tools=len(runs) > 0)

    async def _tell_changes(self, runs: ToolRuns) -> None:
        """What patches have changed until now, if there were any."""
        if self._tools.scope.changes.paths:
            from pycodex.supervisor.tools.patching import NAME, tell_turn_diff

            await tell_turn_diff(self._tools.scope, refresh=runs.has_others_than(NAME))

    def abandon(self) -> None:
        """The turn was interrupted: every call that was started gets its answer."""
        if self._runs is not None:
            self._journal.record(self._runs.outputs(), self._turn, self._runs.figures())
            self._runs = None

    def _take(self, event: StreamEvent, spoken: Spoken, runs: ToolRuns) -> None:
        match event:
            case TextDelta(delta):
                spoken.text(delta)
            case ItemAdded(item):
                spoken.begun(item)
            case ItemDone(item):
                spoken.done(item)
                self._journal.record([item], self._turn)
                call = call_of(item)
                if call is not None:
                    runs.start(item, call)
            case SummaryDelta(delta, index):
                spoken.summary(delta, index)
            case SummaryPartAdded(index):
                spoken.summary_part(index)
            case RawReasoningDelta(delta, index):
                spoken.raw_reasoning(delta, index)
            case ServerModel(name):
                self._note_model(name)
            case _:
                self._meter.take(event)

    def _repair_images(self) -> bool:
        """A picture that a tool made and the provider cannot read is replaced by a word about it."""
        return self._journal.history.replace_last_output_images("Invalid image")

    def _note_model(self, name: str) -> None:
        """Once a turn: the provider answered with another model than it was asked for."""
        if self._rerouted or name.lower() == self._turn.model.lower():
            return
        self._rerouted = True
        text = f"The provider answered with model `{name}` instead of `{self._turn.model}`."
        self._journal.tell(ModelReroute(from_model=self._turn.model, to_model=name, reason="other"))
        self._journal.tell(WarningEvent(message=text))
        self._journal.record([message("user", [input_text(f"Warning: {text}")])], self._turn)
