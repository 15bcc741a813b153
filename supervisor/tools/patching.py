"""Applying a patch: from its text to changed files, and to what everybody is told of it.

Owns the order of the steps: read, judge, verify and write inside the sandbox, tell. All tools through which a model can
patch come here. The language of patches is in `protocol/patch`, the work on files in the file job.
"""

import base64
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.events.exec import COMPLETED, FAILED, ExecCommandOutputDelta
from pycodex.protocol.events.patch import PatchApplyBegin, PatchApplyEnd, TurnDiff
from pycodex.protocol.frames import STDERR, STDOUT
from pycodex.supervisor.policy.patches import PatchVerdict, judge_patch
from pycodex.supervisor.tools.confine import confinement
from pycodex.supervisor.tools.file_jobs import run_job, senseless
from pycodex.supervisor.tools.remarks import remarks_on
from pycodex.supervisor.tools.shell_answer import structured, system_error
from pycodex.supervisor.tools.tool import ToolAnswer, ToolScope
from pycodex.supervisor.workspace.turn_diff import FileState, States

if TYPE_CHECKING:
    from pycodex.protocol.patch.parse import Patch
    from pycodex.supervisor.workers.pool import FileAnswer

NAME = "apply_patch"
VERIFICATION_FAILED = "apply_patch verification failed: "
# Whole files before and after go into the answer.
ANSWER_CAP_BYTES = 256 << 20
# The answer about so many files can still be read, and there is time to write them.
MOST_HUNKS = 10_000
_MOST_PATH_BYTES = 4095


async def apply_patch(
    text: str, *, cwd: str, call_id: str, scope: ToolScope, requested_via: str | None = None
) -> ToolAnswer:
    """`requested_via` names another tool than the one for patches. Raises ModelFacing if nothing was applied at all."""
    patch = _parsed(text)
    if not patch.hunks:
        _warn_of_detour(requested_via, scope)
        raise ModelFacing("patch rejected: empty patch")
    verdict = await _judged(patch, cwd, scope)
    arguments = {"patch": text, "cwd": cwd, "verify": True, "write": verdict is PatchVerdict.APPLY}
    # Once it writes, it is not ended half-way; it takes milliseconds, and has a deadline of its own.
    done = await run_job(NAME, arguments, scope, answer_cap_bytes=ANSWER_CAP_BYTES, finish=True)
    result = _Result.of(done)
    _warn_of_detour(requested_via, scope)
    if verdict is PatchVerdict.REJECT:
        raise ModelFacing("patch rejected: writing outside of the project; rejected by user approval settings")
    if verdict is PatchVerdict.ASK:
        raise ModelFacing("patch rejected: it needs an approval, and nobody can be asked for one here")
    _tell(result, call_id, scope)
    if result.cwd_errno:
        raise ModelFacing(result.stderr)
    wall_s = done.exited.wall_ms / 1000
    output = structured(
        result.stdout + result.stderr,
        result.exit_code,
        wall_s,
        scope.turn.truncation,
        # Where protected files can only be put back afterwards, success is not all there is to tell.
        remarks=tuple(remarks_on(done.exited)),
    )
    return ToolAnswer(output, usage=done.exited)


async def tell_turn_diff(scope: ToolScope, *, refresh: bool) -> None:
    """After a response: what the turn has changed by now. `refresh`: other tools may have changed the files, too."""
    changes = scope.changes
    if refresh and changes.paths:
        try:
            done = await run_job(
                "file_states", {"paths": list(changes.paths)}, scope, answer_cap_bytes=ANSWER_CAP_BYTES
            )
            now = _states(done.value)
        except ModelFacing:
            # The next response tells it again, and the files are as they are.
            return
        changes.seen(now)
    _tell_diff(scope)


def _parsed(text: str) -> "Patch":
    from pycodex.protocol.patch.parse import PatchSyntaxError, parse_patch

    try:
        patch = parse_patch(text)
    except PatchSyntaxError as error:
        raise ModelFacing(f"{VERIFICATION_FAILED}{error.for_tool()}") from None
    if len(patch.hunks) > MOST_HUNKS:
        raise ModelFacing(
            f"patch rejected: it has {len(patch.hunks)} hunks, more than {MOST_HUNKS}; make several of it"
        )
    return patch


