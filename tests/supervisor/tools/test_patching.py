"""A patch is judged by where it writes, checked against the files, applied inside the sandbox, and told."""

import json
import os
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from pycodex.protocol.confinement import PLACEHOLDER_MODE, Confinement
from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.frames import RunCommand
from pycodex.protocol.permissions import Permissions
from pycodex.supervisor.tools.patching import MOST_HUNKS, apply_patch, tell_turn_diff
from support.approvals import PATCH_REQUEST, ending, granular, silent, thinking, told_kinds, unattended
from support.pools import Pools
from support.tool_calls import FULL_ACCESS, READ_ONLY, WORKSPACE_WRITE, Bench, make_turn, open_bench
from support.waiting import eventually_async


def patch(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch", ""))


ADD = patch("*** Add File: a.txt", "+one")


def files_in(folder: Path) -> list[str]:
    """All that lies below, without the stand-ins that the sandbox leaves to be removed later."""
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if not (path.is_dir() and stat.S_IMODE(path.stat().st_mode) == PLACEHOLDER_MODE)
    )


class Patches:
    def __init__(self, bench: Bench, workspace: Path) -> None:
        self.bench = bench
        self.workspace = workspace

    async def apply(self, text: str, **how: Any) -> dict[str, Any]:
        arguments = {"cwd": str(self.workspace), "call_id": "c", "scope": self.bench.scope, **how}
        output = (await apply_patch(text, **arguments)).output
        assert isinstance(output, str)
        told: dict[str, Any] = json.loads(output)
        return told

    async def refusal(self, text: str, **how: Any) -> str:
        with pytest.raises(ModelFacing) as caught:
            await self.apply(text, **how)
        return str(caught.value)

    def kinds(self) -> list[str]:
        return [event.to_wire()["type"] for event in self.bench.events]


@asynccontextmanager
async def opened(
    pools: Pools, workspace: Path, home: Path, permissions: Permissions = WORKSPACE_WRITE, **turn: Any
) -> AsyncIterator[Patches]:
    made = make_turn(cwd=str(workspace), permissions=permissions, **turn)
    async with pools.open() as pool, open_bench(pool, home, made) as bench:
        yield Patches(bench, workspace)


async def test_applied_patch_is_told_from_its_beginning_to_the_diff(
    real_pools: Pools, workspace: Path, home: Path
) -> None:
    (workspace / "b.txt").write_text("b\nx\n")
    text = patch("*** Add File: a.txt", "+one", "*** Update File: b.txt", "*** Move to: c.txt", "@@", "-b", "+B")
    async with opened(real_pools, workspace, home) as patches:
        told = await patches.apply(text)
        begun, ended, diff = (
            patches.bench.told(kind) for kind in ("patch_apply_begin", "patch_apply_end", "turn_diff")
        )
    assert told["output"] == "Success. Updated the following files:\nA a.txt\nM c.txt\n"
    assert told["metadata"]["exit_code"] == 0
    assert patches.kinds() == ["patch_apply_begin", "exec_command_output_delta", "patch_apply_end", "turn_diff"]
    changes = {
        f"{workspace}/a.txt": {"type": "add", "content": "one\n"},
        f"{workspace}/b.txt": {
            "type": "update",
            "unified_diff": "@@ -1,2 +1,2 @@\n-b\n+B\n x\n",
            "move_path": f"{workspace}/c.txt",
        },
    }
    ids = {"call_id": "c", "turn_id": "turn-1"}
    assert begun == [{"type": "patch_apply_begin", **ids, "auto_approved": True, "changes": changes}]
    assert ended == [
        {
            "type": "patch_apply_end",
            **ids,
            "stdout": told["output"],
            "stderr": "",
            "success": True,
            "changes": changes,
            "status": "completed",
        }
    ]
    assert "\n+one\n" in diff[0]["unified_diff"]
    assert files_in(workspace) == ["a.txt", "c.txt"]


@pytest.mark.parametrize(
    ("cwd", "reason"),
    [
        ("~", 'code: 2, kind: NotFound, message: "No such file or directory"'),
        ("a/" * 1_000_000, 'code: 36, kind: InvalidFilename, message: "File name too long"'),
    ],
    ids=["missing", "long"],
)
async def test_patch_in_a_directory_that_is_not_there_fails_like_a_command(
    real_pools: Pools, workspace: Path, home: Path, cwd: str, reason: str
) -> None:
    error = f"execution error: Io(Os {{ {reason} }})"
    async with opened(real_pools, workspace, home) as patches:
        assert await patches.refusal(ADD, cwd=f"{workspace}/{cwd}") == error
        (ended,) = patches.bench.told("patch_apply_end")
    assert (ended["status"], ended["stdout"], ended["stderr"]) == ("failed", "", error)
    assert len(ended["changes"]) == 1
    assert files_in(workspace) == []


