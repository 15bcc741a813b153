"""What a model's answer looks like to the turn loop, whatever the transport.

Owns the event types (not frozen, for that would double the time it takes to load them), the one failure type, and the
seam `TurnSource` behind which transports differ. Knows no wire.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from pycodex.supervisor.model.usage import TokenUsage

if TYPE_CHECKING:
    from pycodex.protocol.items import Item
    from pycodex.supervisor.model.request import Prompt


@dataclass(slots=True)
class ItemAdded:
    """An item begins; its deltas follow, `ItemDone` ends it. An item may also come without this."""

    item: "Item"


@dataclass(slots=True)
class TextDelta:
    delta: str


@dataclass(slots=True)
class SummaryPartAdded:
    summary_index: int


@dataclass(slots=True)
class SummaryDelta:
    delta: str
    summary_index: int


@dataclass(slots=True)
class RawReasoningDelta:
    delta: str
    content_index: int


@dataclass(slots=True)
class ItemDone:
    item: "Item"


@dataclass(slots=True)
class Completed:
    """The last event of every stream that does not fail."""

    response_id: str
    usage: TokenUsage | None


@dataclass(slots=True)
class RateLimitsSeen:
    """A snapshot as it stands in `token_count`."""

    snapshot: dict[str, Any]


@dataclass(slots=True)
class ServerModel:
    """The model that the server says it used."""

    name: str


@dataclass(slots=True)
class ReasoningIncluded:
    """The server counts past reasoning in its usage, so we must not estimate it."""


StreamEvent = (
    ItemAdded
    | TextDelta
    | SummaryPartAdded
    | SummaryDelta
    | RawReasoningDelta
    | ItemDone
    | Completed
    | RateLimitsSeen
    | ServerModel
    | ReasoningIncluded
)


class TurnSource(Protocol):
    """The model for the length of one turn. Every transport is one of these."""

    def stream(self, prompt: "Prompt") -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
        """Ask; entering and iterating raise `ModelFailure`, and leaving early drops the request."""
        ...


ErrorInfo = str | dict[str, Any]


class ModelFailure(Exception):
    """A request or a stream that failed.

    `message` is for the person. `info` is `codex_error_info` of an error that ends the turn; a notice that it will be
    tried again carries `notice_info` instead. `delay_s` is the pause that the server asked for.
    """

    def __init__(  # noqa: PLR0913 - one flag a fact, all by name
        self,
        message: str,
        *,
        retryable: bool,
        info: ErrorInfo = "other",
        delay_s: float | None = None,
        http_status: int | None = None,
        is_context_overflow: bool = False,
        is_bad_image: bool = False,
        rate_limits: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.retryable = retryable
        self.info = info
        self.delay_s = delay_s
        self.http_status = http_status
        self.is_context_overflow = is_context_overflow
        self.is_bad_image = is_bad_image
        self.rate_limits = rate_limits
        """The snapshot that came with the refusal, to be shown like any other."""

    @property
    def notice_info(self) -> ErrorInfo:
        return {"response_stream_disconnected": {"http_status_code": self.http_status}}