def _warn_of_detour(requested_via: str | None, scope: ToolScope) -> None:
    if requested_via is not None:
        scope.warn(f"apply_patch was requested via {requested_via}. Use the apply_patch tool instead of exec_command.")


async def _judged(patch: "Patch", cwd: str, scope: ToolScope) -> PatchVerdict:
    pool = await scope.services.pool.ready()
    confined = confinement(scope.turn, scope.services, runtime_dir=pool.runtime_dir)
    return judge_patch(_written_paths(patch), confined, scope.turn.approval_policy, cwd=_canonical(cwd))


def _canonical(cwd: str) -> str:
    """As roots are; a working directory may be reached through a link.

    One that no file system can have is left as it is: the job will say what is wrong with it.
    """
    possible = len(cwd) <= _MOST_PATH_BYTES and "\0" not in cwd
    return os.path.realpath(cwd) if possible else cwd


def _written_paths(patch: "Patch") -> Iterator[str]:
    from pycodex.protocol.patch.parse import UpdateFile

    for hunk in patch.hunks:
        yield hunk.path
        if isinstance(hunk, UpdateFile) and hunk.move_path is not None:
            yield hunk.move_path


@dataclass(frozen=True, slots=True)
class _Result:
    """What the job answered, checked: it comes from a process that worked on files of the workspace."""

    exit_code: int
    stdout: str
    stderr: str
    cwd_errno: int
    """Why its directory could not be entered; 0 if it could."""
    changes: dict[str, dict[str, Any]]
    before: States
    after: States

    @classmethod
    def of(cls, done: "FileAnswer") -> "_Result":
        value = done.value
        if not isinstance(value, dict):
            raise senseless(NAME)
        if isinstance(value.get("unverified"), str):
            raise ModelFacing(f"{VERIFICATION_FAILED}{value['unverified']}")
        try:
            cwd_errno = int(value["cwd_errno"])
            return cls(
                exit_code=1 if cwd_errno else int(value["exit_code"]),
                stdout="" if cwd_errno else str(value["stdout"]),
                stderr=system_error(cwd_errno) if cwd_errno else str(value["stderr"]),
                cwd_errno=cwd_errno,
                changes={str(path): dict(change) for path, change in value["changes"].items()},
                before=_states(value["before"]),
                after=_states(value["after"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            raise senseless(NAME) from None

    @property
    def moves(self) -> dict[str, str]:
        moved = ((path, change.get("move_path")) for path, change in self.changes.items())
        return {path: new for path, new in moved if isinstance(new, str) and new != path}


def _states(value: object) -> States:
    match value:
        case dict():
            return {str(path): _state(state) for path, state in value.items()}
        case _:
            raise senseless(NAME)


def _state(value: object) -> FileState | None:
    match value:
        case None:
            return None
        case [int(mode), bytes(content)]:
            return FileState(mode, content)
        case _:
            raise senseless(NAME)


def _tell(result: _Result, call_id: str, scope: ToolScope) -> None:
    ids = {"call_id": call_id, "turn_id": scope.turn.turn_id}
    succeeded = result.exit_code == 0
    scope.emit(PatchApplyBegin(**ids, auto_approved=True, changes=result.changes))
    for stream, said in ((STDOUT, result.stdout), (STDERR, result.stderr)):
        if said:
            chunk = base64.b64encode(said.encode("utf-8", "replace")).decode("ascii")
            scope.emit(ExecCommandOutputDelta(call_id=call_id, stream=stream, chunk=chunk))
    scope.emit(
        PatchApplyEnd(
            **ids,
            stdout=result.stdout,
            stderr=result.stderr,
            success=succeeded,
            changes=result.changes,
            status=COMPLETED if succeeded else FAILED,
        )
    )
    if succeeded:
        scope.changes.patched(result.before, result.after, result.moves)
    _tell_diff(scope)


def _tell_diff(scope: ToolScope) -> None:
    diff = scope.changes.diff()
    if diff:
        scope.emit(TurnDiff(unified_diff=diff))
