"""What goes into which message, in which order, and what is told again when something changes."""

from dataclasses import replace
from typing import Any

import pytest

from pycodex.protocol.items import texts_of
from pycodex.protocol.permissions import Permissions
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.context.fragments import (
    Surroundings,
    context_changes,
    initial_context,
    turn_aborted_marker,
)
from pycodex.supervisor.context.instructions import base_instructions, personality_text
from support.interpreter import modules_loaded_by
from support.turns import MODEL_INFO, PLAIN_TURN, turn_with

OURS = base_instructions(MODEL_INFO, "pragmatic", None)
AROUND = Surroundings(base_instructions=OURS, tmpdir=None, skills="SKILLS")
GRANULAR = {"sandbox_approval": True, "rules": False, "mcp_elicitations": True}


def shape(items: list[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """Roles, and of each part the beginning of its first line."""
    return [(item["role"], [text.split("\n")[0].split(">")[0] for text in texts_of(item)]) for item in items]


def developer_texts(items: list[dict[str, Any]]) -> list[str]:
    return [text for item in items if item["role"] == "developer" for text in texts_of(item)]


class WithMode(TurnContext):
    """A turn in a collaboration mode of which the client gave the text."""

    @property
    def collaboration_mode(self) -> dict[str, Any]:
        mode = super().collaboration_mode
        return {**mode, "settings": {**mode["settings"], "developer_instructions": "MODE TEXT"}}


def in_a_mode(turn: TurnContext) -> TurnContext:
    names = TurnContext.__dataclass_fields__
    return WithMode(**{name: getattr(turn, name) for name in names})


def test_everything_in_its_order() -> None:
    turn = in_a_mode(turn_with(developer_instructions="DEV", user_instructions="RULES\n", personality="friendly"))
    assert shape(initial_context(turn, AROUND, previous_model="other")) == [
        (
            "developer",
            [
                *("<model_switch", "<permissions instructions", "DEV", "<collaboration_mode"),
                *("<personality_spec", "<skills_instructions"),
            ],
        ),
        ("user", ["# AGENTS.md instructions for /w", "<environment_context"]),
    ]


def test_what_is_not_there_has_no_part() -> None:
    around = replace(AROUND, skills=None)
    assert shape(initial_context(PLAIN_TURN, around)) == [
        ("developer", ["<permissions instructions"]),
        ("user", ["<environment_context"]),
    ]


def test_envelopes_are_exact() -> None:
    turn = in_a_mode(turn_with(user_instructions="RULES\n", personality="friendly"))
    developer, user = initial_context(turn, AROUND)
    permissions, mode, personality, skills = texts_of(developer)
    assert permissions.startswith("<permissions instructions>\n")
    assert permissions.endswith("\n</permissions instructions>")
    assert mode == "<collaboration_mode>MODE TEXT</collaboration_mode>"
    assert personality.startswith("<personality_spec> ")
    assert personality.endswith(f" \n{personality_text('friendly')} </personality_spec>")
    assert skills == "<skills_instructions>\nSKILLS\n</skills_instructions>"
    assert texts_of(user)[0] == "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nRULES\n\n</INSTRUCTIONS>"
    assert all(part["type"] == "input_text" for item in (developer, user) for part in item["content"])


def test_instructions_of_somebody_else_keep_their_voice() -> None:
    around = replace(AROUND, base_instructions="MINE")
    turn = turn_with(personality="friendly")
    assert "<personality_spec>" not in "".join(developer_texts(initial_context(turn, around)))
    assert context_changes(PLAIN_TURN.to_rollout(), turn, around) == []


def test_without_the_feature_no_personality_is_told() -> None:
    turn = turn_with(personality="friendly", features=frozenset())
    assert "<personality_spec>" not in "".join(developer_texts(initial_context(turn, AROUND)))


@pytest.mark.parametrize("previous", [None, "m"])
def test_the_same_model_is_no_switch(previous: str | None) -> None:
    assert "<model_switch>" not in "".join(
        developer_texts(initial_context(PLAIN_TURN, AROUND, previous_model=previous))
    )


def test_a_switch_repeats_only_instructions_that_differ() -> None:
    switched = turn_with(model="n")
    (short,) = developer_texts(context_changes(PLAIN_TURN.to_rollout(), switched, AROUND))
    assert OURS not in short
    theirs = turn_with(model="n", model_info=replace(MODEL_INFO, base_instructions="THEIRS"))
    (whole,) = developer_texts(context_changes(PLAIN_TURN.to_rollout(), theirs, AROUND))
    assert whole.startswith("<model_switch>\n")
    assert whole.endswith("THEIRS\n</model_switch>")


def test_a_switch_leaves_an_override_in_place() -> None:
    around = replace(AROUND, base_instructions="MINE", instructions_override="MINE")
    (text,) = developer_texts(context_changes(PLAIN_TURN.to_rollout(), turn_with(model="n"), around))
    assert OURS not in text


def test_nothing_changed_nothing_is_told() -> None:
    assert context_changes(PLAIN_TURN.to_rollout(), PLAIN_TURN, AROUND) == []


def test_without_a_reference_everything_is_told() -> None:
    assert context_changes(None, PLAIN_TURN, AROUND) == initial_context(PLAIN_TURN, AROUND)
    assert context_changes(None, PLAIN_TURN, AROUND, previous_model="other") == initial_context(
        PLAIN_TURN, AROUND, previous_model="other"
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"model": "n"}, [("developer", ["<model_switch"])]),
        ({"model": "n", "personality": "friendly"}, [("developer", ["<model_switch"])]),
        ({"approval_policy": "on-request"}, [("developer", ["<permissions instructions"])]),
        ({"permissions": Permissions(mode="workspace-write")}, [("developer", ["<permissions instructions"])]),
        (
            {"permissions": Permissions(mode="read-only", network_access=True)},
            [("developer", ["<permissions instructions"])],
        ),
        ({"personality": "friendly"}, [("developer", ["<personality_spec"])]),
        ({"cwd": "/other"}, [("user", ["<environment_context"])]),
        ({"current_date": "2026-01-03"}, [("user", ["<environment_context"])]),
        ({"timezone": "Asia/Tokyo"}, [("user", ["<environment_context"])]),
        ({"effort": "high"}, []),
        ({"summary": "none"}, []),
        ({"user_instructions": "new"}, []),
        ({"developer_instructions": "new"}, []),
        (
            {"model": "n", "approval_policy": "on-request", "cwd": "/other"},
            [("developer", ["<model_switch", "<permissions instructions"]), ("user", ["<environment_context"])],
        ),
    ],
)
def test_changes_and_what_is_told_of_them(change: dict[str, Any], told: list[tuple[str, list[str]]]) -> None:
    assert shape(context_changes(PLAIN_TURN.to_rollout(), turn_with(**change), AROUND)) == told