async def test_failed_patch_is_told_as_such_and_leaves_the_files(
    real_pools: Pools, workspace: Path, home: Path
) -> None:
    (workspace / "file").write_text("x\n")
    text = patch("*** Add File: new.txt", "+1", "*** Add File: file/below.txt", "+2")
    async with opened(real_pools, workspace, home) as patches:
        told = await patches.apply(text)
        (ended,) = patches.bench.told("patch_apply_end")
    assert told["metadata"]["exit_code"] == 1
    first, second, _ = told["output"].split("\n")
    assert first == "Failed to create parent directories for file/below.txt"
    assert second.startswith("No file was changed")
    assert (ended["success"], ended["status"], ended["stderr"]) == (False, "failed", told["output"])
    assert patches.bench.told("turn_diff") == []
    assert files_in(workspace) == ["file"]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (patch(), "patch rejected: empty patch"),
        (
            "nothing",
            "apply_patch verification failed: invalid patch: The first line of the patch must be '*** Begin Patch'",
        ),
        (
            patch("*** Delete File: none"),
            "apply_patch verification failed: Failed to read {ws}/none: No such file or directory (os error 2)",
        ),
        (
            patch("*** Add File: ../elsewhere.txt", "+x"),
            "patch rejected: writing outside of the project; rejected by user approval settings",
        ),
        (
            patch("*** Add File: /usr/local/x.txt", "+x"),
            "patch rejected: writing outside of the project; rejected by user approval settings",
        ),
        (
            patch("*** Update File: ../none.txt", "@@", "-x", "+y"),
            (
                "apply_patch verification failed: Failed to read file to update {ws}/../none.txt: "
                "No such file or directory (os error 2)"
            ),
        ),
    ],
    ids=["empty", "no patch", "unverified", "outside", "absolute", "unverified outside"],
)
async def test_patch_that_is_not_applied_is_not_told(
    real_pools: Pools, workspace: Path, home: Path, text: str, answer: str
) -> None:
    async with opened(real_pools, workspace, home) as patches:
        assert await patches.refusal(text) == answer.format(ws=workspace)
        assert patches.kinds() == []
    assert files_in(workspace) == []
    assert {path.name for path in workspace.parent.iterdir()} == {"home", "ws"}


@pytest.mark.parametrize(
    ("permissions", "policy", "applied"),
    [
        (READ_ONLY, "never", False),
        (READ_ONLY, "on-request", False),
        (WORKSPACE_WRITE, "untrusted", False),
        (WORKSPACE_WRITE, "on-request", True),
        (FULL_ACCESS, "never", True),
    ],
)
async def test_mode_and_policy_decide(
    real_pools: Pools, workspace: Path, home: Path, permissions: Permissions, policy: str, applied: bool
) -> None:
    async with opened(real_pools, workspace, home, permissions, approval_policy=policy) as patches:
        if applied:
            assert (await patches.apply(ADD))["metadata"]["exit_code"] == 0
        else:
            assert (await patches.refusal(ADD)).startswith("patch rejected")
    assert (workspace / "a.txt").exists() == applied


@pytest.mark.parametrize("name", [".git/hooks/pre-commit", ".git/config", ".codex/config.toml", ".agents/x"])
@pytest.mark.parametrize("exists", [True, False])
async def test_protected_paths_are_never_written(
    real_pools: Pools, workspace: Path, home: Path, name: str, *, exists: bool
) -> None:
    if exists:
        (workspace / name).parent.mkdir(parents=True)
    before = files_in(workspace)
    async with opened(real_pools, workspace, home) as patches:
        refusal = await patches.refusal(patch(f"*** Add File: {name}", "+x"))
    assert refusal == "patch rejected: writing outside of the project; rejected by user approval settings"
    assert files_in(workspace) == before


