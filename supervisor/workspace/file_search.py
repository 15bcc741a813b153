"""Which files somebody means who types a part of their paths.

Owns the order of the results and the bounds of the work. Pure, and slow for many files: not for a thread that others
wait for. How well one path fits is up to `text/fuzzy`, which files there are up to whoever asks.
"""

import heapq
from collections.abc import Callable, Iterable
from typing import NamedTuple

from pycodex.supervisor.text.fuzzy import Fit, atoms_of, fit, highest

MAX_FOUND = 50
MAX_QUERY_CHARACTERS = 1024
_CHECK_EVERY = 256


class Candidate(NamedTuple):
    """A file below one of the roots; `path` is relative to it."""

    root: str
    path: str


class Found(NamedTuple):
    candidate: Candidate
    fit: Fit


def best_matches(
    query: str, candidates: Iterable[Candidate], *, limit: int = MAX_FOUND, is_stale: Callable[[], bool] = lambda: False
) -> list[Found]:
    """The best, by score and then by path. Gives up with nothing once nobody wants the answer any more."""
    atoms = atoms_of(query[:MAX_QUERY_CHARACTERS])
    if not atoms:
        return []
    top = highest(atoms)
    found: list[Found] = []
    perfect = 0
    # Of equals the shorter wins, so once enough of them are perfect no longer one can matter.
    for number, candidate in enumerate(sorted(candidates, key=lambda each: len(each.path))):
        if number % _CHECK_EVERY == 0 and is_stale():
            return []
        result = fit(atoms, candidate.path)
        if result is not None:
            found.append(Found(candidate, result))
            perfect += result.score == top
            if perfect >= limit:
                break
    chosen = heapq.nsmallest(limit, found, key=lambda each: (-each.fit.score, len(each.candidate.path)))
    return sorted(chosen, key=lambda each: (-each.fit.score, each.candidate.path))
