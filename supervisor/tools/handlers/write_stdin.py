"""write_stdin: types into a running command's terminal, or only looks what a command has said since.

Owns the tool's arguments and limits, and what is answered when there is nothing to type into.
"""

import trio

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.events.exec import TerminalInteraction
from pycodex.protocol.items import FUNCTION_CALL
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.tools import exec_answer, spec
from pycodex.supervisor.tools.arguments import Field, Shape, i32, optional, parse, text, u64, usize
from pycodex.supervisor.tools.handlers.exec_command import MAX_YIELD_MS, MIN_YIELD_MS
from pycodex.supervisor.tools.processes import Process, Processes
from pycodex.supervisor.tools.tool import ToolAnswer, ToolCall, ToolScope, ToolSpec

NAME = "write_stdin"
DEFAULT_YIELD_MS = 250
MIN_POLL_MS = 5000

SHAPE = Shape(
    "WriteStdinArgs",
    (
        Field("session_id", i32),
        Field("chars", text, ""),
        Field("yield_time_ms", u64, DEFAULT_YIELD_MS),
        Field("max_output_tokens", optional(usize), None),
    ),
)


class WriteStdin:
    name = NAME
    parallel = False
    kinds = (FUNCTION_CALL,)

    def spec(self, turn: TurnContext) -> ToolSpec:
        del turn
        return spec.function(
            NAME,
            "Types into the terminal of a command that exec_command left running, and returns what it has said since.",
            {
                "session_id": spec.number("The session ID that exec_command told."),
                "chars": spec.text(
                    "What to type, as it is: \\u0003 interrupts, \\u0004 ends the input. Empty: only look, for which "
                    "no terminal is needed."
                ),
                "yield_time_ms": spec.number(
                    f"How long to wait for the end before answering, {MIN_YIELD_MS} to {MAX_YIELD_MS}; when chars is "
                    f"empty, at least {MIN_POLL_MS}. Default: {DEFAULT_YIELD_MS}."
                ),
                "max_output_tokens": spec.number(
                    f"More output than this is cut in the middle. Default: {exec_answer.DEFAULT_MAX_TOKENS}."
                ),
            },
            required=("session_id",),
        )

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolAnswer:
        given = parse(call.arguments, SHAPE)
        processes = scope.services.processes
        process = processes.find(given["session_id"])
        if process is None:
            raise ModelFacing(f"write_stdin failed: Unknown process id {given['session_id']}")
        chars: str = given["chars"]
        wait_ms = bounded_wait_ms(given["yield_time_ms"], polls=not chars, most_ms=scope.services.background_max_ms)
        processes.touch(process)
        started_at = trio.current_time()
        until = started_at + wait_ms / 1000
        if chars:
            await _type(process, processes, chars, until)
        await process.wait(until)
        scope.emit(TerminalInteraction(call_id=process.origin.call_id, process_id=str(process.process_id), stdin=chars))
        return exec_answer.answered(process, processes, since=started_at, max_tokens=given["max_output_tokens"])


def bounded_wait_ms(asked_ms: int, *, polls: bool, most_ms: int) -> int:
    if polls:
        return min(max(asked_ms, MIN_POLL_MS), max(most_ms, MIN_POLL_MS))
    return min(max(asked_ms, MIN_YIELD_MS), MAX_YIELD_MS)


async def _type(process: Process, processes: Processes, chars: str, until: float) -> None:
    if not process.tty:
        raise ModelFacing(
            "write_stdin failed: stdin is closed for this session; rerun exec_command with tty=true to keep stdin open"
        )
    with trio.move_on_at(until) as scope:
        await processes.write(process, chars.encode("utf-8", "replace"))
    if scope.cancelled_caught:
        # It does not read; what did not fit into its terminal is lost.
        raise ModelFacing("write_stdin failed: failed to write to stdin")