async def test_link_out_of_the_workspace_is_not_a_way_out(real_pools: Pools, workspace: Path, home: Path) -> None:
    victim = workspace.parent / "victim.txt"
    victim.write_text("x\n")
    (workspace / "link.txt").symlink_to(victim)
    async with opened(real_pools, workspace, home) as patches:
        refusal = await patches.refusal(patch("*** Update File: link.txt", "@@", "-x", "+y"))
    assert refusal == "patch rejected: writing outside of the project; rejected by user approval settings"
    assert victim.read_text() == "x\n"


async def test_workspace_behind_a_link_is_the_workspace(real_pools: Pools, workspace: Path, home: Path) -> None:
    link = workspace.parent / "link"
    link.symlink_to(workspace)
    async with opened(real_pools, link, home) as patches:
        assert (await patches.apply(ADD))["metadata"]["exit_code"] == 0
    assert (workspace / "a.txt").read_text() == "one\n"


async def test_request_through_another_tool_is_remarked_upon_once_it_is_verified(
    real_pools: Pools, workspace: Path, home: Path
) -> None:
    async with opened(real_pools, workspace, home) as patches:
        await patches.refusal("nothing", requested_via="shell")
        assert patches.bench.warnings == []
        await patches.apply(ADD, requested_via="shell")
        await patches.refusal(patch(), requested_via="exec_command")
        assert patches.bench.warnings == [
            "apply_patch was requested via shell. Use the apply_patch tool instead of exec_command.",
            "apply_patch was requested via exec_command. Use the apply_patch tool instead of exec_command.",
        ]


async def test_diff_of_the_turn_shows_what_commands_did_to_patched_files(
    real_pools: Pools, workspace: Path, home: Path
) -> None:
    async with opened(real_pools, workspace, home) as patches:
        bench = patches.bench
        await tell_turn_diff(bench.scope, refresh=True)
        assert bench.told("turn_diff") == []
        await patches.apply(ADD)
        await bench.run("echo two >> a.txt; echo other > other.txt")
        await tell_turn_diff(bench.scope, refresh=False)
        assert "+two" not in bench.told("turn_diff")[-1]["unified_diff"]
        await tell_turn_diff(bench.scope, refresh=True)
        diff = bench.told("turn_diff")[-1]["unified_diff"]
        assert "@@ -0,0 +1,2 @@\n+one\n+two\n" in diff
        assert "other" not in diff
        told = len(bench.told("turn_diff"))
        await bench.run("rm a.txt")
        await tell_turn_diff(bench.scope, refresh=True)
        assert len(bench.told("turn_diff")) == told


async def test_usage_of_the_job_comes_with_the_answer(real_pools: Pools, workspace: Path, home: Path) -> None:
    async with opened(real_pools, workspace, home) as patches:
        answer = await apply_patch(ADD, cwd=str(workspace), call_id="c", scope=patches.bench.scope)
    assert answer.usage is not None
    assert answer.usage.processes == 1
    assert answer.usage.peak_rss_bytes > 0


async def test_patch_that_waits_for_a_worker_can_be_interrupted_and_is_then_not_applied(
    real_pools: Pools, workspace: Path, home: Path
) -> None:
    turn = make_turn(cwd=str(workspace), permissions=WORKSPACE_WRITE)
    sleeper = RunCommand(job_id="", argv=("/bin/sleep", "1000"), cwd="/", env={}, confinement=Confinement())
    async with real_pools.open(max_running=1) as pool, open_bench(pool, home, turn) as bench:
        async with pool.running(sleeper) as job:
            await anext(job)
            with trio.CancelScope() as interrupted:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(Patches(bench, workspace).apply, ADD)
                    await trio.testing.wait_all_tasks_blocked()
                    interrupted.cancel()
        await bench.run("true")
    assert files_in(workspace) == []


async def test_directory_whose_name_none_can_have_is_told(real_pools: Pools, workspace: Path, home: Path) -> None:
    async with opened(real_pools, workspace, home) as patches:
        told = await patches.apply(ADD, cwd=f"{workspace}/a\0b")
    reason = "file name contained an unexpected NUL byte"
    assert told["output"] == f"Failed to write file a.txt\nNo file was changed: {reason}.\n"


async def test_directory_with_an_endless_name_is_told_at_once(real_pools: Pools, workspace: Path, home: Path) -> None:
    """To follow such a name step by step would take minutes, in the supervisor."""
    async with opened(real_pools, workspace, home) as patches:
        assert "File name too long" in await patches.refusal(ADD, cwd=f"{workspace}/" + "a/" * 1_500_000)


