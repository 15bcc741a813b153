"""A patch is judged by where it writes, checked against the files, applied inside the sandbox, and told."""

import json
import stat
from collections.abc import AsyncIterator
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
from support.pools import Pools
from support.tool_calls import FULL_ACCESS, READ_ONLY, WORKSPACE_WRITE, Bench, make_turn, open_bench


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
        told = await patches.apply(patch("*** Update File: link.txt", "@@", "-x", "+y"))
    assert told["metadata"]["exit_code"] == 1
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
