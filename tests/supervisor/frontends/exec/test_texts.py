"""Texts that both outputs share."""

import pytest

from pycodex.protocol.events.error import StreamError
from pycodex.supervisor.frontends.exec.texts import retry_text, shown_command


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (("/bin/bash", "-lc", "echo it's"), '/bin/bash -lc "echo it\'s"'),
        (("echo", ""), "echo ''"),
        (("a\0b", "c d"), "a\0b c d"),
    ],
)
def test_command(argv: tuple[str, ...], shown: str) -> None:
    assert shown_command(argv) == shown


def test_retry_names_its_cause() -> None:
    assert (
        retry_text(StreamError(message="Reconnecting... 1/5", additional_details="cut")) == "Reconnecting... 1/5 (cut)"
    )
    assert retry_text(StreamError(message="Reconnecting... 1/5")) == "Reconnecting... 1/5"
