"""What the model is told about a command that it runs: the layout of the answers of exec_command and write_stdin.

Owns the lines and their order, and the texts for a command that could not be started or was lost. Pure but for the
random number of each answer, and the clock.
"""

import os
from collections.abc import Iterator, Sequence

import trio

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.frames import Exited
from pycodex.protocol.model_info import TOKENS, TruncationPolicy
from pycodex.supervisor.text.argv import shown
from pycodex.supervisor.text.tokens import estimate_tokens
from pycodex.supervisor.text.truncation import truncate_formatted
from pycodex.supervisor.tools.processes import Process, Processes
from pycodex.supervisor.tools.quoting import quoted
from pycodex.supervisor.tools.tool import ToolAnswer

DEFAULT_MAX_TOKENS = 10_000


def answered(
    process: Process, processes: Processes, *, since: float | None = None, max_tokens: int | None
) -> ToolAnswer:
    """Everything that was not told before. Whatever the exit code, this is a success.

    Wall time counts from `since`, or from the start of the process. One that has ended is known no more.
    """
    if process.ended.is_set():
        processes.forget(process)
    process.is_known = True
    wall_s = trio.current_time() - (process.started_at if since is None else since)
    text = process.fresh.take()
    policy = TruncationPolicy(TOKENS, DEFAULT_MAX_TOKENS if max_tokens is None else max_tokens)
    lines = [
        f"Command: {shown(process.argv)}",
        f"Chunk ID: {os.urandom(3).hex()}",
        f"Wall time: {wall_s:.4f} seconds",
        *_state(process),
        f"Original token count: {estimate_tokens(text)}",
        "Output:",
        truncate_formatted(text, policy),
    ]
    return ToolAnswer("\n".join(lines), usage=process.exited)


def _state(process: Process) -> Iterator[str]:
    if process.lost is not None:
        yield f"Process lost without a result: {process.lost}; what it did until then is unknown"
    elif not process.ended.is_set():
        yield f"Process running with session ID {process.process_id}"
    else:
        yield f"Process exited with code {process.exit_code}"
        if process.exited is not None:
            yield from _remarks(process.exited)


def _remarks(exited: Exited) -> Iterator[str]:
    """What the reference never has to tell: it sets no limits, and does not look what a command leaves behind."""
    if exited.reason:
        yield f"Ended early: {exited.reason}"
    if exited.left_running:
        yield f"Left running in the background: {', '.join(map(str, exited.left_running))}"
    yield from exited.notes


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
