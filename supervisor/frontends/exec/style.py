"""Colours of the human output, and what a terminal may be shown.

Owns whether to colour, the styles by their meaning in the layout, and the neutralising of control characters. Knows
nothing of events.
"""

from collections.abc import Mapping

ALWAYS = "always"
NEVER = "never"

BOLD = "1"
DIM = "2"
ITALIC = "3"
RED = "31"
GREEN = "32"
YELLOW = "33"
MAGENTA = "35"
CYAN = "36"

_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}


def wants_colour(choice: str, env: Mapping[str, str], *, is_terminal: bool) -> bool:
    """`choice` is that of --color. FORCE_COLOR beats NO_COLOR, both beat the look at the terminal."""
    if choice in (ALWAYS, NEVER):
        return choice == ALWAYS
    if env.get("FORCE_COLOR", "0").lower() not in ("0", "false"):
        return True
    return is_terminal and not env.get("NO_COLOR") and env.get("TERM", "dumb") != "dumb"


class Style:
    def __init__(self, *, colour: bool) -> None:
        self._colour = colour

    def paint(self, text: str, *codes: str) -> str:
        """Styles from the outermost to the innermost, each ended on its own."""
        if not self._colour:
            return text
        return "".join(f"\x1b[{code}m" for code in codes) + text + "\x1b[0m" * len(codes)

    def section(self, word: str) -> str:
        return self.paint(word, MAGENTA, ITALIC)


def harmless(text: str) -> str:
    """Without the means to move the cursor, retitle the window or hide what is there: commands and models wrote it."""
    if text.isprintable():
        return text
    return text.replace("\r\n", "\n").translate(_CONTROLS)