def test_a_mode_is_told_when_any_part_of_it_changes() -> None:
    previous = in_a_mode(PLAIN_TURN).to_rollout()
    assert context_changes(previous, in_a_mode(PLAIN_TURN), AROUND) == []
    changed = in_a_mode(turn_with(effort="high"))
    assert shape(context_changes(previous, changed, AROUND)) == [("developer", ["<collaboration_mode"])]
    assert context_changes(previous, PLAIN_TURN, AROUND) == []


def test_the_directory_is_told_only_when_it_changed() -> None:
    previous = PLAIN_TURN.to_rollout()
    (moved,) = context_changes(previous, turn_with(cwd="/other"), AROUND)
    assert "<cwd>/other</cwd>" in texts_of(moved)[0]
    (later,) = context_changes(previous, turn_with(current_date="2026-01-03"), AROUND)
    assert "<cwd>" not in texts_of(later)[0]


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("sandbox_policy", {"type": "read-only", "network_access": False}, False),
        ("sandbox_policy", {"type": "nonsense"}, True),
        ("sandbox_policy", None, True),
        ("approval_policy", {"granular": {**GRANULAR, "skill_approval": False}}, False),
        ("approval_policy", {"granular": {**GRANULAR, "rules": True}}, True),
    ],
)
def test_a_reference_of_another_version_is_compared_by_its_meaning(field: str, value: Any, told: bool) -> None:
    turn = turn_with(approval_policy={"granular": GRANULAR})
    previous = {**turn.to_rollout(), field: value}
    assert bool(context_changes(previous, turn, AROUND)) == told


def test_a_reference_without_a_model_is_no_switch() -> None:
    previous = PLAIN_TURN.to_rollout()
    del previous["model"]
    assert context_changes(previous, PLAIN_TURN, AROUND) == []


def test_interrupted_turn_leaves_a_tagged_note() -> None:
    item = turn_aborted_marker()
    (text,) = texts_of(item)
    assert item["role"] == "user"
    assert text.startswith("<turn_aborted>\n")
    assert text.endswith("\n</turn_aborted>")


def test_context_loads_nothing_that_most_turns_do_not_need() -> None:
    names = ("fragments", "environment", "project_docs", "user_message", "skills", "skill_mentions", "bundled_skills")
    imports = "; ".join(f"import pycodex.supervisor.context.{name}" for name in names)
    loaded = modules_loaded_by(f"{imports}; import pycodex.supervisor.workspace.git")
    assert loaded & {"yaml", "PIL", "subprocess", "trio", "mimetypes", "base64", "tempfile", "logging"} == set()
