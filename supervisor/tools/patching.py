"""Applying a patch: from its text to changed files, and to what everybody is told of it.

Owns the order of the steps: read, judge, verify and write inside the sandbox, tell. All tools through which a model can
patch come here. The language of patches is in `protocol/patch`, the work on files in the file job.
"""

import base64
import errno
import os
from collections.abc import Awaitable, Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pycodex.protocol.confinement import Confinement
from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.events.exec import COMPLETED, DECLINED, FAILED, ExecCommandOutputDelta
from pycodex.protocol.events.patch import PatchApplyBegin, PatchApplyEnd, TurnDiff
from pycodex.protocol.frames import STDERR, STDOUT, Exited
from pycodex.supervisor.policy.decision import RETRY_REASON
from pycodex.supervisor.policy.patches import PatchVerdict, asks_after_denial, judge_patch
from pycodex.supervisor.tools.asking import Declined, ask_about_patch
from pycodex.supervisor.tools.confine import confinement
from pycodex.supervisor.tools.file_jobs import run_job, senseless
from pycodex.supervisor.tools.patch_places import Places, places_of
from pycodex.supervisor.tools.reading import for_reading
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
# What the system says where the sandbox does not let something be written.
_REFUSALS = tuple(os.strerror(number).lower() for number in (errno.EROFS, errno.EACCES, errno.EPERM))


async def apply_patch(
    text: str, *, cwd: str, call_id: str, scope: ToolScope, requested_via: str | None = None
) -> ToolAnswer:
    """`requested_via` names another tool than the one for patches. Raises ModelFacing if nothing was applied at all."""
    patch = _parsed(text)
    if not patch.hunks:
        _warn_of_detour(requested_via, scope)
        raise ModelFacing("patch rejected: empty patch")
    policy = scope.turn.approval_policy
    confined = await _confined(scope)
    places = await places_of(_written_paths(patch), cwd=cwd, confined=confined)
    work = _Application(text, cwd, places, scope)
    verdict = judge_patch(places.all, confined, policy)
    is_allowed = verdict is PatchVerdict.ASK and scope.services.approvals.has_all(places.keys)
    may_write = is_allowed or verdict is PatchVerdict.APPLY
    result = await work.tried(write=may_write, opens=is_allowed, confined=confined)
    _warn_of_detour(requested_via, scope)
    if verdict is PatchVerdict.REJECT:
        raise ModelFacing("patch rejected: writing outside of the project; rejected by user approval settings")
    events = _Events(call_id, scope, auto_approved=may_write)
    events.begin(result)
    if not result.cwd_errno and not is_allowed:
        if verdict is PatchVerdict.ASK:
            await events.ask(result, places.detours(), keys=places.keys)
            result = await events.seen_through(work.tried(write=True, opens=True), result)
        elif not confined.unconfined_because and result.was_denied and asks_after_denial(policy):
            await events.ask(result, "; ".join(filter(None, (RETRY_REASON, places.detours()))), keys=())
            result = await events.seen_through(work.tried(write=True, opens=True), result)
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


@dataclass(frozen=True, slots=True)
class _Application:
    text: str
    cwd: str
    places: Places
    scope: ToolScope

    async def tried(self, *, write: bool, opens: bool, confined: Confinement | None = None) -> "_Result":
        """Verified, and with `write` also applied. `opens`: a person lets it write its places, and no others.

        `confined` is what the turn allows, if that was just looked up.
        """
        confine = self._confine(write=write, opens=opens)
        arguments: dict[str, object] = {"patch": self.text, "cwd": self.cwd, "verify": True, "write": write}
        if opens:
            arguments["only"] = self.places.all
        done = await run_job(
            NAME,
            arguments,
            self.scope,
            answer_cap_bytes=ANSWER_CAP_BYTES,
            confine=confine if confined is None else confine(confined),
            # Once it writes, it is not ended half-way; it takes milliseconds, and has a deadline of its own.
            finish=True,
        )
        return _Result.of(done)

    def _confine(self, *, write: bool, opens: bool) -> Callable[[Confinement], Confinement]:
        if not write:
            return for_reading
        return self.places.opening(self.scope.services) if opens else lambda confined: confined


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
        said = self.stderr.lower()
        return self.exit_code != 0 and any(refusal in said for refusal in _REFUSALS)

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

    async def seen_through(self, attempt: Awaitable[_Result], before: _Result) -> _Result:
        """What was begun is told to have ended, also where it could not be tried any more."""
        try:
            return await attempt
        except ModelFacing as error:
            self._ended(before.changes, "", str(error), status=FAILED)
            raise

    def end(self, result: _Result) -> None:
        succeeded = result.exit_code == 0
        self._ended(result.changes, result.stdout, result.stderr, status=COMPLETED if succeeded else FAILED)
        if succeeded:
            self.scope.changes.patched(result.before, result.after, result.moves)
        _tell_diff(self.scope)

    def _ended(self, changes: dict[str, dict[str, Any]], stdout: str, stderr: str, *, status: str) -> None:
        for stream, said in ((STDOUT, stdout), (STDERR, stderr)):
            if said and status != DECLINED:
                chunk = base64.b64encode(said.encode("utf-8", "replace")).decode("ascii")
                self.scope.emit(ExecCommandOutputDelta(call_id=self.call_id, stream=stream, chunk=chunk))
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
