"""Turns what a person gave to a turn into the message that the model reads and the event that front-ends see.

Owns the order and numbering of the parts. Skills and mentions add none here: what they point to is injected by itself.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pycodex.protocol.events.message import UserMessage
from pycodex.protocol.items import input_text, message
from pycodex.protocol.user_input import Image, LocalImage, Text, UserInput
from pycodex.supervisor.context import images

if TYPE_CHECKING:
    from pycodex.protocol.items import Item, Part


def message_of(inputs: Iterable[UserInput]) -> "Item":
    """The message. Reads picture files; never fails because of one."""
    parts: list[Part] = []
    pictures = 0
    for given in inputs:
        if isinstance(given, Text):
            parts.append(input_text(given.text))
        elif isinstance(given, Image):
            pictures += 1
            parts += images.url_parts(given.url)
        elif isinstance(given, LocalImage):
            pictures += 1
            parts += images.file_parts(given.path, pictures)
    return message("user", parts)


def event_of(inputs: Iterable[UserInput]) -> UserMessage:
    """The same as front-ends and session files see it: all texts as one."""
    text = ""
    elements: list[dict[str, Any]] = []
    urls: list[str] = []
    paths: list[str] = []
    for given in inputs:
        if isinstance(given, Text):
            offset = len(text.encode(errors="surrogatepass"))
            elements += (_joined(element, given.text, offset) for element in given.text_elements)
            text += given.text
        elif isinstance(given, Image):
            urls.append(given.url)
        elif isinstance(given, LocalImage):
            paths.append(given.path)
    return UserMessage(message=text, images=tuple(urls), local_images=tuple(paths), text_elements=tuple(elements))


def _joined(element: dict[str, Any], text: str, offset: int) -> dict[str, Any]:
    """An element counts bytes from the beginning of its own text, and by default shows what stands there."""
    span = element.get("byte_range")
    start, end = (span.get("start"), span.get("end")) if isinstance(span, dict) else (None, None)
    if not isinstance(start, int) or not isinstance(end, int):
        return element
    shown = element.get("placeholder")
    if shown is None:
        shown = text.encode(errors="surrogatepass")[start:end].decode(errors="replace")
    return {**element, "byte_range": {"start": start + offset, "end": end + offset}, "placeholder": shown}
