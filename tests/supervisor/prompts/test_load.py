"""The texts are there, are ours, and their slots are filled."""

from pathlib import Path

import pytest

from pycodex.supervisor.prompts import load

FOLDER = Path(load.__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.md"))


@pytest.mark.parametrize("name", NAMES)
def test_every_text_says_something_and_ends_without_a_line_end(name: str) -> None:
    text = load.text(name)
    assert text.strip() == text
    assert text


def test_slots_are_replaced_once() -> None:
    assert load.filled("writable-root", roots="`/{{roots}}`").endswith("`/{{roots}}`.")


def test_a_missing_value_is_a_mistake_of_ours() -> None:
    with pytest.raises(KeyError):
        load.filled("writable-root")


def test_base_prompt_is_of_a_reasonable_length() -> None:
    assert 1200 <= len(load.text("base").split()) <= 2000


@pytest.mark.parametrize(
    "fact", ["exec_command", "write_stdin", "update_plan", "If you have `apply_patch`", "AGENTS.md"]
)
def test_base_prompt_names_the_tools_it_counts_on(fact: str) -> None:
    assert fact in load.text("base")


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("mode-default", ["Default", "Plan", "`request_user_input` is unavailable"]),
        ("mode-plan", ["<proposed_plan>", "</proposed_plan>", "`update_plan`", "Explore", "Intent", "Implementation"]),
        ("turn-aborted", ["interrupted", "on purpose", "background", "part of its work"]),
        ("review-uncommitted", ["staged", "not track"]),
        ("review-base", ["{{branch}}", "{{sha}}", "git diff {{sha}}"]),
        ("review-base-unknown", ["{{branch}}", "git merge-base HEAD {{quoted}}", "{{upstream}}", "git diff"]),
        ("review-commit", ["{{commit}}"]),
        ("review-results", ["<user_action>\n", "<action>review</action>", "<results>\n  {{results}}\n  </results>"]),
        ("review-interrupted", ["<user_action>\n", "<action>review</action>", "  None.\n", "`/review`"]),
        (
            "review",
            [
                *("findings", "title", "body", "confidence_score", "priority", "code_location", "absolute_file_path"),
                *("line_range", "overall_correctness", "overall_explanation", "overall_confidence_score"),
            ],
        ),
    ],
)
def test_texts_state_their_facts(name: str, facts: list[str]) -> None:
    assert [fact for fact in facts if fact not in load.text(name)] == []
