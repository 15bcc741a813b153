"""What the model would see first, without asking it.

Owns a rehearsal of a thread's beginning: the same steps as a real one, on a journal that leads nowhere. No worker, no
connection, no session file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pycodex.protocol.events.error import WarningEvent
from pycodex.protocol.ids import new_thread_id, new_turn_id
from pycodex.protocol.user_input import UserInput
from pycodex.supervisor.config.config import Config
from pycodex.supervisor.context import user_message
from pycodex.supervisor.context.history import History
from pycodex.supervisor.policy.rules import Rules
from pycodex.supervisor.rollout.writer import RolloutWriter
from pycodex.supervisor.session.basis import ThreadModel, basis_of
from pycodex.supervisor.session.journal import Journal
from pycodex.supervisor.session.opening import Given, record_context, record_input
from pycodex.supervisor.session.outbox import Outbox, OutboxClosed

if TYPE_CHECKING:
    from pycodex.protocol.items import Item


@dataclass(frozen=True, slots=True)
class Preview:
    instructions: str
    input: "list[Item]"
    warnings: tuple[str, ...]


async def preview(config: Config, inputs: Sequence[UserInput], *, env: Mapping[str, str], rules: Rules) -> Preview:
    """The first request of a new thread. Without inputs there is no message of the person's in it."""
    thread_id = new_thread_id()
    model = ThreadModel(config)
    instructions = model.instructions(config)
    basis = basis_of(config, model, thread_id=thread_id, instructions=instructions, env=env, rules=rules)
    outbox = Outbox()
    journal = Journal(History(), RolloutWriter.ephemeral(), outbox)
    turn = basis.turns.turn(basis.settings, turn_id=new_turn_id(), output_schema=None)
    record_context(journal, turn, basis.around)
    if inputs:
        record_input(journal, turn, Given(tuple(inputs)), said=user_message.message_of(inputs), skills=basis.skills)
    outbox.close()
    return Preview(
        instructions=basis.around.base_instructions,
        input=journal.history.for_prompt(turn.model_info),
        warnings=(*config.warnings, *basis.notes, *await _warnings_of(outbox)),
    )


async def _warnings_of(outbox: Outbox) -> list[str]:
    warnings = []
    try:
        while True:
            event = await outbox.get()
            if isinstance(event, WarningEvent):
                warnings.append(event.message)
    except OutboxClosed:
        return warnings
