"""How much of the model's context is used, and what its provider tells of usage and limits.

Owns the counting in one turn and the telling of it. What the provider counted is exact; what came since is estimated.
Takes events of a stream; decides nothing but whether the context counts as full.
"""

from typing import Any

from pycodex.protocol.events.turn import TokenCount
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.model.rate_limits import merged
from pycodex.supervisor.model.stream import Completed, RateLimitsSeen, ReasoningIncluded, StreamEvent
from pycodex.supervisor.session.state import ThreadState


class Meter:
    def __init__(self, state: ThreadState, turn: TurnContext) -> None:
        self._state = state
        self._info = turn.model_info

    def take(self, event: StreamEvent) -> None:
        match event:
            case RateLimitsSeen(snapshot):
                self.limits_seen(snapshot)
            case Completed(_, usage):
                if usage is not None:
                    self._state.usage.add(usage)
                self._tell()
            case ReasoningIncluded():
                self._state.reasoning_included = True

    def limits_seen(self, snapshot: dict[str, Any]) -> None:
        self._state.rate_limits = merged(self._state.rate_limits, snapshot)
        self._tell()

    def context_changed(self) -> None:
        """Nobody has counted what the context holds now."""
        state = self._state
        state.usage.estimate(state.journal.history.estimated_tokens(state.around.base_instructions))
        self._tell()

    def context_overflowed(self) -> None:
        """The model refused it as too long."""
        self._state.usage.fill(self._info.effective_context_window or 0)
        self._tell()

    @property
    def context_tokens(self) -> int:
        state = self._state
        history = state.journal.history
        tokens = state.usage.last.total_tokens + history.tokens_since_last_model_item()
        return tokens if state.reasoning_included else tokens + history.reasoning_tokens_before_last_user_turn()

    @property
    def is_context_full(self) -> bool:
        """Whether it is to be compacted before the model is asked again."""
        limit = self._info.auto_compact_token_limit
        return limit is not None and self.context_tokens >= limit

    def _tell(self) -> None:
        info = self._state.usage.info(self._info.effective_context_window)
        self._state.journal.tell(TokenCount(info=info, rate_limits=self._state.rate_limits))
