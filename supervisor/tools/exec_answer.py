"""What the model is told about a command that it runs: the layout of the answers of exec_command and write_stdin.

Owns the lines and their order, and the texts for a command that could not be started or was lost. Pure but for the
random number of each answer, and the clock.
"""

import os
from collections.abc import Iterator, Sequence

import trio

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.model_info import TOKENS, TruncationPolicy
from pycodex.supervisor.text.argv import shown
from pycodex.supervisor.text.quoting import quoted
from pycodex.supervisor.text.tokens import estimate_tokens
from pycodex.supervisor.text.truncation import OUTPUT_ROOM, truncate, truncate_formatted
from pycodex.supervisor.tools.processes import Process, Processes
from pycodex.supervisor.tools.remarks import remarks_on
from pycodex.supervisor.tools.tool import ToolAnswer

DEFAULT_MAX_TOKENS = 10_000


def answered(
    process: Process, processes: Processes, *, since: float | None = None, max_tokens: int | None
) -> ToolAnswer:
    """Everything that was not told before. Whatever the exit code, this is a success.

    Wall time counts from `since`, or from the start of the process. One that has ended is known no more.
    """
    process.is_known = True
    wall_s = trio.current_time() - (process.started_at if since is None else since)
    has_gap, text = process.fresh.has_gap, process.fresh.take()
    policy = TruncationPolicy(TOKENS, DEFAULT_MAX_TOKENS if max_tokens is None else max_tokens)
    told = truncate_formatted(text, policy)
    lines = [
        f"Command: {shown(process.argv)}",
        f"Chunk ID: {os.urandom(3).hex()}",
        f"Wall time: {wall_s:.4f} seconds",
        *_state(process),
        f"Original token count: {estimate_tokens(text)}",
        "Output:",
        told,
    ]
    if has_gap or told is not text or _is_cut_later(lines, process):
        # Near the beginning, where no further cut takes it away.
        lines[2:2] = _whole_output(process)
    if process.ended.is_set():
        processes.forget(process)
    return ToolAnswer("\n".join(lines), usage=process.exited)


def _is_cut_later(lines: Sequence[str], process: Process) -> bool:
    """Whether the history will not keep all of this answer."""
    answer = "\n".join(lines)
    return truncate(answer, process.origin.truncation.scaled(OUTPUT_ROOM)) is not answer


def _whole_output(process: Process) -> Iterator[str]:
    """Where all of it can be read, as the model is shown only its ends."""
    spool = process.spooled()
    if spool is not None:
        yield f"Full output: {spool.path}" + ("" if spool.is_whole else f" (cut after {spool.kept_bytes} bytes)")


def _state(process: Process) -> Iterator[str]:
    if process.lost is not None:
        yield f"Process lost without a result: {process.lost}; what it did until then is unknown"
    elif not process.ended.is_set():
        yield f"Process running with session ID {process.process_id}"
    else:
        yield f"Process exited with code {process.exit_code}"
        if process.exited is not None:
            yield from remarks_on(process.exited)


def not_started(argv: Sequence[str], error: ModelFacing) -> ModelFacing:
    """The error of a command that never ran."""
    from pycodex.supervisor.workers.lease import JobFailed, JobRefused

    if isinstance(error, JobFailed) and error.errno:
        why = f"{os.strerror(error.errno)} (os error {error.errno})"
        return rejected(argv, f"Failed to create unified exec process: {why}")
    if isinstance(error, JobRefused):
        return rejected(argv, f"the sandbox cannot enforce what is asked, so nothing was run: {error}")
    return rejected(argv, str(error))


def rejected(argv: Sequence[str], reason: str) -> ModelFacing:
    message = quoted(f"Rejected({quoted(reason)})")
    return ModelFacing(f"exec_command failed for `{shown(argv)}`: CreateProcess {{ message: {message} }}")
