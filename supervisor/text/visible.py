"""A text of somebody we do not trust, so that a person sees all of it and nothing but it.

Owns which characters could hide something or move what is shown, and how they are shown instead. Takes text, gives
text of bounded length.
"""

MOST_CHARACTERS = 2000
_CUT = " [...]"


def visible(text: str, *, most: int = MOST_CHARACTERS) -> str:
    """Line ends stay; what cannot be printed is written as an escape."""
    cut = text if len(text) <= most else text[:most] + _CUT
    if cut.isprintable():
        return cut
    return "".join(each if each.isprintable() or each == "\n" else _escape(each) for each in cut)


def is_plain(text: str) -> bool:
    """Whether it is shown as it is."""
    return text.isprintable()


def _escape(character: str) -> str:
    return f"\\u{{{ord(character):x}}}"
