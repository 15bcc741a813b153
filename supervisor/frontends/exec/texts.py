"""Texts that both outputs of `exec` share."""

from pycodex.protocol.events.error import StreamError
from pycodex.supervisor.text.argv import shown


def retry_text(event: StreamError) -> str:
    return f"{event.message} ({event.additional_details})" if event.additional_details else event.message


def shown_command(argv: tuple[str, ...]) -> str:
    """As one line for a shell. No shell takes a word with a NUL: such a command is shown as it is."""
    return " ".join(argv) if any("\0" in word for word in argv) else shown(argv)
