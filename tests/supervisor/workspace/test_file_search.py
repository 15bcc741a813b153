"""Which files are meant, and in which order."""

from pycodex.supervisor.workspace.file_search import MAX_FOUND, Candidate, best_matches


def found(query: str, *paths: str) -> list[str]:
    return [each.candidate.path for each in best_matches(query, [Candidate("/r", path) for path in paths])]


def test_the_best_come_first_and_equals_by_path() -> None:
    assert found("conf", "b/conf", "a/conf", "c/o/n/f", "nothing") == ["a/conf", "b/conf", "c/o/n/f"]


def test_no_query_finds_nothing() -> None:
    assert found("", "a") == []
    assert found("  ", "a") == []


def test_of_many_equals_the_shortest_are_chosen() -> None:
    paths = [f"{'x' * length}/a" for length in range(1, 200)]
    chosen = found("a", *reversed(paths))
    assert len(chosen) == MAX_FOUND
    assert set(chosen) == set(paths[:MAX_FOUND])


def test_one_that_nobody_waits_for_gives_up() -> None:
    assert best_matches("a", [Candidate("/r", "a")], is_stale=lambda: True) == []


def test_an_endless_query_is_cut() -> None:
    assert found("a" * 100_000, "a" * 10) == []
