"""Events that ask a person something, through whoever shows the thread."""

from pycodex.protocol.events.event import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class RequestUserInput(Event):
    """Answered by an `Answer` whose request id is the call id."""

    _tag = "request_user_input"

    call_id: "str"
    turn_id: "str"
    questions: "tuple[dict[str, Any], ...]"
