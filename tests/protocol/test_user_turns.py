"""Which messages are the person's own."""

from typing import Any

import pytest

from pycodex.protocol.user_turns import before_last_user_turns, is_contextual, is_goal_note, is_user_turn
from support.rollouts import message, output


@pytest.mark.parametrize(
    "text",
    [
        "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>",
        "# agents.md instructions for /w </instructions>",
        "<environment_context>\n</environment_context>",
        "  \n<ENVIRONMENT_CONTEXT></Environment_Context>\n ",
        "<skill>\n<name>x</name>\n</skill>",
        "<user_shell_command>\n</user_shell_command>",
        "<turn_aborted>\n</turn_aborted>",
        "<subagent_notification>\n{}\n</subagent_notification>",
        '<codex_internal_context source="goal">\n</codex_internal_context>',
        " " * 500 + "<skill></skill>",
    ],
)
def test_marked_texts_are_the_programs(text: str) -> None:
    assert not is_user_turn(message("user", text))
    assert is_user_turn(message("user", text + "."))
    assert is_user_turn(message("user", "x" + text))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "<skill>",
        "</skill>",
        "<skill></turn_aborted>",
        "<skills></skills>",
        "Warning: x",
        "<user_action></user_action>",
        "<codex_internal_context></codex_internal_context>",
        "<image>",
    ],
)
def test_other_texts_are_the_persons(text: str) -> None:
    assert is_user_turn(message("user", text))


def test_one_marked_part_is_enough() -> None:
    parts = [{"type": "input_text", "text": "mine"}, {"type": "input_text", "text": "<skill></skill>"}]
    assert is_contextual(parts)
    assert not is_contextual([{"type": "input_image", "image_url": "x"}, {"type": "input_text"}])


@pytest.mark.parametrize(
    "item", [message("developer", "x"), message("assistant", "x"), output("c", "x"), {"type": "reasoning"}]
)
def test_other_items_begin_no_turn(item: dict[str, Any]) -> None:
    assert not is_user_turn(item)


@pytest.mark.parametrize(
    ("roles", "count", "stay"),
    [
        ("", 1, 0),
        ("da", 3, 2),
        ("duaua", 0, 5),
        ("duaua", 1, 3),
        ("duaua", 2, 1),
        ("duaua", 9, 1),
        ("duaua", -1, 5),
        ("uu", 1, 1),
    ],
)
def test_what_precedes_the_first_turn_stays(roles: str, count: int, stay: int) -> None:
    names = {"d": "developer", "u": "user", "a": "assistant"}
    assert before_last_user_turns([message(names[role], "x") for role in roles], count) == stay


def test_turns_towards_a_goal_count_though_nobody_asked_for_them() -> None:
    note, other = (
        message("user", f'<codex_internal_context source="{source}">\nx\n</codex_internal_context>')
        for source in ("goal", "goal_budget")
    )
    items = [message("user", "one"), note, message("user", "win"), other, note, message("assistant", "on it")]
    assert [before_last_user_turns(items, count) for count in (1, 2, 3)] == [4, 1, 0]
    no_notes = (other, {**note, "role": "developer"}, {**note, "content": []}, output("c", "x"))
    assert not any(map(is_goal_note, no_notes))