async def test_more_hunks_than_can_be_answered_for_are_refused_before_anything_is_written(
    real_pools: Pools, workspace: Path, home: Path
) -> None:
    files = [f"*** Add File: {number}" for number in range(MOST_HUNKS + 1)]
    async with opened(real_pools, workspace, home) as patches:
        assert "patch rejected: it has 10001 hunks" in await patches.refusal(patch(*files))
        assert files_in(workspace) == []
        await patches.apply(patch(*files[:-1]))
    assert len(files_in(workspace)) == MOST_HUNKS


# Asking

BEGIN, END = "patch_apply_begin", "patch_apply_end"
ASKED_AND_DONE = [BEGIN, PATCH_REQUEST, f"{END} completed"]
ASKED_AND_DECLINED = [BEGIN, PATCH_REQUEST, f"{END} declined"]
ASKED_IN_VAIN = [BEGIN, PATCH_REQUEST, f"{END} failed"]
RETRY = "command failed; retry without sandbox?"
REJECTED = "patch rejected by user"

WHERE_IT_IS_ASKED = pytest.mark.parametrize(
    ("permissions", "policy", "path"),
    [
        (WORKSPACE_WRITE, "untrusted", "a.txt"),
        (FULL_ACCESS, "untrusted", "a.txt"),
        (READ_ONLY, "untrusted", "sub/a.txt"),
        (READ_ONLY, "on-request", "a.txt"),
        (READ_ONLY, "on-request", "new/sub/a.txt"),
        (READ_ONLY, granular(sandbox_approval=True), "a.txt"),
        (WORKSPACE_WRITE, "on-request", "../out/a.txt"),
        (WORKSPACE_WRITE, "on-request", "../out/new/a.txt"),
        (WORKSPACE_WRITE, "on-request", ".git/config"),
    ],
    ids=str,
)


@pytest.fixture
def out(workspace: Path) -> Path:
    """A folder beside the workspace, with a file in it."""
    path = workspace.parent / "out"
    path.mkdir()
    (path / "old.txt").write_text("old\n")
    return path


def is_same(path: str, other: Path) -> bool:
    return os.path.normpath(path) == os.path.normpath(other)


