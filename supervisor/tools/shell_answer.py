"""What the model is told about a command that was run to its end: the layouts of the shell tools.

Owns the two layouts, the line about a timeout, and the texts for a command that never ran or was killed. Pure: takes
figures and text, gives text. `supervisor/model/request` tells the structured layout again as the free one.
"""

import errno
import json
import math
import os
from collections.abc import Sequence

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.frames import BadFrame
from pycodex.protocol.model_info import TruncationPolicy
from pycodex.supervisor.text.quoting import quoted
from pycodex.supervisor.text.truncation import count_lines, truncate, truncate_formatted

EMPTY_COMMAND = "command args are empty"
REJECTED = "exec command rejected by user"
NUL_BYTE = 'execution error: Io(Error { kind: InvalidInput, message: "nul byte found in provided data" })'

# What a system error is called in these texts; one that has no name here is uncategorised.
_KINDS = {
    errno.EPERM: "PermissionDenied",
    errno.ENOENT: "NotFound",
    errno.E2BIG: "ArgumentListTooLong",
    errno.EAGAIN: "WouldBlock",
    errno.ENOMEM: "OutOfMemory",
    errno.EACCES: "PermissionDenied",
    errno.EBUSY: "ResourceBusy",
    errno.ENOTDIR: "NotADirectory",
    errno.EISDIR: "IsADirectory",
    errno.EINVAL: "InvalidInput",
    errno.ETXTBSY: "ExecutableFileBusy",
    errno.ENAMETOOLONG: "InvalidFilename",
    errno.ELOOP: "FilesystemLoop",
}


def freeform(
    output: str, exit_code: int, seconds: float, policy: TruncationPolicy, *, remarks: Sequence[str] = ()
) -> str:
    """Lines for a model to read. How many lines there were is told where the cut has changed their number."""
    cut = truncate(output, policy)
    lines = [f"Exit code: {exit_code}", f"Wall time: {str(_tenths(seconds)).removesuffix('.0')} seconds", *remarks]
    if count_lines(cut) != count_lines(output):
        lines.append(f"Total output lines: {count_lines(output)}")
    return "\n".join((*lines, "Output:", cut))


def structured(
    output: str, exit_code: int, seconds: float, policy: TruncationPolicy, *, remarks: Sequence[str] = ()
) -> str:
    """One line of JSON."""
    metadata: dict[str, object] = {"exit_code": exit_code, "duration_seconds": _tenths(seconds)}
    if remarks:
        metadata["remarks"] = list(remarks)
    told = {"output": truncate_formatted(output, policy), "metadata": metadata}
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))


def with_timeout(output: str, seconds: float) -> str:
    """What a command had said when its time was over."""
    return f"command timed out after {int(seconds * 1000)} milliseconds\n{output}"


def killed_by(signal: int) -> str:
    return f"execution error: Sandbox(Signal({signal}))"


def not_run(error: ModelFacing | BadFrame) -> str:
    """For a command that was not run, or whose end nobody has seen."""
    from pycodex.supervisor.workers.lease import JobFailed, JobRefused, WorkerLost

    if isinstance(error, JobFailed) and error.errno:
        return system_error(error.errno)
    if isinstance(error, JobRefused):
        return f"execution error: the sandbox cannot enforce what is asked, so nothing was run: {error}"
    if isinstance(error, WorkerLost):
        return f"execution error: lost without a result: {error}; what the command did until then is unknown"
    return f"execution error: {error}"


def system_error(number: int) -> str:
    kind = _KINDS.get(number, "Uncategorized")
    return f"execution error: Io(Os {{ code: {number}, kind: {kind}, message: {quoted(os.strerror(number))} }})"


def _tenths(seconds: float) -> float:
    return math.floor(seconds * 10 + 0.5) / 10
