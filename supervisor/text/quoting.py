"""A text in double quotes, with everything that cannot be seen written as an escape.

Owns the form in which texts stand inside our error texts: that of Rust's `{:?}`, which models know from Codex.
"""

_ESCAPES = {"\t": "\\t", "\r": "\\r", "\n": "\\n", "\0": "\\0", '"': '\\"', "\\": "\\\\"}


def quoted(text: str) -> str:
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    known = _ESCAPES.get(character)
    if known is not None:
        return known
    if character.isprintable() and (character.isascii() or not _is_mark(character)):
        return character
    return f"\\u{{{ord(character):x}}}"


def _is_mark(character: str) -> bool:
    """Shown only together with what is before it."""
    import unicodedata

    return unicodedata.category(character) in ("Mn", "Me")
