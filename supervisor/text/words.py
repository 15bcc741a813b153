"""Splitting one line into words, as a shell reads quotes, backslashes and comments.

Owns the reading, which is that of the reference and not `shlex.split`: a `#` that begins a word starts a comment, and
nothing is expanded. The other way round is `argv`. Takes text, gives words; runs nothing.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_BLANKS = " \t\n"
_ESCAPED_IN_DOUBLE_QUOTES = '$`"\\'


class _Unfinished(Exception):
    """A quote or a backslash at the end."""


def split_words(line: str) -> list[str] | None:
    """The words; None if a quote is not closed or nothing follows a backslash."""
    characters = iter(line)
    words = []
    try:
        for character in characters:
            if character == "#":
                _skip_comment(characters)
            elif character not in _BLANKS:
                words.append("".join(_word(character, characters)))
    except _Unfinished:
        return None
    return words


def _skip_comment(characters: "Iterator[str]") -> None:
    for character in characters:
        if character == "\n":
            return


def _word(first: str, characters: "Iterator[str]") -> "Iterator[str]":
    character = first
    while character not in _BLANKS:
        if character == '"':
            yield from _in_double_quotes(characters)
        elif character == "'":
            yield from _in_single_quotes(characters)
        elif character == "\\":
            escaped = _next(characters)
            yield "" if escaped == "\n" else escaped
        else:
            yield character
        character = next(characters, "\n")


def _in_double_quotes(characters: "Iterator[str]") -> "Iterator[str]":
    while (character := _next(characters)) != '"':
        if character != "\\":
            yield character
        elif (escaped := _next(characters)) != "\n":
            yield escaped if escaped in _ESCAPED_IN_DOUBLE_QUOTES else f"\\{escaped}"


def _in_single_quotes(characters: "Iterator[str]") -> "Iterator[str]":
    while (character := _next(characters)) != "'":
        yield character


def _next(characters: "Iterator[str]") -> str:
    character = next(characters, "")
    if not character:
        raise _Unfinished
    return character
