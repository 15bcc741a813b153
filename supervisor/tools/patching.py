"""Applying a patch: from its text to changed files, and to what everybody is told of it.

Owns the order of the steps: read, judge, verify and write inside the sandbox, tell. All tools through which a model can
patch come here. The language of patches is in `protocol/patch`, the work on files in the file job.
"""

import base64
import os
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from pycodex.protocol.confinement import Confinement
from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.events.exec import COMPLETED, DECLINED, FAILED, ExecCommandOutputDelta
from pycodex.protocol.events.patch import PatchApplyBegin, PatchApplyEnd, TurnDiff
from pycodex.protocol.frames import STDERR, STDOUT, Exited
from pycodex.sandbox.denial import likely_denied
from pycodex.sandbox.plan import opened
from pycodex.supervisor.policy.approvals import file_key
from pycodex.supervisor.policy.decision import RETRY_REASON
from pycodex.supervisor.policy.patches import PatchVerdict, asks_after_denial, closed_to, judge_patch
from pycodex.supervisor.tools.asking import Declined, ask_about_patch
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
    policy, approvals = scope.turn.approval_policy, scope.services.approvals
    work = _Application(text, cwd, _absolute(_written_paths(patch), cwd))
    confined = await _confined(scope)
    verdict = judge_patch(work.paths, confined, policy)
    is_allowed = verdict is PatchVerdict.ASK and approvals.has_all(work.keys)
    places = _places(work.paths, confined)
    result = await work.tried(scope, places if is_allowed else (), write=is_allowed or verdict is PatchVerdict.APPLY)
    _warn_of_detour(requested_via, scope)
    if verdict is PatchVerdict.REJECT:
        raise ModelFacing("patch rejected: writing outside of the project; rejected by user approval settings")
    events = _Events(call_id, scope, auto_approved=is_allowed or verdict is PatchVerdict.APPLY)
    events.begin(result)
    if not result.cwd_errno and not is_allowed:
        if verdict is PatchVerdict.ASK:
            await events.ask(result, _detours(places), keys=work.keys)
            result = await work.tried(scope, places, write=True)
        elif not confined.unconfined_because and result.was_denied and asks_after_denial(policy):
            await events.ask(result, RETRY_REASON, keys=())
            result = await work.tried(scope, places, write=True)
    events.end(result)
    if result.cwd_errno:
        raise ModelFacing(result.stderr)
    return _answer(result, scope)


def _answer(result: "_Result", scope: ToolScope) -> ToolAnswer:
    output = structured(
        result.stdout + result.stderr,
        result.exit_code,
        result.exited.wall_ms / 1000,
        scope.turn.truncation,
        # Where protected files can only be put back afterwards, success is not all there is to tell.
        remarks=tuple(remarks_on(result.exited)),
    )
    return ToolAnswer(output, usage=result.exited)


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


async def _confined(scope: ToolScope) -> Confinement:
    pool = await scope.services.pool.ready()
    return confinement(scope.turn, scope.services, runtime_dir=pool.runtime_dir)


class _Place(NamedTuple):
    """A path that the sandbox does not let be written, and where it really lies."""

    path: str
    real_path: str
    directory: str
    """The nearest one above that is there."""


def _places(paths: Sequence[str], confined: Confinement) -> tuple[_Place, ...]:
    return tuple(_place(path) for path in closed_to(paths, confined))


def _place(path: str) -> _Place:
    above = os.path.realpath(os.path.dirname(path))
    directory = above
    while not os.path.isdir(directory):
        directory = os.path.dirname(directory)
    return _Place(path, os.path.join(above, os.path.basename(path)), directory)


def _detours(places: Sequence[_Place]) -> str | None:
    """The person must know which files they are asked about; the patch names them as it reaches them."""
    told = [f"{place.path} is {place.real_path}" for place in places if place.path != place.real_path]
    return "; ".join(told) or None


@dataclass(frozen=True, slots=True)
class _Application:
    """A patch, and the absolute paths that it writes."""

    text: str
    cwd: str
    paths: list[str]

    @property
    def keys(self) -> list[Hashable]:
        return [file_key(path) for path in self.paths]

    async def tried(self, scope: ToolScope, places: Sequence[_Place], *, write: bool) -> "_Result":
        """Verified, and with `write` also applied; `places` are those that a person lets it write besides."""
        arguments = {"patch": self.text, "cwd": self.cwd, "verify": True, "write": write}
        paths = [place.real_path for place in places]
        done = await run_job(
            NAME,
            arguments,
            scope,
            answer_cap_bytes=ANSWER_CAP_BYTES,
            confine=lambda confined: opened(confined, paths, directories=[place.directory for place in places]),
            # Once it writes, it is not ended half-way; it takes milliseconds, and has a deadline of its own.
            finish=True,
        )
        return _Result.of(done)


def _absolute(paths: Iterable[str], cwd: str) -> list[str]:
    """Without detours, and from a canonical directory, as roots are: it may be reached through a link.

    Those that no file system can have are left out: the job will say what is wrong with them.
    """
    start = os.path.realpath(cwd) if _is_possible(cwd) else cwd
    possible = [joined for path in paths if _is_possible(joined := os.path.join(start, path))]
    return [os.path.normpath(path) for path in possible]


def _is_possible(path: str) -> bool:
    return len(path) <= _MOST_PATH_BYTES and "\0" not in path


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
    exited: Exited

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
                exited=done.exited,
            )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            raise senseless(NAME) from None

    @property
    def was_denied(self) -> bool:
        return likely_denied(self.exit_code, None, self.stdout + self.stderr)

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


@dataclass(frozen=True, slots=True)
class _Events:
    """What is told of one patch: that it begins, once, and how it ends, once."""

    call_id: str
    scope: ToolScope
    auto_approved: bool

    def begin(self, result: _Result) -> None:
        self.scope.emit(PatchApplyBegin(**self._ids(), auto_approved=self.auto_approved, changes=result.changes))

    async def ask(self, result: _Result, reason: str | None, *, keys: Sequence[Hashable]) -> None:
        """Raises ModelFacing if the person does not want it."""
        try:
            await ask_about_patch(result.changes, reason=reason, call_id=self.call_id, keys=keys, scope=self.scope)
        except Declined as declined:
            text = f"patch {declined}"
            self._ended(result.changes, "", text, status=DECLINED)
            await declined.take_effect(self.scope)
            raise ModelFacing(text) from None

    def end(self, result: _Result) -> None:
        for stream, said in ((STDOUT, result.stdout), (STDERR, result.stderr)):
            if said:
                chunk = base64.b64encode(said.encode("utf-8", "replace")).decode("ascii")
                self.scope.emit(ExecCommandOutputDelta(call_id=self.call_id, stream=stream, chunk=chunk))
        succeeded = result.exit_code == 0
        self._ended(result.changes, result.stdout, result.stderr, status=COMPLETED if succeeded else FAILED)
        if succeeded:
            self.scope.changes.patched(result.before, result.after, result.moves)
        _tell_diff(self.scope)

    def _ended(self, changes: dict[str, dict[str, Any]], stdout: str, stderr: str, *, status: str) -> None:
        self.scope.emit(
            PatchApplyEnd(
                **self._ids(),
                stdout=stdout,
                stderr=stderr,
                success=status == COMPLETED,
                changes=changes,
                status=status,
            )
        )

    def _ids(self) -> dict[str, str]:
        return {"call_id": self.call_id, "turn_id": self.scope.turn.turn_id}


def _tell_diff(scope: ToolScope) -> None:
    diff = scope.changes.diff()
    if diff:
        scope.emit(TurnDiff(unified_diff=diff))
