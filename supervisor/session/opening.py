"""How a turn begins: what the model must know, the settings, and what the person said.

Owns what is recorded and told for these, and the order. Takes a journal to say it to; runs nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pycodex.protocol.errors import UserFacing
from pycodex.protocol.events.error import WarningEvent
from pycodex.protocol.events.message import ItemCompleted, ItemStarted
from pycodex.protocol.ids import new_turn_id
from pycodex.protocol.thread_items import UserMessageItem
from pycodex.protocol.turn_context import TurnContext
from pycodex.protocol.user_input import UserInput
from pycodex.supervisor.context import skill_mentions, user_message
from pycodex.supervisor.context.fragments import Surroundings, context_changes
from pycodex.supervisor.context.skills import Skill
from pycodex.supervisor.session.journal import Journal

if TYPE_CHECKING:
    from pycodex.protocol.items import Item


class NotBegun(UserFacing):
    """A thread cannot begin as it is configured."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a person gave to a turn, and what their client calls it."""

    inputs: tuple[UserInput, ...]
    client_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """What a turn begins with: a note of the program's, what the person said, or both."""

    said: Given | None
    note: str | None = None


def record_context(
    journal: Journal,
    turn: TurnContext,
    around: Surroundings,
    *,
    previous: dict[str, Any] | None = None,
    previous_model: str | None = None,
) -> dict[str, Any]:
    """What changed since `previous`, or everything; then the settings, which are given back as the file has them."""
    journal.record(context_changes(previous, turn, around, previous_model=previous_model), turn)
    return journal.record_turn(turn)


def tell_context(journal: Journal, turn: TurnContext, around: Surroundings) -> dict[str, Any]:
    """Everything, ahead of the first turn of a thread that begins with somebody else's history."""
    journal.record(context_changes(None, turn, around), turn)
    return turn.to_rollout()


def record_input(journal: Journal, turn: TurnContext, given: Given, *, said: "Item", skills: Sequence[Skill]) -> None:
    """`said` is the message that the inputs make, and the texts of the skills that they call for follow it."""
    inputs = given.inputs
    try:
        journal.record([said], turn)
    finally:
        # The history has it, also where the file does not.
        _tell_input(journal, turn, given)
    called_for = skill_mentions.injected(inputs, skills)
    for warning in called_for.warnings:
        journal.tell(WarningEvent(message=warning))
    journal.record(called_for.items, turn)


def _tell_input(journal: Journal, turn: TurnContext, given: Given) -> None:
    content = tuple(each.to_wire() for each in given.inputs)
    shown = UserMessageItem(id=new_turn_id(), content=content, client_id=given.client_id)
    journal.tell(ItemStarted(thread_id=turn.thread_id, turn_id=turn.turn_id, item=shown))
    journal.tell(ItemCompleted(thread_id=turn.thread_id, turn_id=turn.turn_id, item=shown))
    journal.tell(user_message.event_of(given.inputs).replace(client_id=given.client_id))
