"""Taking back the last turns of a thread.

Owns what changes then: the history ends earlier, and what the model was told of its surroundings is what the remaining
turns told it. The session file gets a mark and loses nothing.
"""

from pycodex.protocol.events.turn import ThreadRolledBack, TokenCount
from pycodex.supervisor.session.state import ThreadState


def take_back(state: ThreadState, turns: int) -> None:
    """Not while a turn runs."""
    journal = state.journal
    journal.tell(ThreadRolledBack(num_turns=turns))
    journal.history.drop_last_user_turns(turns)
    _forget_settings(state)
    state.usage.estimate(journal.history.estimated_tokens(state.around.base_instructions))
    turn = state.turns.turn(state.settings, turn_id="", output_schema=None)
    window = turn.model_info.effective_context_window
    journal.tell(TokenCount(info=state.usage.info(window), rate_limits=state.rate_limits))


def _forget_settings(state: ThreadState) -> None:
    """The file knows which settings the remaining turns were told; without one, everything is told again."""
    from pycodex.supervisor.rollout.reader import RolloutUnreadable, replay

    state.reference_context = None
    if state.journal.path is None:
        return
    try:
        stored = replay(state.journal.path)
    except RolloutUnreadable:
        return
    state.reference_context = stored.reference_context
    state.previous_model = stored.previous_model
