"""Commands that are patches are applied; whatever else they do, they are run."""

import json
import os
from pathlib import Path

import pytest

from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.items import FUNCTION_CALL
from pycodex.supervisor.tools.interception import intercepted
from pycodex.supervisor.tools.tool import ToolAnswer, ToolCall
from support.pools import Pools
from support.tool_calls import WORKSPACE_WRITE, Bench, make_turn, open_bench

PATCH = "*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch\n"
HEREDOC = f"apply_patch <<'EOF'\n{PATCH}EOF\n"
IN_SUB = f"cd sub && applypatch <<X\n{PATCH}X\n"
WITHOUT_CALL = (
    "apply_patch verification failed: patch detected without explicit call to apply_patch. "
    'Rerun as ["apply_patch", "<patch>"]'
)


async def intercept(bench: Bench, *argv: str, cwd: str = "") -> ToolAnswer | None:
    call = ToolCall(FUNCTION_CALL, "c", "shell", "")
    return await intercepted(argv, cwd=cwd or bench.turn.cwd, call=call, scope=bench.scope)


@pytest.mark.parametrize(
    ("argv", "made"),
    [
        (("apply_patch", PATCH), "a.txt"),
        (("applypatch", PATCH), "a.txt"),
        (("bash", "-lc", HEREDOC), "a.txt"),
        (("/usr/bin/zsh", "-c", HEREDOC), "a.txt"),
        (("sh", "-c", IN_SUB), "sub/a.txt"),
        (("pwsh", "-Command", HEREDOC), "a.txt"),
        (("powershell.exe", "-NoProfile", "-Command", HEREDOC), "a.txt"),
        (("cmd.exe", "/c", HEREDOC), "a.txt"),
    ],
    ids=["argv", "other name", "bash", "zsh", "cd", "pwsh", "powershell", "cmd"],
)
async def test_patch_is_applied(
    real_pools: Pools, workspace: Path, home: Path, argv: tuple[str, ...], made: str
) -> None:
    (workspace / "sub").mkdir()
    turn = make_turn(cwd=str(workspace), permissions=WORKSPACE_WRITE)
    async with real_pools.open() as pool, open_bench(pool, home, turn) as bench:
        answer = await intercept(bench, *argv)
    assert answer is not None
    assert isinstance(answer.output, str)
    assert json.loads(answer.output)["output"] == "Success. Updated the following files:\nA a.txt\n"
    assert (workspace / made).read_text() == "x\n"
    assert len(bench.warnings) == 1


@pytest.mark.parametrize(
    "argv",
    [
        ("ls",),
        ("apply_patch",),
        ("apply_patch", PATCH, "more"),
        ("bash", "-x", HEREDOC),
        ("bash", "-l", "-c", HEREDOC),
        ("bash", "-lc", f"{HEREDOC}ls\n"),
        ("bash", "-lc", "echo apply_patch"),
        ("fish", "-c", HEREDOC),
        ("python3", "-c", HEREDOC),
        (HEREDOC,),
    ],
)
async def test_anything_else_is_left_alone(
    fake_pools: Pools, workspace: Path, home: Path, argv: tuple[str, ...]
) -> None:
    turn = make_turn(cwd=str(workspace), permissions=WORKSPACE_WRITE)
    async with fake_pools.open() as pool, open_bench(pool, home, turn) as bench:
        assert await intercept(bench, *argv) is None
    assert os.listdir(workspace) == []


@pytest.mark.parametrize("argv", [(PATCH,), ("bash", "-lc", PATCH), ("sh", "-c", f"\n{PATCH}")])
async def test_patch_without_its_command_is_pointed_out(
    fake_pools: Pools, workspace: Path, home: Path, argv: tuple[str, ...]
) -> None:
    turn = make_turn(cwd=str(workspace), permissions=WORKSPACE_WRITE)
    async with fake_pools.open() as pool, open_bench(pool, home, turn) as bench:
        with pytest.raises(ModelFacing) as caught:
            await intercept(bench, *argv)
    assert str(caught.value) == WITHOUT_CALL


async def test_exec_command_answers_with_the_patch_in_its_own_frame(
    real_pools: Pools, workspace: Path, home: Path
) -> None:
    turn = make_turn(cwd=str(workspace), permissions=WORKSPACE_WRITE)
    async with real_pools.open() as pool, open_bench(pool, home, turn) as bench:
        answer = await bench.run(HEREDOC)
        assert bench.told("exec_command_begin") == []
    frame, told = answer.split("Output:\n")
    assert frame == "Wall time: 0.0000 seconds\n"
    assert json.loads(told)["metadata"]["exit_code"] == 0
    assert (workspace / "a.txt").read_text() == "x\n"
