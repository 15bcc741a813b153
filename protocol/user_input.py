"""What a person gives to a turn: text, pictures, and pointers to skills and files.

Owns the values and nothing else; how they become parts of a message is decided in `supervisor/context`.
"""

from pycodex.protocol.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar


class _Input(Record):
    _tag: "ClassVar[str]" = ""

    def to_wire(self) -> "dict[str, Any]":
        return {"type": self._tag, **self.to_plain()}


class Text(_Input):
    _tag = "text"

    text: "str"
    text_elements: "tuple[dict[str, Any], ...]" = ()
    """Ranges of the text that a front-end shows in its own way."""


class Image(_Input):
    _tag = "image"

    url: "str"


class LocalImage(_Input):
    _tag = "local_image"

    path: "str"


class Skill(_Input):
    _tag = "skill"

    name: "str"
    path: "str"


class Mention(_Input):
    _tag = "mention"

    name: "str"
    path: "str"


UserInput = Text | Image | LocalImage | Skill | Mention
