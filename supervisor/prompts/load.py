"""Gives the texts of this folder by name.

Owns where they lie and how a slot in one is filled; knows nothing of what they say. They are package data, read on
first use and kept, because each turn asks for the same few.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

_FOLDER: "Final" = os.path.dirname(os.path.abspath(__file__))
BUNDLED_SKILLS_DIR: "Final" = os.path.join(_FOLDER, "skills")

_texts: "dict[str, str]" = {}


def text(name: str) -> str:
    """The text `name`.md, without the line end at its end."""
    known = _texts.get(name)
    if known is None:
        with open(os.path.join(_FOLDER, f"{name}.md"), encoding="utf-8") as file:
            known = _texts[name] = file.read().rstrip("\n")
    return known


def grammar(name: str) -> str:
    """The grammar `name`.lark."""
    with open(os.path.join(_FOLDER, f"{name}.lark"), encoding="utf-8") as file:
        return file.read()


def filled(name: str, **values: str) -> str:
    """The text with each `{{slot}}` replaced. What is put in is not searched for further slots."""
    first, *rest = text(name).split("{{")
    pieces = [first]
    for piece in rest:
        slot, _, after = piece.partition("}}")
        pieces += (values[slot], after)
    return "".join(pieces)
