"""Who the model is told to be."""

from dataclasses import replace

import pytest

from pycodex.supervisor.context.instructions import (
    PERSONALITIES,
    base_instructions,
    mode_instructions,
    personality_text,
    spoken_personality,
)
from support.turns import MODEL_INFO


@pytest.mark.parametrize("personality", PERSONALITIES)
def test_personality_is_spliced_into_the_text(personality: str) -> None:
    text = base_instructions(MODEL_INFO, personality, None)
    assert personality_text(personality) in text
    assert "{{" not in text
    assert spoken_personality(text) == personality


def test_personalities_differ() -> None:
    assert len({personality_text(name) for name in PERSONALITIES}) == len(PERSONALITIES)


@pytest.mark.parametrize("personality", [None, "grumpy"])
def test_without_a_known_personality_the_default_speaks(personality: str | None) -> None:
    assert spoken_personality(base_instructions(MODEL_INFO, personality, None)) == "pragmatic"


def test_an_override_is_taken_as_it_is() -> None:
    assert base_instructions(MODEL_INFO, "friendly", "MINE") == "MINE"
    assert spoken_personality("MINE") is None


def test_text_of_the_catalogue_comes_before_ours_and_after_an_override() -> None:
    info = replace(MODEL_INFO, base_instructions="THEIRS")
    assert base_instructions(info, "friendly", None) == "THEIRS"
    assert base_instructions(info, "friendly", "MINE") == "MINE"


def test_modes_have_different_texts() -> None:
    assert mode_instructions("plan") != mode_instructions("default")
