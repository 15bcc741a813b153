"""How well a path fits what somebody typed, and which of its characters do.

Owns the measure, which is that of the reference: a match earns points, more at the start of a word, fewer after a gap,
and of all ways to match the best one counts. Pure; what is measured and how many are wanted is up to the caller.
"""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

_MATCH = 16
_GAP_START = 3
_GAP_MORE = 1
_BOUNDARY = 8
_AFTER_DELIMITER = 9
_CAMEL = _BOUNDARY - _GAP_START
_CONSECUTIVE = _GAP_START + _GAP_MORE
_FIRST_FACTOR = 2
# Beyond these the best way is not looked for: it would take too long.
_MOST_CELLS = 100 << 10
_MOST_CHARACTERS = 2048

# Classes of characters; from _LOWER on they are parts of words.
_SPACE, _OTHER, _DELIMITER, _LOWER, _UPPER, _LETTER, _NUMBER = range(7)

FUZZY, SUBSTRING, PREFIX, POSTFIX, EXACT = "fuzzy", "substring", "prefix", "postfix", "exact"


class Fit(NamedTuple):
    score: int
    indices: tuple[int, ...]
    """Of the characters that match, ascending."""


@dataclass(frozen=True, slots=True)
class Atom:
    """One word of a query."""

    kind: str
    needle: str
    ignores_case: bool
    is_negative: bool = False


def atoms_of(query: str) -> tuple[Atom, ...]:
    """The words of a query; `\\ ` is a space inside of one."""
    return tuple(atom for word in _words(query) if (atom := _atom(word)).needle)


def highest(atoms: Sequence[Atom]) -> int:
    """No text can score more than this."""
    return sum(
        _MATCH + _FIRST_FACTOR * _AFTER_DELIMITER + (len(atom.needle) - 1) * (_MATCH + _AFTER_DELIMITER)
        for atom in atoms
        if not atom.is_negative
    )


def fit(atoms: Sequence[Atom], text: str) -> Fit | None:
    """How well all of them fit; None if one does not."""
    score = 0
    indices: set[int] = set()
    for atom in atoms:
        found = _FINDERS[atom.kind](atom.needle, _Haystack(text, atom))
        if atom.is_negative:
            if found is not None:
                return None
            continue
        if found is None:
            return None
        score += found.score
        indices.update(found.indices)
    return Fit(score, tuple(sorted(indices)))


def _words(query: str) -> list[str]:
    words = [""]
    after_backslash = False
    for character in query:
        if character.isspace() and not after_backslash:
            words.append("")
        else:
            words[-1] += character
        after_backslash = character == "\\"
    return words


def _atom(word: str) -> Atom:
    is_negative = word.startswith("!")
    rest = word[1:] if word.startswith(("!", "\\!")) else word
    kind = {"^": PREFIX, "'": SUBSTRING}.get(rest[:1], FUZZY)
    if kind != FUZZY or rest.startswith(("\\^", "\\'")):
        rest = rest[1:]
    ending = ""
    if rest.endswith("\\$"):
        rest, ending = rest[:-2], "$"
    elif rest.endswith("$"):
        rest = rest[:-1]
        kind = POSTFIX if kind == FUZZY else EXACT
    if is_negative and kind == FUZZY:
        kind = SUBSTRING
    needle = rest.replace("\\ ", " ") + ending
    ignores_case = not any(character.isupper() for character in needle)
    return Atom(kind, needle, ignores_case, is_negative)


class _Haystack:
    """A text as one atom sees it. `text` has as many characters as the original."""

    def __init__(self, text: str, atom: Atom) -> None:
        self.original = text
        folded = text if text.isascii() or not atom.needle.isascii() else "".join(map(_plain, text))
        self.text = folded if not atom.ignores_case else _lowered(folded)

    def bonus(self, index: int) -> int:
        before = _class_of(self.original[index - 1]) if index else _DELIMITER
        return _bonus(before, _class_of(self.original[index]))