def texts_in(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def told(patches: Patches) -> list[str]:
    return told_kinds(patches.bench.events)


def adding(path: str, text: str = "x") -> str:
    return patch(f"*** Add File: {path}", f"+{text}")


@WHERE_IT_IS_ASKED
async def test_approved_patch_is_applied_and_touches_nothing_else(
    real_pools: Pools,
    workspace: Path,
    home: Path,
    out: Path,
    *,
    permissions: Permissions,
    policy: str | dict[str, Any],
    path: str,
) -> None:
    (workspace / ".git").mkdir()
    (workspace / "sub").mkdir()
    async with opened(real_pools, workspace, home, permissions, approval_policy=policy) as patches:
        patches.bench.decisions += ["approved"]
        before = {*files_in(workspace), *files_in(out)}
        assert (await patches.apply(adding(path)))["metadata"]["exit_code"] == 0
        assert told(patches) == ASKED_AND_DONE
        (begin,), (request,) = patches.bench.told(BEGIN), patches.bench.told(PATCH_REQUEST)
    (named,) = request["changes"]
    assert is_same(named, workspace / path)
    assert (begin["auto_approved"], begin["changes"]) == (False, request["changes"])
    assert "reason" not in request
    assert (workspace / path).read_text() == "x\n"
    made = {*files_in(workspace), *files_in(out)} - before
    assert {name for name in made if name.endswith((".txt", "config"))} == {path.removeprefix("../out/")}


@WHERE_IT_IS_ASKED
@pytest.mark.parametrize("decision", ["denied", {"odd": True}], ids=["no", "malformed"])
async def test_declined_patch_is_not_applied_and_told_as_declined(
    real_pools: Pools,
    workspace: Path,
    home: Path,
    out: Path,
    *,
    permissions: Permissions,
    policy: str | dict[str, Any],
    path: str,
    decision: object,
) -> None:
    (workspace / ".git").mkdir()
    (workspace / "sub").mkdir()
    async with opened(real_pools, workspace, home, permissions, approval_policy=policy) as patches:
        patches.bench.decisions += [decision]
        assert await patches.refusal(adding(path)) == REJECTED
        assert told(patches) == ASKED_AND_DECLINED
        (end,) = patches.bench.told(END)
    assert (end["success"], end["stdout"], end["stderr"]) == (False, "", REJECTED)
    assert not (workspace / path).exists()
    assert not patches.bench.interrupted.is_set()


async def test_patch_that_nobody_answers_for_is_not_applied(real_pools: Pools, workspace: Path, home: Path) -> None:
    async with opened(real_pools, workspace, home, approval_policy="untrusted") as patches:
        assert await patches.refusal(ADD, scope=unattended(patches.bench)) == REJECTED
        assert told(patches) == ASKED_AND_DECLINED
    assert files_in(workspace) == []


@pytest.mark.parametrize(("policy", "path"), [("untrusted", "a.txt"), ("on-failure", "../out/a.txt")])
async def test_abort_ends_the_turn_after_the_end_of_the_patch_was_told(
    real_pools: Pools, workspace: Path, home: Path, out: Path, policy: str, path: str
) -> None:
    async with opened(real_pools, workspace, home, approval_policy=policy) as patches:
        patches.bench.decisions += ["abort"]
        with trio.CancelScope() as turn:
            await patches.apply(adding(path), scope=ending(patches.bench, turn))
        assert turn.cancelled_caught
        assert patches.bench.interrupted.is_set()
        assert told(patches) == ASKED_AND_DECLINED
    assert not (workspace / path).exists()


async def test_interrupt_while_asked_applies_nothing(real_pools: Pools, workspace: Path, home: Path) -> None:
    async with opened(real_pools, workspace, home, approval_policy="untrusted") as patches:
        with trio.CancelScope() as turn:
            async with trio.open_nursery() as nursery:

                @nursery.start_soon
                async def interrupt() -> None:
                    await patches.bench.until_told(PATCH_REQUEST)
                    turn.cancel()

                await patches.apply(ADD, scope=silent(patches.bench))
        assert turn.cancelled_caught
        assert patches.bench.pending.answer("c", "approved") is False
    assert files_in(workspace) == []


async def test_file_allowed_for_the_session_is_not_asked_about_again(
    real_pools: Pools, workspace: Path, home: Path, out: Path
) -> None:
    change = patch("*** Update File: ../out/a.txt", "@@", "-x", "+y")
    async with opened(real_pools, workspace, home, approval_policy="on-request") as patches:
        bench = patches.bench
        bench.decisions += ["approved_for_session"]
        await patches.apply(adding("../out/a.txt"))
        bench.events.clear()
        assert (await patches.apply(change))["metadata"]["exit_code"] == 0
        assert told(patches) == [BEGIN, f"{END} completed"]
        assert bench.told(BEGIN)[0]["auto_approved"] is True
        # Another file is another question, also beside one that is allowed.
        assert await patches.refusal(adding("../out/b.txt")) == REJECTED
        both = patch("*** Delete File: ../out/a.txt", "*** Delete File: ../out/old.txt")
        assert await patches.refusal(both) == REJECTED
        moved = patch("*** Update File: ../out/a.txt", "*** Move to: ../out/c.txt", "@@", "-y", "+z")
        assert await patches.refusal(moved) == REJECTED
    assert texts_in(out) == {"a.txt": "y\n", "old.txt": "old\n"}


async def test_patch_of_several_files_is_one_question_and_allows_each_for_the_session(
    real_pools: Pools, workspace: Path, home: Path
) -> None:
    (workspace / "b.txt").write_text("b\n")
    moved = patch("*** Add File: a.txt", "+a", "*** Update File: b.txt", "*** Move to: c.txt", "@@", "-b", "+c")
    async with opened(real_pools, workspace, home, approval_policy="untrusted") as patches:
        patches.bench.decisions += ["approved_for_session"]
        await patches.apply(moved)
        for text in (patch("*** Delete File: a.txt"), adding("b.txt"), patch("*** Delete File: c.txt")):
            assert (await patches.apply(text))["metadata"]["exit_code"] == 0
        assert len(patches.bench.told(PATCH_REQUEST)) == 1
    assert files_in(workspace) == ["b.txt"]


async def test_patch_allowed_once_is_asked_about_again(real_pools: Pools, workspace: Path, home: Path) -> None:
    async with opened(real_pools, workspace, home, approval_policy="untrusted") as patches:
        patches.bench.decisions += ["approved"]
        await patches.apply(ADD)
        assert await patches.refusal(patch("*** Delete File: a.txt")) == REJECTED
    assert files_in(workspace) == ["a.txt"]


async def test_patch_that_cannot_be_verified_is_not_asked_about(real_pools: Pools, workspace: Path, home: Path) -> None:
    async with opened(real_pools, workspace, home, approval_policy="untrusted") as patches:
        assert "verification failed" in await patches.refusal(patch("*** Delete File: none"))
        assert told(patches) == []


async def test_session_allows_files_and_not_where_links_lead_later(
    real_pools: Pools, workspace: Path, home: Path
) -> None:
    (workspace / ".git").mkdir()
    config = workspace / ".git" / "config"
    config.write_text("x\n")
    change = patch("*** Update File: d/config", "@@", "-x", "+y")
    async with opened(real_pools, workspace, home, approval_policy="untrusted") as patches:
        patches.bench.decisions += ["approved_for_session"]
        await patches.apply(adding("d/config"))
        (workspace / "d" / "config").unlink()
        (workspace / "d").rmdir()
        (workspace / "d").symlink_to(".git")
        assert await patches.refusal(change) == REJECTED
        assert patches.bench.told(PATCH_REQUEST)[-1]["reason"] == f"{workspace}/d/config is {config}"
    assert config.read_text() == "x\n"


async def test_session_allows_no_file_that_a_command_has_put_in_the_place_of_another(
    real_pools: Pools, workspace: Path, home: Path, out: Path
) -> None:
    """By a name outside of the workspace, whose folders a command may turn to links."""
    (workspace.parent / "link").symlink_to(workspace)
    (workspace / "d").mkdir()
    change = patch("*** Update File: ../link/d/old.txt", "@@", "-old", "+new")
    async with opened(real_pools, workspace, home, approval_policy="untrusted") as patches:
        patches.bench.decisions += ["approved_for_session", "approved"]
        await patches.apply(adding("../link/d/old.txt", "old"))
        await patches.bench.run(f"mv d e; ln -s {out} d")
        assert (workspace / "d").is_symlink()
        assert await patches.refusal(change) == REJECTED
    assert texts_in(out) == {"old.txt": "old\n"}


# What the sandbox stopped


@pytest.mark.parametrize(
    ("permissions", "path"), [(WORKSPACE_WRITE, "../out/a.txt"), (READ_ONLY, "a.txt"), (WORKSPACE_WRITE, ".git/config")]
)
@pytest.mark.parametrize("approved", [True, False])
async def test_patch_that_the_sandbox_stopped_is_asked_about_and_not_quietly_let_through(
    real_pools: Pools, workspace: Path, home: Path, out: Path, *, permissions: Permissions, path: str, approved: bool
) -> None:
    (workspace / ".git").mkdir()
    async with opened(real_pools, workspace, home, permissions, approval_policy="on-failure") as patches:
        patches.bench.decisions += ["approved" if approved else "denied"]
        scope = thinking(patches.bench, lambda: seen.append((workspace / path).exists()))
        seen: list[bool] = []
        if approved:
            assert (await patches.apply(adding(path), scope=scope))["metadata"]["exit_code"] == 0
        else:
            assert await patches.refusal(adding(path), scope=scope) == REJECTED
        assert told(patches) == (ASKED_AND_DONE if approved else ASKED_AND_DECLINED)
        (request,) = patches.bench.told(PATCH_REQUEST)
    assert (request["reason"], seen) == (RETRY, [False])
    assert (workspace / path).exists() == approved


async def test_answer_to_a_retry_is_not_remembered(real_pools: Pools, workspace: Path, home: Path, out: Path) -> None:
    async with opened(real_pools, workspace, home, approval_policy="on-failure") as patches:
        patches.bench.decisions += ["approved_for_session"]
        await patches.apply(adding("../out/a.txt"))
        assert await patches.refusal(patch("*** Delete File: ../out/a.txt")) == REJECTED
    assert (out / "a.txt").exists()


async def test_patch_that_the_sandbox_lets_through_is_not_asked_about(
    real_pools: Pools, workspace: Path, home: Path
) -> None:
    async with opened(real_pools, workspace, home, approval_policy="on-failure") as patches:
        await patches.apply(ADD)
        assert told(patches) == [BEGIN, f"{END} completed"]


async def test_patch_outside_is_rejected_where_that_is_not_to_be_asked(
    real_pools: Pools, workspace: Path, home: Path, out: Path
) -> None:
    policy = granular(rules=True)
    async with opened(real_pools, workspace, home, approval_policy=policy) as patches:
        refusal = await patches.refusal(adding("../out/a.txt"))
        assert told(patches) == []
    assert refusal == "patch rejected: writing outside of the project; rejected by user approval settings"


# Where an approved patch may write


async def approved_once_gone(patches: Patches, folder: Path) -> None:
    """The person says yes when no stand-in is left."""
    await patches.bench.until_told(PATCH_REQUEST)
    await patches.bench.services.processes.end_all()
    await eventually_async(lambda: not folder.exists(), what=f"no {folder.name}")
    patches.bench.pending.answer("c", "approved")


PROTECTED = pytest.mark.parametrize("name", [".codex/config.toml", ".agents/skills/x.md", ".git/config"])


@PROTECTED
async def test_stand_ins_make_room_for_a_patch_that_was_approved(
    real_pools: Pools, workspace: Path, home: Path, name: str
) -> None:
    """What a trial of the patch left behind is gone when the person answers."""
    folder = workspace / name.split("/", maxsplit=1)[0]
    async with opened(real_pools, workspace, home, approval_policy="on-request") as patches:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(approved_once_gone, patches, folder)
            applied = await patches.apply(adding(name), scope=silent(patches.bench))
        assert applied["metadata"]["exit_code"] == 0
        assert told(patches) == ASKED_AND_DONE
    assert (workspace / name).read_text() == "x\n"


async def test_stand_in_of_another_command_that_ends_meanwhile_does_not_stop_an_approved_patch(
    real_pools: Pools, workspace: Path, home: Path
) -> None:
    async with opened(real_pools, workspace, home, approval_policy="on-request") as patches:
        await patches.bench.run("echo up; sleep 1000", yield_time_ms=250)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(approved_once_gone, patches, workspace / ".codex")
            applied = await patches.apply(adding(".codex/config.toml"), scope=silent(patches.bench))
        assert applied["metadata"]["exit_code"] == 0


async def test_what_is_protected_beside_an_approved_file_stays_so(
    real_pools: Pools, workspace: Path, home: Path
) -> None:
    for folder in (".git", ".codex"):
        (workspace / folder).mkdir()
        (workspace / folder / "a").write_text("old\n")
    async with opened(real_pools, workspace, home, approval_policy="on-request") as patches:
        patches.bench.decisions += ["approved"]
        swap = thinking(patches.bench, lambda: replace_by_link(workspace / "d", workspace / ".codex"))
        (workspace / "d").mkdir()
        (workspace / "d" / "a").write_text("old\n")
        text = patch("*** Add File: .git/b", "+x", "*** Update File: d/a", "@@", "-old", "+new")
        assert (await patches.apply(text, scope=swap))["metadata"]["exit_code"] == 1
    assert (workspace / ".codex" / "a").read_text() == "old\n"
    assert not (workspace / ".git" / "b").exists()


def replace_by_link(path: Path, target: Path) -> None:
    if path.exists():
        path.rename(path.with_name("swapped"))
    path.symlink_to(target)


@pytest.fixture
def victim(workspace: Path) -> Path:
    path = workspace.parent / "victim"
    path.mkdir()
    (path / "old.txt").write_text("old\n")
    return path


CHANGE = patch("*** Update File: ../out/old.txt", "@@", "-old", "+new")


async def led_astray(patches: Patches, text: str, swap: Callable[[], None]) -> None:
    """Apply what is approved after the swap; it may fail in any way that is told."""
    patches.bench.decisions += ["approved"]
    try:
        await patches.apply(text, scope=thinking(patches.bench, swap))
    except ModelFacing:
        pass


@pytest.mark.parametrize("policy", ["on-request", "on-failure"])
async def test_folder_that_is_swapped_for_a_link_while_the_person_thinks_leads_nowhere(
    real_pools: Pools, workspace: Path, home: Path, out: Path, victim: Path, policy: str
) -> None:
    async with opened(real_pools, workspace, home, approval_policy=policy) as patches:
        await led_astray(patches, CHANGE, lambda: replace_by_link(out, victim))
        assert len(patches.bench.told(PATCH_REQUEST)) == 1
    assert (victim / "old.txt").read_text() == "old\n"
    assert (workspace.parent / "swapped" / "old.txt").read_text() == "old\n"


async def test_file_that_is_swapped_for_a_link_to_another_folder_leads_nowhere(
    real_pools: Pools, workspace: Path, home: Path, out: Path, victim: Path
) -> None:
    async with opened(real_pools, workspace, home, approval_policy="on-request") as patches:
        await led_astray(patches, CHANGE, lambda: replace_by_link(out / "old.txt", victim / "old.txt"))
    assert (victim / "old.txt").read_text() == "old\n"


async def test_file_that_is_swapped_for_a_link_to_its_neighbour_leads_nowhere(
    real_pools: Pools, workspace: Path, home: Path, out: Path
) -> None:
    neighbour = out / "neighbour.txt"
    neighbour.write_text("old\n")
    async with opened(real_pools, workspace, home, approval_policy="on-request") as patches:
        await led_astray(patches, CHANGE, lambda: replace_by_link(out / "old.txt", neighbour))
    assert neighbour.read_text() == "old\n"


async def test_link_that_appears_in_the_place_of_a_missing_folder_leads_nowhere(
    real_pools: Pools, workspace: Path, home: Path, victim: Path
) -> None:
    async with opened(real_pools, workspace, home, approval_policy="on-request") as patches:
        await led_astray(patches, adding("../new/a.txt"), lambda: (workspace.parent / "new").symlink_to(victim))
    assert texts_in(victim) == {"old.txt": "old\n"}


@pytest.mark.parametrize("kind", ["refused", "unverified"])
async def test_approved_patch_that_cannot_be_applied_any_more_is_told_to_have_failed(
    real_pools: Pools, workspace: Path, home: Path, out: Path, victim: Path, kind: str
) -> None:
    def spoil() -> None:
        if kind == "refused":
            replace_by_link(out, victim)
        else:
            (out / "old.txt").write_text("other\n")

    async with opened(real_pools, workspace, home, approval_policy="on-request") as patches:
        await led_astray(patches, CHANGE, spoil)
        assert told(patches) == ASKED_IN_VAIN


async def test_reason_names_the_real_path_where_a_link_is_on_the_way(
    real_pools: Pools, workspace: Path, home: Path, out: Path
) -> None:
    link = workspace.parent / "link"
    link.symlink_to(out)
    text = patch("*** Add File: ../link/a.txt", "+x", "*** Add File: ../out/b.txt", "+x")
    async with opened(real_pools, workspace, home, approval_policy="on-request") as patches:
        patches.bench.decisions += ["approved"]
        await patches.apply(text)
        (request,) = patches.bench.told(PATCH_REQUEST)
    assert request["reason"] == f"{link}/a.txt is {out}/a.txt"
    assert texts_in(out).keys() == {"a.txt", "b.txt", "old.txt"}


async def test_reason_names_the_real_path_where_the_file_is_a_link(
    real_pools: Pools, workspace: Path, home: Path, out: Path
) -> None:
    (out / "link.txt").symlink_to("old.txt")
    async with opened(real_pools, workspace, home, approval_policy="on-request") as patches:
        await patches.refusal(patch("*** Update File: ../out/link.txt", "@@", "-old", "+new"))
        (request,) = patches.bench.told(PATCH_REQUEST)
    assert request.get("reason") == f"{out}/link.txt is {out}/old.txt"


@pytest.mark.parametrize("policy", ["untrusted", "on-request", "on-failure"])
@pytest.mark.parametrize("leads", ["folder", "file"])
async def test_yes_to_a_link_that_leaves_the_workspace_is_to_where_it_leads(
    real_pools: Pools, workspace: Path, home: Path, out: Path, policy: str, leads: str
) -> None:
    if leads == "folder":
        (workspace / "link").symlink_to(out)
        path = "link/old.txt"
    else:
        (workspace / "link.txt").symlink_to(out / "old.txt")
        path = "link.txt"
    async with opened(real_pools, workspace, home, approval_policy=policy) as patches:
        patches.bench.decisions += ["approved"]
        await patches.apply(patch(f"*** Update File: {path}", "@@", "-old", "+new"))
        (request,) = patches.bench.told(PATCH_REQUEST)
    assert f"{workspace}/{path} is {out}/old.txt" in request["reason"]
    assert (RETRY in request["reason"]) == (policy == "on-failure")
    assert texts_in(out) == {"old.txt": "new\n"}


async def test_folder_at_the_top_is_not_made_for_a_patch(real_pools: Pools, workspace: Path, home: Path) -> None:
    """The whole disk would have to be opened for it."""
    async with opened(real_pools, workspace, home, approval_policy="on-request") as patches:
        refusal = await patches.refusal(adding("/no-such-folder-at-the-top/a.txt"))
        assert told(patches) == []
    assert refusal.startswith("patch rejected: there is no directory /no-such-folder-at-the-top to write into")
