"""What the model is told of a command's end besides its exit code and its output.

Owns the lines. The reference never has to tell them: it sets no limits, and does not look what a command leaves behind.
Takes the fact of the end, gives lines for whatever answer they go into.
"""

from collections.abc import Iterator

from pycodex.protocol.frames import TIMEOUT, Exited


def remarks_on(exited: Exited) -> Iterator[str]:
    """One line each. A timeout is not among them: whoever sets one tells it in words of their own."""
    if exited.reason and exited.reason != TIMEOUT:
        yield f"Ended early: {exited.reason}"
    if exited.left_running:
        yield f"Left running in the background: {', '.join(map(str, exited.left_running))}"
    yield from exited.notes