def _plain(character: str) -> str:
    """A letter without its accents."""
    return character if character.isascii() else unicodedata.normalize("NFD", character)[:1]


def _lowered(text: str) -> str:
    lowered = text.lower()
    # A few letters become two when lowered; the indices must stay those of the original.
    return lowered if len(lowered) == len(text) else "".join(character.lower()[:1] for character in text)


def _class_of(character: str) -> int:
    if character.islower():
        return _LOWER
    if character.isupper():
        return _UPPER
    if character.isnumeric():
        return _NUMBER
    if character.isalpha():
        return _LETTER
    if character.isspace():
        return _SPACE
    return _DELIMITER if character == "/" else _OTHER


def _bonus(before: int, here: int) -> int:
    if here >= _LOWER and before < _LOWER:
        return _AFTER_DELIMITER if before == _DELIMITER else _BOUNDARY
    if (before == _LOWER and here == _UPPER) or (here == _NUMBER and before != _NUMBER):
        return _CAMEL
    return _BOUNDARY if here in (_SPACE, _OTHER) else 0


# Words that stand together


def _at(needle: str, haystack: _Haystack, start: int) -> Fit | None:
    if start < 0 or not haystack.text.startswith(needle, start):
        return None
    indices = tuple(range(start, start + len(needle)))
    return Fit(_score_of(indices, haystack), indices)


def _whole(needle: str, haystack: _Haystack) -> Fit | None:
    return _at(needle, haystack, 0) if len(needle) == len(haystack.text) else None


def _prefix(needle: str, haystack: _Haystack) -> Fit | None:
    return _at(needle, haystack, 0)


def _postfix(needle: str, haystack: _Haystack) -> Fit | None:
    return _at(needle, haystack, len(haystack.text) - len(needle))


def _substring(needle: str, haystack: _Haystack) -> Fit | None:
    """Where it starts best; the first of equals."""
    best: int | None = None
    best_bonus = -1
    start = haystack.text.find(needle)
    while start >= 0:
        bonus = haystack.bonus(start)
        if bonus > best_bonus:
            best, best_bonus = start, bonus
        start = haystack.text.find(needle, start + 1)
    return None if best is None else _at(needle, haystack, best)


def _score_of(indices: Sequence[int], haystack: _Haystack) -> int:
    """The score of one given way to match."""
    first_bonus = haystack.bonus(indices[0])
    score = _MATCH + first_bonus * _FIRST_FACTOR
    for last, index in pairwise(indices):
        bonus = haystack.bonus(index)
        if index == last + 1:
            if bonus >= _BOUNDARY and bonus > first_bonus:
                first_bonus = bonus
            bonus = max(bonus, first_bonus, _CONSECUTIVE)
        else:
            score = max(0, score - _GAP_START - _GAP_MORE * (index - last - 2))
            first_bonus = bonus
        score += _MATCH + bonus
    return score


# Words with gaps


def _fuzzy(needle: str, haystack: _Haystack) -> Fit | None:
    firsts = _first_places(needle, haystack.text)
    if firsts is None:
        return None
    if len(needle) == 1:
        return _substring(needle, haystack)
    end = haystack.text.rfind(needle[-1]) + 1
    width = end - firsts[0]
    if width == len(needle):
        return _at(needle, haystack, firsts[0])
    if width > _MOST_CHARACTERS or width * len(needle) > _MOST_CELLS:
        places = _last_places(needle, haystack.text, firsts[-1])
        return Fit(_score_of(places, haystack), places)
    return _Matrix(needle, haystack, firsts, end).best()


def _first_places(needle: str, text: str) -> list[int] | None:
    """Where each character can be at the earliest; None if they are not all there in this order."""
    places = []
    place = -1
    for character in needle:
        place = text.find(character, place + 1)
        if place < 0:
            return None
        places.append(place)
    return places


