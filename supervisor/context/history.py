"""What was said and done in a thread so far, as the model is to see it.

Owns the list of items and its rules: what is recorded, how much of an output is kept, which part goes when turns are
taken back, and how many tokens it takes. Takes and gives items; the session file is somebody else's.
"""

from pycodex.protocol.items import KNOWN_KINDS, call_id_of
from pycodex.protocol.user_turns import before_last_user_turns, is_user_turn
from pycodex.supervisor.context.normalisation import StandIns, has_images, normalised, with_texts_for_images
from pycodex.supervisor.text.tokens import estimate_item_tokens, estimate_tokens
from pycodex.supervisor.text.truncation import OUTPUT_ROOM, truncate, truncate_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pycodex.protocol.items import Item
    from pycodex.protocol.model_info import ModelInfo, TruncationPolicy

_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_MADE_BY_MODEL = frozenset(
    (
        "reasoning",
        "function_call",
        "custom_tool_call",
        "local_shell_call",
        "tool_search_call",
        "web_search_call",
        "image_generation_call",
        "compaction",
    )
)


class History:
    def __init__(self, items: "Iterable[Item]" = ()) -> None:
        self._items: list[Item] = list(items)
        self._stand_ins = StandIns()

    @property
    def items(self) -> "Sequence[Item]":
        """Not to be changed; the same object as long as items are only added."""
        return self._items

    def record(self, items: "Iterable[Item]", policy: "TruncationPolicy") -> None:
        """Add items; those of no known kind and those of role system are left out, long outputs are cut."""
        room = policy.scaled(OUTPUT_ROOM)
        for item in items:
            if item["type"] in KNOWN_KINDS and item.get("role") != "system":
                self._items.append(_cut(item, room) if item["type"] in _OUTPUTS else item)

    def replace(self, items: "Iterable[Item]") -> None:
        self._items = list(items)
        self._stand_ins.clear()

    def for_prompt(self, model_info: "ModelInfo") -> "list[Item]":
        """What a request sends. Items that were sent before are the same objects again."""
        return normalised(self._items, self._stand_ins, takes_images=model_info.takes_images)

    def drop_last_user_turns(self, count: int) -> None:
        """Take back the last turns; what was said before the first always stays."""
        self.replace(self._items[: before_last_user_turns(self._items, count)])

    def replace_last_output_images(self, text: str) -> bool:
        """Put a text in place of pictures, if what the model was shown last is a tool's output with pictures."""
        for index in range(len(self._items) - 1, -1, -1):
            item = self._items[index]
            if item["type"] == "function_call_output":
                if not has_images(item):
                    return False
                self._items[index] = with_texts_for_images(item, text)
                self._stand_ins.clear()
                return True
            if item["type"] == "message" and item["role"] == "user":
                return False
        return False

    def drop_oldest(self, most_tokens: "int | None") -> int:
        """Let go of the oldest items, and of the other halves of their calls, until the rest may fit.

        At least an eighth of them goes, or one, unless it is the last: whoever has to ask again comes to an end soon.
        Gives how many went.
        """
        costs = [estimate_item_tokens(item) for item in self._items]
        left = sum(costs)
        first, least = 0, max(1, len(costs) // 8)
        while first + 1 < len(costs) and (first < least or (most_tokens is not None and left > most_tokens)):
            left -= costs[first]
            first += 1
        gone = {call_id for item in self._items[:first] if (call_id := call_id_of(item)) is not None}
        kept = [item for item in self._items[first:] if call_id_of(item) not in gone]
        dropped = len(self._items) - len(kept)
        self.replace(kept)
        return dropped

    def drop_last_outputs(self, most_tokens: "int | None", instructions: str) -> None:
        """Let go of the outputs and notes at the end that are too much; the calls stay."""
        left = self.estimated_tokens(instructions)
        while self._items and most_tokens is not None and left > most_tokens and _is_made_by_us(self._items[-1]):
            left -= estimate_item_tokens(self._items.pop())
        self._stand_ins.clear()

    def estimated_tokens(self, instructions: str) -> int:
        """All of it, with the instructions that are sent along."""
        return estimate_tokens(instructions) + sum(map(estimate_item_tokens, self._items))

    def tokens_since_last_model_item(self) -> int:
        """What came after the items that the model's own count of its usage covers; 0 if it made none."""
        start = _after_last(self._items, _is_made_by_model)
        return sum(map(estimate_item_tokens, self._items[start:])) if start else 0

    def reasoning_tokens_before_last_user_turn(self) -> int:
        """Encrypted reasoning of earlier turns, which a provider may leave out of its count."""
        end = _after_last(self._items, is_user_turn)
        return sum(
            estimate_item_tokens(item)
            for item in self._items[:end]
            if item["type"] == "reasoning" and item.get("encrypted_content")
        )

    @staticmethod
    def is_user_turn(item: "Item") -> bool:
        return is_user_turn(item)


def _cut(output: "Item", room: "TruncationPolicy") -> "Item":
    """The output itself if it fits."""
    given = output["output"]
    if isinstance(given, str):
        kept = truncate(given, room)
        return output if kept is given else {**output, "output": kept}
    parts = truncate_parts(given, room)
    return output if parts == given else {**output, "output": parts}


def _after_last(items: "Sequence[Item]", is_wanted: "Callable[[Item], bool]") -> int:
    """The place behind the last such item; 0 if there is none."""
    return next((index + 1 for index in range(len(items) - 1, -1, -1) if is_wanted(items[index])), 0)


def _is_made_by_us(item: "Item") -> bool:
    return item["type"] in _OUTPUTS or item.get("role") == "developer"


def _is_made_by_model(item: "Item") -> bool:
    return item["type"] in _MADE_BY_MODEL or item.get("role") == "assistant"
