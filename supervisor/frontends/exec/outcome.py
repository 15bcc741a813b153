"""How a turn came out, gathered from its events.

Owns what decides the exit code, and what both outputs tell at the end. Writes nothing.
"""

from pycodex.protocol.events.error import ErrorEvent
from pycodex.protocol.events.review import ExitedReviewMode
from pycodex.protocol.events.turn import INTERRUPTED, REPLACED, TaskComplete, TokenCount, TurnAborted
from pycodex.protocol.events.union import AnyEvent

_ABORTED = {
    INTERRUPTED: "task interrupted",
    REPLACED: "task aborted: replaced by a new task",
}


class Outcome:
    def __init__(self) -> None:
        self.failed = False
        self.interrupted = False
        self.ended = False
        self.error: str | None = None
        """Why it failed or was ended."""
        self.last_message: str | None = None
        self.report: str | None = None
        """What a reviewer has reported."""
        self.usage: dict[str, int] | None = None
        """Of the whole thread; None if the model told nothing."""

    @property
    def exit_code(self) -> int:
        return 1 if self.failed else 0

    def note(self, event: AnyEvent) -> None:
        if isinstance(event, TokenCount):
            if event.info is not None:
                self.usage = event.info["total_token_usage"]
        elif isinstance(event, ErrorEvent):
            self.failed = True
            self.error = event.message
        elif isinstance(event, ExitedReviewMode):
            from pycodex.protocol.review import rendered, stored_report

            report = stored_report(event.review_output)
            self.report = None if report is None else rendered(report)
        elif isinstance(event, TaskComplete):
            self.ended = True
            self.last_message = None if self.failed else event.last_agent_message
        elif isinstance(event, TurnAborted):
            self.note_abort(event.reason)

    def note_abort(self, reason: str) -> None:
        self.ended = self.failed = True
        self.interrupted = reason == INTERRUPTED
        self.error = _ABORTED.get(reason, f"task aborted: {reason.replace('_', ' ')}")
