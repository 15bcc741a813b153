"""What follows from a request that failed: another attempt, or the end of the turn.

Owns how often and how fast it is tried again, and that the person is told of either.
"""

import trio

from pycodex.protocol.events.error import ErrorEvent, StreamError
from pycodex.supervisor.model.retry import stream_delay
from pycodex.supervisor.model.stream import ModelFailure
from pycodex.supervisor.session.journal import Journal
from pycodex.supervisor.session.meter import Meter


class Reconnecting:
    """The attempts at one request."""

    def __init__(self, journal: Journal, *, max_retries: int) -> None:
        self._journal = journal
        self._max_retries = max_retries
        self._retries = 0

    async def pause_after(self, failure: ModelFailure) -> None:
        """Until it is time for the next attempt. Raises the failure if there shall be none."""
        if not failure.retryable or self._retries >= self._max_retries:
            raise failure
        self._retries += 1
        self._journal.tell(
            StreamError(
                message=f"Reconnecting... {self._retries}/{self._max_retries}",
                codex_error_info=failure.notice_info,
                additional_details=failure.message,
            )
        )
        await trio.sleep(stream_delay(failure, self._retries))


def tell_failure(failure: ModelFailure, journal: Journal, meter: Meter) -> None:
    """The turn ends with it."""
    if failure.is_context_overflow:
        meter.context_overflowed()
    journal.tell(ErrorEvent(message=failure.message, codex_error_info=failure.info))
