"""Taking a script apart without a grammar, as far as that is beyond doubt.

Owns a reading of the simplest scripts that follows the shell's own rules for blanks, quotes and line ends. The grammar
is made for editors and takes some things for blanks, or for part of a line, that the shell does not; what is decided
about a script must hold for what the shell will run, so both readings have to agree. Pure.
"""

import re

# Everything that can stand in a script which is only words and what joins commands. A backslash before the end of a
# line makes one line of two: beyond doubt only beside a blank.
_TOKEN = re.compile(
    r"""
      (?P<blank>(?:\\\n)*[ \t](?:[ \t]|\\\n)*)
    | (?P<end>\n|&&|\|\||;|\|(?![&|]))
    | (?P<bare>(?:[^\s\\'"`$&|;<>()\x00-\x1f\x7f]|\\[^\n])+)
    | '(?P<single>[^']*)'
    | "(?P<double>(?:[^"\\$`]|\\.)*)"
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)


_EXPANDED_BARE = frozenset("\\*?[]{}~")


def expands(script: str) -> bool:
    """Whether the shell may make other words of those that are written; of what cannot be read, it may."""
    position = 0
    while position < len(script):
        token = _TOKEN.match(script, position)
        if token is None:
            return True
        position = token.end()
        bare, double = token["bare"] or "", token["double"] or ""
        if "\\" in double or not _EXPANDED_BARE.isdisjoint(bare):
            return True
    return False


def simple_commands(script: str) -> tuple[tuple[str, ...], ...] | None:
    """The commands, words as they are written but without their quotes; None where that cannot be told for sure.

    Of words that mean something to the shell, such as `if`, nothing is known here.
    """
    commands: list[tuple[str, ...]] = []
    words: list[str] = []
    word: list[str] | None = None
    position = 0
    while position < len(script):
        token = _TOKEN.match(script, position)
        if token is None:
            return None
        position = token.end()
        kind = token.lastgroup
        if kind in ("blank", "end"):
            if word is not None:
                words.append("".join(word))
                word = None
            if kind == "end" and words:
                commands.append(tuple(words))
                words = []
            continue
        text = token[kind or 0]
        if word is None:
            if kind == "bare" and text.startswith("#"):
                return None
            word = []
        word.append(text)
    if word is not None:
        words.append("".join(word))
    if words:
        commands.append(tuple(words))
    return tuple(commands)