def _last_places(needle: str, text: str, last: int) -> tuple[int, ...]:
    """Where each character is at the latest, with the last one where it was found."""
    places = [last]
    for character in reversed(needle[:-1]):
        places.append(text.rfind(character, 0, places[-1]))
    return tuple(reversed(places))


class _Row(NamedTuple):
    """For one character of the needle and each place: the best score with the character there, and how it came."""

    scores: list[int]
    """0: it is not there."""
    carried: list[int]
    """The bonus that a match right behind inherits."""
    joins: list[bool]
    """Whether the character before it in the needle is right before it in the text."""


class _Matrix:
    """All ways to match, by their best beginnings."""

    def __init__(self, needle: str, haystack: _Haystack, firsts: Sequence[int], end: int) -> None:
        self._needle = needle
        self._start = firsts[0]
        self._text = haystack.text[self._start : end]
        self._bonus = [haystack.bonus(index) for index in range(self._start, end)]
        self._firsts = [place - self._start for place in firsts]

    def best(self) -> Fit:
        rows = [self._first_row()]
        gaps: list[list[bool]] = []
        for number in range(1, len(self._needle)):
            row, came_from_match = self._next_row(rows[-1], number)
            rows.append(row)
            gaps.append(came_from_match)
        scores = rows[-1].scores
        top = max(scores)
        # The last of equals, as in the reference.
        column = len(scores) - 1 - scores[::-1].index(top)
        return Fit(top, self._way_to(column, rows, gaps))

    def _first_row(self) -> _Row:
        wanted = self._needle[0]
        scores = [
            _MATCH + bonus * _FIRST_FACTOR if character == wanted else 0
            for character, bonus in zip(self._text, self._bonus, strict=True)
        ]
        return _Row(scores, list(self._bonus), [False] * len(scores))

    def _next_row(self, above: _Row, number: int) -> tuple[_Row, list[bool]]:
        """The row below, and for each place whether a gap that reaches it began right behind a match."""
        width = len(self._text)
        row = _Row([0] * width, [0] * width, [False] * width)
        came_from_match = [False] * width
        wanted = self._needle[number]
        after_gap = matched = 0
        for column in range(self._firsts[number - 1], width - 1):
            from_match, from_gap = max(0, matched - _GAP_START), max(0, after_gap - _GAP_MORE)
            came_from_match[column] = from_match > from_gap
            after_gap = max(from_match, from_gap)
            matched = above.scores[column]
            if self._text[column + 1] == wanted and column + 1 >= self._firsts[number]:
                self._enter(row, column + 1, after_gap, matched, above.carried[column])
        return row, came_from_match

    def _enter(self, row: _Row, column: int, after_gap: int, matched: int, carried: int) -> None:
        bonus = self._bonus[column]
        skipping = after_gap + bonus
        inherited = max(carried, _CONSECUTIVE)
        if bonus >= _BOUNDARY and bonus > inherited:
            inherited = bonus
        joining = matched + max(inherited, bonus)
        if matched and joining > skipping:
            row.scores[column], row.carried[column], row.joins[column] = joining + _MATCH, inherited, True
        else:
            row.scores[column], row.carried[column] = skipping + _MATCH, bonus

    def _way_to(self, column: int, rows: Sequence[_Row], gaps: Sequence[Sequence[bool]]) -> tuple[int, ...]:
        places = [column]
        for number in range(len(rows) - 1, 0, -1):
            joins = rows[number].joins[column]
            column -= 1
            while not joins:
                joins = gaps[number - 1][column]
                column -= 1
            places.append(column)
        return tuple(self._start + place for place in reversed(places))


_FINDERS: dict[str, Callable[[str, _Haystack], Fit | None]] = {
    FUZZY: _fuzzy,
    SUBSTRING: _substring,
    PREFIX: _prefix,
    POSTFIX: _postfix,
    EXACT: _whole,
}
