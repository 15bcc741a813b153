"""What the model is told around the conversation, and what it is told again when something changes.

Owns the envelopes, byte for byte (other programs that read our session files know messages by them), which part goes
into which message, and their order. What stands inside comes from the modules beside this one and from `prompts`. Pure:
takes a turn and what is fixed for the session, gives items.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pycodex.protocol.items import input_text, message
from pycodex.protocol.permissions import from_legacy
from pycodex.protocol.record import BadRecord
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.context.environment import environment_context
from pycodex.supervisor.context.instructions import base_instructions, personality_text, spoken_personality
from pycodex.supervisor.context.permissions_section import approval_terms, permissions_section
from pycodex.supervisor.prompts import load
from pycodex.supervisor.text.enclosed import enclosed

if TYPE_CHECKING:
    from pycodex.protocol.items import Item

PERSONALITY_FEATURE = "personality"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the fragments say besides what the turn does."""

    base_instructions: str
    """Those of the session, as they are sent."""
    instructions_override: str | None = None
    """What the person put in the place of every model's own instructions, if anything."""
    tmpdir: str | None
    """$TMPDIR, as commands will have it."""
    skills: str | None = None
    """The list of skills with its rules (`skills.listing`)."""
    allowed_prefixes: tuple[tuple[str, ...], ...] = ()
    """Commands that rules let run without a question."""
    subagents: tuple[str, ...] = ()
    """A line for each live one."""


def initial_context(turn: TurnContext, around: Surroundings, *, previous_model: str | None = None) -> "list[Item]":
    """Everything: at the beginning, and again after the history lost it.

    `previous_model` is the one of the turn before, if there was one.
    """
    developer = [
        *_model_switch(turn, around, previous_model),
        _permissions(turn, around),
        *([turn.developer_instructions] if turn.developer_instructions else ()),
        *_collaboration_mode(turn),
        *_personality(turn, around),
        *([skills_section(around.skills)] if around.skills else ()),
    ]
    user = [
        *([user_instructions_section(turn.cwd, turn.user_instructions)] if turn.user_instructions else ()),
        environment_context(turn, cwd=turn.cwd, subagents=around.subagents),
    ]
    return [_message("developer", developer), _message("user", user)]


def context_changes(
    previous: dict[str, Any] | None, turn: TurnContext, around: Surroundings, *, previous_model: str | None = None
) -> "list[Item]":
    """What to add before the turn's message. `previous` is the payload of the `turn_context` that the history knows.

    If it knows none, everything is told, and `previous_model` is as for `initial_context`. The payload comes from a
    session file, perhaps of another version, so any field of it may be missing or odd.
    """
    if previous is None:
        return initial_context(turn, around, previous_model=previous_model)
    developer: list[str] = []
    changed_model = previous.get("model") not in (None, turn.model)
    if changed_model:
        developer += _model_switch(turn, around, previous["model"])
    if _changed_permissions(previous, turn):
        developer.append(_permissions(turn, around))
    if previous.get("collaboration_mode") != turn.collaboration_mode:
        developer += _collaboration_mode(turn)
    if not changed_model and previous.get("personality") != turn.personality:
        developer += _personality_change(turn, around)
    items = [_message("developer", developer)] if developer else []
    return items + [_message("user", [text]) for text in _environment_change(previous, turn)]


def turn_aborted_marker() -> "Item":
    """The note in the history that the person cut the turn short."""
    return _message("user", [f"<turn_aborted>\n{load.text('turn-aborted')}\n</turn_aborted>"])


def user_shell_section(command: str, *, exit_code: int, seconds: float, output: str) -> str:
    """A command that the person typed, and what came of it. What a program prints does not speak for the person."""
    output = enclosed(output, "result", "user_shell_command")
    result = f"Exit code: {exit_code}\nDuration: {seconds:.4f} seconds\nOutput:\n{output}"
    return (
        f"<user_shell_command>\n<command>\n{command}\n</command>\n<result>\n{result}\n</result>\n</user_shell_command>"
    )


def user_instructions_section(cwd: str, instructions: str) -> str:
    return f"# AGENTS.md instructions for {cwd}\n\n<INSTRUCTIONS>\n{instructions}\n</INSTRUCTIONS>"


def skills_section(text: str) -> str:
    return f"<skills_instructions>\n{text}\n</skills_instructions>"


def _message(role: str, texts: Iterable[str]) -> "Item":
    return message(role, map(input_text, texts))


def _model_switch(turn: TurnContext, around: Surroundings, previous_model: str | None) -> Iterator[str]:
    if previous_model is None or previous_model == turn.model:
        return
    instructions = base_instructions(turn.model_info, turn.personality, around.instructions_override)
    if instructions == around.base_instructions:
        text = load.text("model-switch-same")
    else:
        text = load.filled("model-switch", instructions=instructions)
    yield f"<model_switch>\n{text}\n</model_switch>"


def _permissions(turn: TurnContext, around: Surroundings) -> str:
    text = permissions_section(
        turn.permissions,
        turn.approval_policy,
        cwd=turn.cwd,
        tmpdir=around.tmpdir,
        allowed_prefixes=around.allowed_prefixes,
    )
    return f"<permissions instructions>\n{text}\n</permissions instructions>"


def _collaboration_mode(turn: TurnContext) -> Iterator[str]:
    text = turn.collaboration_mode["settings"]["developer_instructions"]
    if text:
        yield f"<collaboration_mode>{text}</collaboration_mode>"


def _personality(turn: TurnContext, around: Surroundings) -> Iterator[str]:
    """Instructions that somebody else wrote keep the voice they have."""
    spoken = spoken_personality(around.base_instructions)
    if spoken is not None and turn.personality is not None and spoken != turn.personality:
        yield from _personality_change(turn, around)


def _personality_change(turn: TurnContext, around: Surroundings) -> Iterator[str]:
    if turn.personality is None or PERSONALITY_FEATURE not in turn.features:
        return
    if spoken_personality(around.base_instructions) is not None:
        text = personality_text(turn.personality)
        yield f"<personality_spec> {load.text('personality-change')} \n{text} </personality_spec>"


def _changed_permissions(previous: dict[str, Any], turn: TurnContext) -> bool:
    try:
        before = from_legacy(previous.get("sandbox_policy"))
    except BadRecord:
        return True
    return before != turn.permissions or approval_terms(previous.get("approval_policy")) != approval_terms(
        turn.approval_policy
    )


def _environment_change(previous: dict[str, Any], turn: TurnContext) -> Iterator[str]:
    moved = previous.get("cwd") != turn.cwd
    if moved or previous.get("current_date") != turn.current_date or previous.get("timezone") != turn.timezone:
        yield environment_context(turn, cwd=turn.cwd if moved else None)
