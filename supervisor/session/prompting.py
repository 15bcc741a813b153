"""The request that a turn makes of its model.

Owns how it follows from the thread and the turn; what is in the history, and which tools there are, is given.
"""

from typing import Any

from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.model.request import Prompt
from pycodex.supervisor.session.state import ThreadState


def turn_prompt(state: ThreadState, turn: TurnContext, specs: list[dict[str, Any]]) -> Prompt:
    return Prompt(
        model=turn.model,
        model_info=turn.model_info,
        instructions=state.around.base_instructions,
        input=state.journal.history.for_prompt(turn.model_info),
        tools=specs,
        parallel_tool_calls=turn.model_info.supports_parallel_tool_calls,
        effort=turn.effort,
        summary=turn.summary,
        verbosity=state.verbosity,
        service_tier=state.service_tier,
        output_schema=turn.output_schema,
        thread_id=turn.thread_id,
    )
