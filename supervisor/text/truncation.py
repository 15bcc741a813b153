"""Cutting long texts in the middle, so that a model sees how they begin and end.

Owns the budget, the cut and the marker that stands for what is missing. Takes text, or the parts of a tool's answer,
and a policy; gives what fits. Knows nothing of who made the text.
"""

from pycodex.protocol.items import input_text
from pycodex.protocol.model_info import BYTES, TruncationPolicy
from pycodex.supervisor.text.tokens import estimate_tokens, size_bytes, tokens_of_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from pycodex.protocol.items import Part

# A tool has cut its output by the same policy as the history does; the room is for what was put around it.
OUTPUT_ROOM = 1.2


def truncate(text: str, policy: TruncationPolicy) -> str:
    """The text if it fits, else its two ends around a marker."""
    budget = policy.budget_bytes
    # Nothing takes more than four bytes a character, so most texts need not be encoded to know that they fit.
    if len(text) * 4 <= budget:
        return text
    if text.isascii():
        return _cut_ascii(text, policy) if len(text) > budget else text
    data = text.encode("utf-8", "replace")
    return _cut(data, policy) if len(data) > budget else text


def truncate_formatted(text: str, policy: TruncationPolicy) -> str:
    """Like `truncate`, and says in front how many lines there were, if it cut."""
    shown = truncate(text, policy)
    return shown if shown is text else f"Total output lines: {count_lines(text)}\n\n{shown}"


def truncate_parts(parts: "Iterable[Part]", policy: TruncationPolicy) -> "list[Part]":
    """Texts share one budget, in order; pictures cost nothing and always stay."""
    left = max(0, policy.limit)
    omitted = 0
    kept: list[Part] = []
    for part in parts:
        text = part.get("text")
        if part.get("type") != "input_text" or type(text) is not str:
            kept.append(part)
            continue
        if left == 0:
            omitted += 1
            continue
        cost = size_bytes(text) if policy.mode == BYTES else estimate_tokens(text)
        if cost <= left:
            kept.append(part)
            left -= cost
        else:
            kept.append(input_text(truncate(text, TruncationPolicy(policy.mode, left))))
            left = 0
    if omitted:
        kept.append(input_text(f"[omitted {omitted} text items ...]"))
    return kept


def _cut_ascii(text: str, policy: TruncationPolicy) -> str:
    budget = max(0, policy.budget_bytes)
    left = budget // 2
    start = len(text) - (budget - left)
    return text[:left] + _marker(policy, len(text) - budget, start - left) + text[start:]


def _cut(data: bytes, policy: TruncationPolicy) -> str:
    budget = max(0, policy.budget_bytes)
    end = budget // 2
    start = len(data) - (budget - end)
    while _is_inside_character(data, end):
        end -= 1
    while _is_inside_character(data, start):
        start += 1
    dropped = len(data[end:start].decode())
    return data[:end].decode() + _marker(policy, len(data) - budget, dropped) + data[start:].decode()


def _is_inside_character(data: bytes, index: int) -> bool:
    return index < len(data) and data[index] & 0xC0 == 0x80


def _marker(policy: TruncationPolicy, over_bytes: int, dropped_characters: int) -> str:
    if policy.mode == BYTES:
        return f"…{dropped_characters} chars truncated…"
    return f"…{tokens_of_bytes(over_bytes)} tokens truncated…"


def count_lines(text: str) -> int:
    """A final newline begins no line."""
    return text.count("\n") + bool(text and not text.endswith("\n"))
