"""A plan is told from what is said around it, wherever the pieces end."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.supervisor.text.plan_blocks import PlanBlocks

TEXT = "Before.\n<proposed_plan>\n# Plan\n<not a tag>\n  </proposed_plan>  \nAfter <proposed_plan> here."


def split(*pieces: str) -> tuple[str, str | None]:
    """What was said, and the plan if there was one."""
    blocks = PlanBlocks()
    found = [piece for text in pieces for piece in blocks.feed(text)] + blocks.finish()
    plans = [piece.text for piece in found if piece.is_plan]
    return "".join(piece.text for piece in found if not piece.is_plan), "".join(plans) if plans else None


def test_plan_is_cut_out() -> None:
    assert split(TEXT) == ("Before.\nAfter <proposed_plan> here.", "# Plan\n<not a tag>\n")


@given(st.lists(st.integers(0, len(TEXT)), max_size=8))
def test_pieces_make_no_difference(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(TEXT)]
    pieces = [TEXT[start:end] for start, end in itertools.pairwise(places)]
    assert split(*pieces) == split(TEXT)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ("", None)),
        ("no plan", ("no plan", None)),
        ("<proposed_plan>", ("", "")),
        ("<proposed_plan>\nopen end", ("", "open end")),
        ("a\n<proposed_plan>\nb\n</proposed_plan>", ("a\n", "b\n")),
        ("<proposed", ("<proposed", None)),
        ("</proposed_plan>\n", ("</proposed_plan>\n", None)),
        ("x <proposed_plan>\n", ("x <proposed_plan>\n", None)),
    ],
)
def test_odd_texts(text: str, expected: tuple[str, str | None]) -> None:
    assert split(text) == expected


def test_only_what_may_become_a_tag_is_kept_back() -> None:
    blocks = PlanBlocks()
    assert [piece.text for piece in blocks.feed("Hello")] == ["Hello"]
    assert [piece.text for piece in blocks.feed(" <prop\n<pro")] == [" <prop\n"]
    assert [piece.text for piece in blocks.feed("x")] == ["<prox"]
