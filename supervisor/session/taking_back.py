"""Taking back the last turns of a thread.

Owns what changes then: the history is what the remaining turns made it, also where one that goes had made it shorter,
and what the model was told of its surroundings is what they told it. The session file gets a mark and loses nothing.
"""

from typing import TYPE_CHECKING

from pycodex.protocol.events.turn import ThreadRolledBack
from pycodex.supervisor.session.meter import Meter
from pycodex.supervisor.session.state import ThreadState

if TYPE_CHECKING:
    from pycodex.supervisor.rollout.reader import Replayed


async def take_back(state: ThreadState, turns: int) -> None:
    """Not while a turn runs."""
    journal = state.journal
    journal.tell(ThreadRolledBack(num_turns=turns))
    turn = state.turns.turn(state.settings, turn_id="", output_schema=None)
    stored = await _stored(state)
    if stored is None:
        # Without a whole file nobody knows which settings the remaining turns were told: everything is told again.
        journal.history.drop_last_user_turns(turns)
        state.reference_context = None
    else:
        journal.history.replace(())
        journal.history.record(stored.items, turn.truncation)
        state.reference_context = stored.reference_context
        state.previous_model = stored.previous_model
        state.summaries = set(stored.summaries)
    Meter(state, turn).context_changed()


async def _stored(state: ThreadState) -> "Replayed | None":
    from pycodex.supervisor.rollout.reader import RolloutUnreadable
    from pycodex.supervisor.rollout.thread_files import replayed

    if state.journal.path is None or not state.journal.is_on_disk:
        return None
    try:
        return await replayed(state.journal.path)
    except RolloutUnreadable:
        return None
