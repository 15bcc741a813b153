"""test_sync_tool: lets calls wait for each other, so that it can be seen from outside which of them run at once.

Owns the barriers. They are the process's own: calls of different sessions may meet at one. A barrier is there while
somebody waits at it.
"""

from typing import Any

import trio

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.items import FUNCTION_CALL
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.tools import spec
from pycodex.supervisor.tools.arguments import Field, Shape, optional, parse, text, u64, usize
from pycodex.supervisor.tools.tool import ToolAnswer, ToolCall, ToolScope, ToolSpec

NAME = "test_sync_tool"
DEFAULT_TIMEOUT_MS = 1000

BARRIER = Shape(
    "BarrierArgs",
    (Field("id", text), Field("participants", usize), Field("timeout_ms", u64, DEFAULT_TIMEOUT_MS)),
)
SHAPE = Shape(
    "TestSyncArgs",
    (
        Field("sleep_before_ms", optional(u64), None),
        Field("sleep_after_ms", optional(u64), None),
        Field("barrier", optional(BARRIER), None),
    ),
)


class _Barrier:
    def __init__(self, participants: int) -> None:
        self.participants = participants
        self.waiting = 0
        self.opened = trio.Event()


_barriers: dict[str, _Barrier] = {}


class SyncBarrier:
    name = NAME
    parallel = True
    kinds = (FUNCTION_CALL,)

    def spec(self, turn: TurnContext) -> ToolSpec:
        del turn
        barrier = spec.record(
            {
                "id": spec.text("Calls that name the same barrier wait for each other."),
                "participants": spec.number("How many calls must have come before any goes on."),
                "timeout_ms": spec.number(f"How long to wait for the others. Default: {DEFAULT_TIMEOUT_MS}."),
            },
            required=("id", "participants"),
        )
        return spec.function(
            NAME,
            "For tests of this program only: waits, alone or until other calls have come.",
            {
                "sleep_before_ms": spec.number("How long to wait first."),
                "barrier": barrier,
                "sleep_after_ms": spec.number("How long to wait at the end."),
            },
            required=(),
        )

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolAnswer:
        del scope
        given = parse(call.arguments, SHAPE)
        await trio.sleep((given["sleep_before_ms"] or 0) / 1000)
        if given["barrier"] is not None:
            await _meet(given["barrier"])
        await trio.sleep((given["sleep_after_ms"] or 0) / 1000)
        return ToolAnswer("ok")


async def _meet(given: dict[str, Any]) -> None:
    name, participants, timeout_ms = given["id"], given["participants"], given["timeout_ms"]
    if not participants:
        raise ModelFacing("barrier participants must be greater than zero")
    if not timeout_ms:
        raise ModelFacing("barrier timeout must be greater than zero")
    barrier = _barriers.setdefault(name, _Barrier(participants))
    if barrier.participants != participants:
        raise ModelFacing(f"barrier {name} already registered with {barrier.participants} participants")
    barrier.waiting += 1
    if barrier.waiting == participants:
        # Whoever comes after these meets others.
        del _barriers[name]
        barrier.opened.set()
    try:
        with trio.move_on_after(timeout_ms / 1000):
            await barrier.opened.wait()
    finally:
        barrier.waiting -= 1
        if not barrier.waiting and _barriers.get(name) is barrier:
            del _barriers[name]
    if not barrier.opened.is_set():
        raise ModelFacing("test_sync_tool barrier wait timed out")
