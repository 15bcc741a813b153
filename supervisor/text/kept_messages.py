"""What stays of a conversation when the rest of it becomes a summary.

Owns the choice: the person's own messages, the newest first, as far as a budget goes. Takes items, gives items; making
the summary is somebody else's work.
"""

from pycodex.protocol.items import input_text, message
from pycodex.protocol.model_info import TOKENS, TruncationPolicy
from pycodex.protocol.user_turns import is_user_turn
from pycodex.supervisor.text.tokens import estimate_tokens
from pycodex.supervisor.text.truncation import truncate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from pycodex.protocol.items import Item

KEPT_TOKENS = 20_000
NO_SUMMARY = "(no summary available)"


def compacted_history(items: "Iterable[Item]", summary: str, *, earlier_summaries: "Container[str]") -> "list[Item]":
    """The kept messages, as text only, then the summary."""
    texts = [text_of(item) for item in items if is_user_turn(item)]
    kept = _newest([text for text in texts if text not in earlier_summaries])
    return [message("user", [input_text(text)]) for text in (*kept, summary or NO_SUMMARY)]


def text_of(item: "Item") -> str:
    """What the person wrote, without the tags around pictures."""
    texts = (part["text"] for part in item["content"] if type(part.get("text")) is str)
    return "".join(text for text in texts if not _is_picture_tag(text))


def _newest(texts: "list[str]") -> "list[str]":
    left = KEPT_TOKENS
    kept: list[str] = []
    for text in reversed(texts):
        if left == 0:
            break
        cost = estimate_tokens(text)
        kept.append(text if cost <= left else truncate(text, TruncationPolicy(TOKENS, left)))
        left = max(0, left - cost)
    return kept[::-1]


def _is_picture_tag(text: str) -> bool:
    return text in ("<image>", "</image>") or (text.startswith("<image name=") and text.endswith(">"))
