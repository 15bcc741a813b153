"""How well paths fit, with the scores of the reference."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.supervisor.text.fuzzy import atoms_of, fit, highest


@pytest.mark.parametrize(
    ("query", "path", "score", "indices"),
    [
        ("fooba", "camelCase/FooBar123/fooBar.py", 134, [20, 21, 22, 23, 24]),
        ("fooba", "camelCase/foo_bar.py", 129, [10, 11, 12, 14, 15]),
        ("d/e", "tests/supervisor/frontends/demo/test_scene.py", 58, [27, 31, 33]),
        ("d/e", "frontends/demo/scene.py", 57, [10, 14, 17]),
        ("ab", "ab", 34 + 25, [0, 1]),
        ("ab", "a/b", 34 - 3 + 25, [0, 2]),
        ("b", "ab/b", 34, [3]),
        ("été", "a b/Éclair/été.txt", 34 + 2 * 25, [11, 12, 13]),
        ("ete", "été.txt", 34 + 2 * 25, [0, 1, 2]),
    ],
)
def test_the_best_way_to_match_counts(query: str, path: str, score: int, indices: list[int]) -> None:
    found = fit(atoms_of(query), path)
    assert found is not None
    assert (found.score, list(found.indices)) == (score, indices)


@pytest.mark.parametrize(
    ("query", "fitting", "unfitting"),
    [
        ("abc", "a/b/c", "acb"),
        ("a b", "b/a", "b"),
        ("a\\ b", "x/a b", "ab"),
        ("!test conf", "conf", "test/conf"),
        ("^src", "src/a", "a/src"),
        ("'conf", "aconf", "con/f"),
        ("py$", "a.py", "py.a"),
        ("^a.py$", "a.py", "b/a.py"),
        ("\\^a", "x^a", "a"),
        ("a\\$", "a$", "a"),
        ("Foo", "aFoo", "afoo"),
        ("foo", "aFOO", "fo"),
    ],
)
def test_words_of_a_query_can_say_where(query: str, fitting: str, unfitting: str) -> None:
    assert fit(atoms_of(query), fitting) is not None
    assert fit(atoms_of(query), unfitting) is None


def test_a_query_of_blanks_has_no_words() -> None:
    assert atoms_of("  ") == ()


def test_nothing_scores_more_than_the_highest() -> None:
    atoms = atoms_of("abc x")
    found = fit(atoms, "abc/x")
    assert found is not None
    assert found.score <= highest(atoms)


def test_long_texts_are_matched_without_looking_for_the_best_way() -> None:
    path = "a" + "x" * 5000 + "b"
    found = fit(atoms_of("ab"), path)
    assert found is not None
    assert found.indices == (0, 5001)


def test_letters_that_lower_to_two_keep_their_places() -> None:
    found = fit(atoms_of("b"), "İb")
    assert found is not None
    assert found.indices == (1,)


@given(
    query=st.text(alphabet="abA/_.1 é", min_size=1, max_size=6), path=st.text(alphabet="abcABC/_.-12 éİß", max_size=40)
)
def test_what_matches_is_where_it_says(query: str, path: str) -> None:
    atoms = atoms_of(query)
    found = fit(atoms, path)
    if found is None or not atoms:
        return
    assert found.indices == tuple(sorted(set(found.indices)))
    assert all(0 <= index < len(path) for index in found.indices)
    assert 0 < found.score <= highest(atoms)
    if len(atoms) == 1:
        assert len(found.indices) == len(atoms[0].needle)


@given(st.text(), st.text())
def test_no_text_breaks_it(query: str, path: str) -> None:
    fit(atoms_of(query), path)
