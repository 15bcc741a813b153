"""A turn that only makes the history shorter, because the person wants it."""

from pycodex.protocol.events.error import ErrorEvent
from pycodex.protocol.events.turn import TaskComplete
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.model.stream import ModelFailure
from pycodex.supervisor.rollout.writer import RolloutUnwritable
from pycodex.supervisor.session.compaction import Compaction
from pycodex.supervisor.session.failures import tell_failure
from pycodex.supervisor.session.meter import Meter
from pycodex.supervisor.session.state import ThreadState
from pycodex.supervisor.session.turn_metadata import TurnMetadata
from pycodex.supervisor.tools.offered import settled_offer
from pycodex.supervisor.tools.tool import ToolSpec


class CompactTurn:
    """A task of a session. Cancelled, it leaves everything as it was."""

    kind = "compact"

    def __init__(self, state: ThreadState, turn: TurnContext) -> None:
        self.turn = turn
        self._state = state
        self._meter = Meter(state, turn)
        source = state.client.turn(TurnMetadata(turn).header)
        self._compaction = Compaction(state, turn, source, self._tool_specs)

    async def run(self) -> None:
        journal, turn = self._state.journal, self.turn
        journal.tell_beginning(turn)
        try:
            await self._compaction.run()
        except ModelFailure as failure:
            tell_failure(failure, journal, self._meter)
        except RolloutUnwritable as error:
            journal.tell(ErrorEvent(message=str(error), codex_error_info="other"))
        journal.tell(TaskComplete(turn_id=turn.turn_id, last_agent_message=None))

    async def _tool_specs(self) -> list[ToolSpec]:
        offer = await settled_offer(self.turn, self._state.tools)
        return [tool.spec(self.turn) for tool in offer.shown]

    def abandon(self) -> None:
        pass
