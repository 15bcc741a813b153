"""grep_files: names the files whose content matches a pattern, the newest first.

Owns the tool's arguments, the command line of ripgrep and what its end means. It runs as confined as any command.
"""

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.frames import BadFrame, RunCommand
from pycodex.protocol.items import FUNCTION_CALL
from pycodex.protocol.turn_context import TurnContext
from pycodex.supervisor.tools import spec
from pycodex.supervisor.tools.arguments import Field, Shape, optional, parse, text, usize
from pycodex.supervisor.tools.confine import confinement, environment
from pycodex.supervisor.tools.file_jobs import run_job
from pycodex.supervisor.tools.reading import for_reading
from pycodex.supervisor.tools.tool import ToolAnswer, ToolCall, ToolScope, ToolSpec

if TYPE_CHECKING:
    from pycodex.supervisor.workers.lease import Completed

NAME = "grep_files"
DEFAULT_LIMIT = 100
MAX_LIMIT = 2000
TIMEOUT_S = 30
NO_MATCHES = "No matches found."
UNREADABLE = "Some files or directories could not be read."

SHAPE = Shape(
    "GrepFilesArgs",
    (
        Field("pattern", text),
        Field("include", optional(text), None),
        Field("path", optional(text), None),
        Field("limit", usize, DEFAULT_LIMIT),
    ),
)

_DESCRIPTION = (
    "Finds the files whose content matches a regular expression and lists their paths, those changed last first. "
    "Passes over hidden, binary and ignored files."
)
# ripgrep's exit status for "nothing found".
_NOTHING = 1
# The paths come in order, so only the first bytes matter: room for the most paths, if they are long.
_OUTPUT_CAP_BYTES = 2 << 20
_STDERR_SHOWN_BYTES = 10_000


@dataclass(frozen=True, slots=True)
class GrepFiles:
    name: str = NAME
    parallel: bool = True
    kinds: tuple[str, ...] = (FUNCTION_CALL,)

    def spec(self, turn: TurnContext) -> ToolSpec:
        del turn
        return spec.function(
            NAME,
            _DESCRIPTION,
            {
                "pattern": spec.text("The regular expression, as ripgrep reads it."),
                "include": spec.text('Only files whose name fits this glob, such as "*.py" or "*.{ts,tsx}".'),
                "path": spec.text("Directory or file to search; the turn's working directory if left out."),
                "limit": spec.number(f"How many paths to list at most, up to {MAX_LIMIT}. Default: {DEFAULT_LIMIT}."),
            },
            required=("pattern",),
        )

    async def run(self, call: ToolCall, scope: ToolScope) -> ToolAnswer:
        given = parse(call.arguments, SHAPE)
        pattern = given["pattern"].strip()
        if not pattern:
            raise ModelFacing("pattern must not be empty")
        if not given["limit"]:
            raise ModelFacing("limit must be greater than zero")
        path = os.path.join(scope.turn.cwd, given["path"]) if given["path"] else scope.turn.cwd
        await _check_path(path, scope)
        done = await _searched(_argv(pattern, (given["include"] or "").strip(), path), scope)
        return ToolAnswer(_answer(done, min(given["limit"], MAX_LIMIT)), usage=done.exited)


def _argv(pattern: str, include: str, path: str) -> tuple[str, ...]:
    glob = ("--glob", include) if include else ()
    options = ("--files-with-matches", "--sortr=modified", "--regexp", pattern, "--no-messages", *glob)
    # A configuration file could make it run another program on every file.
    return ("rg", "--no-config", *options, "--", path)


async def _check_path(path: str, scope: ToolScope) -> None:
    """ripgrep would not say what is wrong with it, and would wait for the writer of a pipe."""
    from pycodex.supervisor.workers.lease import JobFailed

    try:
        kind = (await run_job("path_kind", {"path": path}, scope, confine=for_reading)).value
    except JobFailed as error:
        raise ModelFacing(f"unable to access `{path}`: {error}") from None
    if kind == "other":
        raise ModelFacing(f"unable to access `{path}`: neither a file nor a directory")


async def _searched(argv: tuple[str, ...], scope: ToolScope) -> "Completed":
    from pycodex.supervisor.workers.lease import JobFailed

    turn, services = scope.turn, scope.services
    if any("\0" in word for word in argv):
        raise _not_launched("nul byte found in provided data")
    pool = await services.pool.ready()
    confined = for_reading(confinement(turn, services, runtime_dir=pool.runtime_dir))
    order = RunCommand(
        job_id="",
        argv=argv,
        cwd=turn.cwd,
        env=_with_own_programs(environment(turn, services, confined)),
        confinement=confined,
        timeout_ms=TIMEOUT_S * 1000,
        output_cap_bytes=_OUTPUT_CAP_BYTES,
        credit_bytes=_OUTPUT_CAP_BYTES,
    )
    try:
        return await pool.run(order, session_id=turn.thread_id)
    except BadFrame as error:
        raise _not_launched(str(error)) from None
    except JobFailed as error:
        why = f"{os.strerror(error.errno)} (os error {error.errno})" if error.errno else str(error)
        raise _not_launched(why) from None


def _with_own_programs(env: dict[str, str]) -> dict[str, str]:
    """The user's ripgrep is found first, then the one that was installed with us."""
    folders = (env.get("PATH", os.defpath), os.path.dirname(sys.executable))
    return {**env, "PATH": os.pathsep.join(filter(None, folders))}


def _not_launched(why: str) -> ModelFacing:
    return ModelFacing(f"failed to launch rg: {why}. Ensure ripgrep is installed and on PATH.")


def _answer(done: "Completed", limit: int) -> str:
    if done.exited.reason == "timeout":
        raise ModelFacing(f"rg timed out after {TIMEOUT_S} seconds")
    complaint = done.stderr.data[:_STDERR_SHOWN_BYTES].decode("utf-8", "replace")
    # What it cannot read makes it fail without a word; what it found is still good.
    if done.code is None or (done.code > _NOTHING and complaint):
        raise ModelFacing(f"rg failed: {complaint or _silent_end(done)}")
    paths = _paths(done.stdout.head, cut=bool(done.stdout.dropped_bytes))[:limit]
    if paths:
        return "\n".join(paths)
    return NO_MATCHES if done.code <= _NOTHING else f"{NO_MATCHES} {UNREADABLE}"


def _silent_end(done: "Completed") -> str:
    how = f"killed by signal {done.signal}"
    return f"{how}, {done.exited.reason}" if done.exited.reason else how


def _paths(output: bytes, *, cut: bool) -> list[str]:
    lines = output.split(b"\n")
    if cut:
        lines.pop()
    return [path for line in lines if line and (path := _text(line)) is not None]


def _text(line: bytes) -> str | None:
    """None for a name that is no UTF-8: nobody could ask for that file."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return None
