"""What the model said a response cost, and the sums a session keeps of it.

Owns the five counts and the arithmetic of the `token_count` event. Does not know where usage comes from nor who shows
it; takes counts and a window, gives maps as they stand in events and session files.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

_MOST_TOKENS = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """The counts of one response, or of many together."""

    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    reasoning_output_tokens: int = 0
    total_tokens: int = 0

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        return TokenUsage(
            self.input_tokens + other.input_tokens,
            self.cached_input_tokens + other.cached_input_tokens,
            self.output_tokens + other.output_tokens,
            self.reasoning_output_tokens + other.reasoning_output_tokens,
            self.total_tokens + other.total_tokens,
        )

    def to_map(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_map(cls, stored: object) -> Self | None:
        """From a session file; None unless all five counts are there."""
        if not isinstance(stored, Mapping):
            return None
        counts = [_count(stored.get(name)) for name in cls.__slots__]
        known = [count for count in counts if count is not None]
        return cls(*known) if len(known) == len(counts) else None

    @classmethod
    def from_response(cls, usage: object) -> Self | None:
        """From `response.usage`; None if one of its three sums is missing or no number. The details may be absent."""
        if not isinstance(usage, Mapping):
            return None
        sums = [_count(usage.get(name)) for name in ("input_tokens", "output_tokens", "total_tokens")]
        input_tokens, output_tokens, total_tokens = sums
        if input_tokens is None or output_tokens is None or total_tokens is None:
            return None
        return cls(
            input_tokens,
            _detail(usage.get("input_tokens_details"), "cached_tokens"),
            output_tokens,
            _detail(usage.get("output_tokens_details"), "reasoning_tokens"),
            total_tokens,
        )


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else None


def _detail(details: object, name: str) -> int:
    return (_count(details.get(name)) or 0) if isinstance(details, Mapping) else 0


class UsageLedger:
    """The usage of one session: the sum of all responses, and the last one."""

    def __init__(self) -> None:
        self.total = TokenUsage()
        self.last = TokenUsage()
        self._is_known = False

    def add(self, usage: TokenUsage) -> None:
        self._set(self.total + usage, usage)

    def estimate(self, context_tokens: int) -> None:
        """After a compaction: what the context holds now was estimated, not told by the model."""
        self._set(self.total, TokenUsage(total_tokens=context_tokens))

    def fill(self, window: int) -> None:
        """The model refused the context as too long: whatever was counted, the window is full."""
        missing = max(0, window - self.total.total_tokens)
        self._set(TokenUsage(total_tokens=window), TokenUsage(total_tokens=missing))

    def seed(self, info: object) -> None:
        """Go on from the `info` of a stored `token_count`; one that cannot be read changes nothing."""
        if not isinstance(info, Mapping):
            return
        total, last = (TokenUsage.from_map(info.get(name)) for name in ("total_token_usage", "last_token_usage"))
        if total is not None and last is not None:
            self._set(total, last)

    def _set(self, total: TokenUsage, last: TokenUsage) -> None:
        self.total, self.last, self._is_known = total, last, True

    def info(self, window: int | None) -> dict[str, object] | None:
        """The `info` of a `token_count`; None while nothing is known."""
        if not self._is_known:
            return None
        return {
            "total_token_usage": self.total.to_map(),
            "last_token_usage": self.last.to_map(),
            "model_context_window": window,
        }
