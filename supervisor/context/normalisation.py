"""Making the history fit for a request, without changing it.

Owns the rules that the other side insists on: every call has an output and every output a call, and nothing is sent
that the model cannot read. Takes items, gives items: those that are right as they are go through as the same objects,
so that whoever encodes them can tell what is new. `StandIns` remembers what was put in place of the others, for the
same reason.
"""

from pycodex.protocol.items import CALL_KINDS, OUTPUT_KINDS, call_id_of, input_text, output_for, output_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pycodex.protocol.items import Item, Part

ABORTED = "aborted"
IMAGE_OMITTED = "image content omitted because you do not support image input"


class StandIns:
    """What was made for an item of the history. Good as long as that item is kept, which it must be by its owner."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, str], Item] = {}

    def get(self, item: "Item", purpose: str, make: "Callable[[Item], Item]") -> "Item":
        key = (id(item), purpose)
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = make(item)
        return made

    def clear(self) -> None:
        self._made.clear()


def normalised(items: "Sequence[Item]", stand_ins: StandIns, *, takes_images: bool) -> "list[Item]":
    """The items of a request."""
    called, answered = _pairs(items)
    sent: list[Item] = []
    for item in items:
        kind = item["type"]
        if kind in OUTPUT_KINDS:
            if not _has_call(item, called):
                continue
        elif kind == "ghost_snapshot":
            continue
        sent.append(item if takes_images else _without_images(item, stand_ins))
        if kind in CALL_KINDS and _needs_output(item, answered):
            sent.append(stand_ins.get(item, ABORTED, lambda call: output_for(call, ABORTED)))
    return sent


def _pairs(items: "Iterable[Item]") -> "tuple[set[tuple[str, str]], set[tuple[str, str]]]":
    """Which outputs are waited for, and which are there; both as kind and call id."""
    called: set[tuple[str, str]] = set()
    answered: set[tuple[str, str]] = set()
    for item in items:
        kind = item["type"]
        if kind in OUTPUT_KINDS:
            call_id = item.get("call_id")
            if call_id is not None:
                answered.add((kind, call_id))
        elif kind in CALL_KINDS:
            call_id = call_id_of(item)
            if call_id is not None:
                called.add((output_kind(item), call_id))
    return called, answered


def _has_call(output: "Item", called: "set[tuple[str, str]]") -> bool:
    if output["type"] == "tool_search_output" and (output.get("call_id") is None or output["execution"] == "server"):
        return True
    return (output["type"], output["call_id"]) in called


def _needs_output(call: "Item", answered: "set[tuple[str, str]]") -> bool:
    call_id = call_id_of(call)
    return call_id is not None and (output_kind(call), call_id) not in answered


def _without_images(item: "Item", stand_ins: StandIns) -> "Item":
    if item["type"] == "image_generation_call":
        return stand_ins.get(item, "blind", lambda call: {**call, "result": ""}) if item["result"] else item
    if not has_images(item):
        return item
    return stand_ins.get(item, "blind", lambda shown: with_texts_for_images(shown, IMAGE_OMITTED))


def with_texts_for_images(item: "Item", text: str) -> "Item":
    """A copy in which every picture has become this text."""
    field = "content" if item["type"] == "message" else "output"
    return {**item, field: [input_text(text) if _is_image(part) else part for part in item[field]]}


def has_images(item: "Item") -> bool:
    return any(_is_image(part) for part in _parts(item))


def _parts(item: "Item") -> "Sequence[Part]":
    parts = item.get("content") if item["type"] == "message" else item.get("output")
    return parts if isinstance(parts, list) else ()


def _is_image(part: "Part") -> bool:
    return part.get("type") == "input_image"
