"""Events about what went wrong, or might."""

from pycodex.protocol.events.event import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    ErrorInfo = str | dict[str, Any]
    """`codex_error_info`: a word such as `bad_request`, or a map from the word to its details."""


class ErrorEvent(Event):
    """Ends the turn."""

    _tag = "error"
    _persisted_at_length = True

    message: "str"
    codex_error_info: "ErrorInfo | None" = None


class WarningEvent(Event):
    _tag = "warning"

    message: "str"


class StreamError(Event):
    """The stream broke and is tried again. `additional_details` is the cause."""

    _tag = "stream_error"

    message: "str"
    codex_error_info: "ErrorInfo | None" = None
    additional_details: "str | None" = None


class BackgroundEvent(Event):
    _tag = "background_event"

    message: "str"


class DeprecationNotice(Event):
    _tag = "deprecation_notice"

    summary: "str"
    details: "str | None" = None
