"""The answer of a provider that has made a history shorter by itself.

Owns reading it: one JSON object with the items that stay. What is done with them is not its business.
"""

import json

import trio

from pycodex.supervisor.model.failures import stream_broke
from pycodex.supervisor.model.stream import ModelFailure
from pycodex.supervisor.net.http import Answer, NetworkFailure

MOST_BYTES = 64 << 20


async def read_compacted(answer: Answer, *, idle_s: float) -> list[object]:
    """Raises ModelFailure unless all of it comes, and is what it should be."""
    try:
        output = json.loads(await _whole(answer, idle_s))["output"]
    except (ValueError, RecursionError, KeyError, TypeError):
        output = None
    if not isinstance(output, list):
        raise ModelFailure("the provider's answer to a compaction holds no items", retryable=False)
    return output


async def _whole(answer: Answer, idle_s: float) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while (piece := await _piece(answer, idle_s)) is not None:
        pieces.append(piece)
        size += len(piece)
        if size > MOST_BYTES:
            raise ModelFailure(
                f"the provider's answer to a compaction has more than {MOST_BYTES} bytes", retryable=False
            )
    return b"".join(pieces)


async def _piece(answer: Answer, idle_s: float) -> bytes | None:
    try:
        with trio.fail_after(idle_s):
            return await answer.chunk()
    except trio.TooSlowError:
        raise stream_broke("idle timeout waiting for the answer") from None
    except NetworkFailure as error:
        raise stream_broke(error.reason) from error
