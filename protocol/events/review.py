"""Events about reviews: where one begins, and what came of it."""

from pycodex.protocol.events.event import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _ReviewEvent(Event):
    _persisted = True

    turn_id: "str"
    """By which the review is known; session files do not tell it here."""

    def to_wire(self) -> "dict[str, Any]":
        wire = super().to_wire()
        del wire["turn_id"]
        return wire


class EnteredReviewMode(_ReviewEvent):
    """`target` as session files write it; `user_facing_hint` is the same in a few words."""

    _tag = "entered_review_mode"

    target: "dict[str, Any]"
    user_facing_hint: "str"


class ExitedReviewMode(_ReviewEvent):
    """`review_output` is the report as session files write it; None: there is none."""

    _tag = "exited_review_mode"

    review_output: "dict[str, Any] | None"
