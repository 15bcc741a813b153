"""Texts are found by the words they share with a query, rare words first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.supervisor.text.ranking import best_matches, words

TEXTS = [
    "create_ticket Opens a ticket in the tracker",
    "find_tickets Finds tickets in the tracker by their text",
    "send_mail Sends a mail",
    "weather_now Tells the weather in a city",
]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("weather", [3]),
        ("Weather NOW!", [3]),
        ("mail", [2]),
        ("tickets", [0, 1]),
        ("find a ticket", [1, 0, 2, 3]),
        ("tracker weather", [3, 0, 1]),
        ("nothing of this", []),
        ("", []),
        ("_ - .", []),
    ],
)
def test_best_comes_first(query: str, found: list[int]) -> None:
    assert best_matches(query, TEXTS, limit=8) == found


def test_no_more_than_asked_for() -> None:
    assert best_matches("ticket", TEXTS, limit=1) == [0]


def test_a_word_counts_more_in_a_short_text() -> None:
    assert best_matches("plum", ["plum " + "and others " * 20, "plum"], limit=8) == [1, 0]


def test_a_word_that_comes_again_counts_more() -> None:
    assert best_matches("plum", ["plum pear", "plum plum"], limit=8) == [1, 0]


def test_equals_keep_their_order() -> None:
    assert best_matches("same", ["same", "same", "same"], limit=2) == [0, 1]


@pytest.mark.parametrize("texts", [[], [""], ["", "  "]])
def test_nothing_to_search_is_nothing_found(texts: list[str]) -> None:
    assert best_matches("plum", texts, limit=8) == []


def test_words() -> None:
    assert words("get_Tickets2 (ÄRGER) glass gas") == ["get", "tickets2", "ärger", "glass", "gas"]
    assert words("tickets") == ["ticket"]


@given(st.text(), st.lists(st.text()), st.integers(min_value=1, max_value=5))
def test_any_text_can_be_searched(query: str, texts: list[str], limit: int) -> None:
    found = best_matches(query, texts, limit=limit)
    assert len(found) == len(set(found)) <= limit
    assert all(set(words(query)) & set(words(texts[position])) for position in found)
