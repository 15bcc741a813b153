"""What the model sees after the conversation was made shorter.

Owns which items stay, and where what it must be told again is put. Takes and gives items; asks nobody.
"""

from pycodex.protocol.items import known_item, texts_of
from pycodex.protocol.user_turns import is_user_turn
from pycodex.supervisor.text.kept_messages import compacted_history

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from pycodex.protocol.items import Item


def summarised(items: "Sequence[Item]", summary: str, earlier_summaries: "Container[str]") -> "list[Item]":
    """The person's own messages, then the summary. What an undo needs stays, too."""
    return [*compacted_history(items, summary, earlier_summaries=earlier_summaries), *_snapshots(items)]


def kept_of_answer(answer: "Iterable[object]", items: "Iterable[Item]") -> "list[Item]":
    """Of the items that a provider puts in the place of ours: settings are told again, and calls are over."""
    return [*(item for raw in answer if (item := known_item(raw)) is not None and _is_kept(item)), *_snapshots(items)]


def with_context(items: "Sequence[Item]", context: "Iterable[Item]", summary: str) -> "list[Item]":
    """`context` before the person's last message, so that the model goes on with what follows it."""
    place = _place_of_context(items, summary)
    return [*items[:place], *context, *items[place:]]


def _place_of_context(items: "Sequence[Item]", summary: str) -> int:
    said = [index for index, item in enumerate(items) if is_user_turn(item)]
    own = [index for index in said if "".join(texts_of(items[index])) != summary]
    if own or said:
        return (own or said)[-1]
    return next((index for index, item in enumerate(items) if item["type"] == "compaction"), len(items))


def _is_kept(item: "Item") -> bool:
    return item["type"] == "compaction" or item.get("role") == "assistant" or is_user_turn(item)


def _snapshots(items: "Iterable[Item]") -> "Iterator[Item]":
    return (item for item in items if item["type"] == "ghost_snapshot")
