"""Which of several texts fit a query best.

Owns the measure (Okapi BM25) and what counts as a word. Pure; knows nothing of what the texts describe.
"""

import math
from collections import Counter
from collections.abc import Sequence

# How soon it stops to matter that a word comes again, and how much a long text is held against itself.
_SATURATION = 1.2
_LENGTH_WEIGHT = 0.75


def best_matches(query: str, texts: Sequence[str], *, limit: int) -> list[int]:
    """Positions of the texts that share a word with the query, the best first; of equals, the earlier first."""
    counted = [Counter(words(text)) for text in texts]
    lengths = [words_of.total() for words_of in counted]
    usual_length = sum(lengths) / len(lengths) if any(lengths) else 1.0
    scores = [0.0] * len(texts)
    # A query may be long, but only words that some text has can count.
    known: set[str] = set().union(*counted)
    for word in known.intersection(words(query)):
        holders = [position for position, words_of in enumerate(counted) if word in words_of]
        rarity = math.log(1 + (len(texts) - len(holders) + 0.5) / (len(holders) + 0.5))
        for position in holders:
            times = counted[position][word]
            length = 1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * lengths[position] / usual_length
            scores[position] += rarity * times * (_SATURATION + 1) / (times + _SATURATION * length)
    found = [position for position, score in enumerate(scores) if score > 0]
    return sorted(found, key=lambda position: -scores[position])[:limit]


def words(text: str) -> list[str]:
    """In lower case, cut at whatever is neither letter nor digit; a plural counts as its singular."""
    pieces = "".join(char if char.isalnum() else " " for char in text.lower()).split()
    return [piece[:-1] if len(piece) > 3 and piece.endswith("s") and piece[-2] != "s" else piece for piece in pieces]
