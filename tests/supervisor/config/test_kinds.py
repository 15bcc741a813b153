"""What a mismatch remembers beside its message."""

import pytest

from pycodex.supervisor.config.kinds import (
    BOOLEAN,
    STRING,
    Choice,
    Kind,
    Names,
    Sequence,
    Table,
    alternatives,
    first_mismatch,
)


@pytest.mark.parametrize(
    ("words", "text"),
    [(("a",), "`a`"), (("a", "b"), "`a` or `b`"), (("a", "b", "c"), "one of `a`, `b`, `c`")],
)
def test_alternatives_are_listed(words: tuple[str, ...], text: str) -> None:
    assert alternatives(words) == text


@pytest.mark.parametrize(
    ("kind", "value", "keys", "place"),
    [
        (Table("t", {"a": Names(BOOLEAN)}), {"a": {"x": 1}}, ("a", "x"), ("a", "x")),
        (Table("t", {"a": Names(BOOLEAN, loses=True)}), {"a": {"x": 1}}, ("a", "x"), ("a",)),
        (Table("t", {"a": Sequence(STRING)}), {"a": ["x", 1]}, ("a", 1), ("a",)),
        (Table("t", {}, rest=Table("r", {"b": BOOLEAN})), {"a": {"b": 1}}, ("a", "b"), ()),
        (
            Table("t", {"a": Choice("w", payloads={"w": Table("p", {"b": BOOLEAN})})}),
            {"a": {"w": {"b": 1}}},
            ("a", "w", "b"),
            ("a", "b"),
        ),
    ],
)
def test_the_way_to_a_value_is_kept_even_where_it_is_not_named(
    kind: Kind, value: object, keys: tuple[str | int, ...], place: tuple[str, ...]
) -> None:
    found = first_mismatch(kind, value)
    assert found is not None
    assert (found.keys, found.place) == (keys, place)


def test_a_choice_of_another_type_reads_differently_in_a_file() -> None:
    found = first_mismatch(Choice("a"), 3)
    assert found is not None
    assert found.in_file == "wanted string or table"
