"""Stand-ins for missing protected names never outlive the pool that needed them, nor for long a killed one."""

import os
import signal
from pathlib import Path

from pycodex.protocol.frames import RunCommand
from support.orders import run, writing
from support.pools import Pools, workers_of
from support.waiting import eventually

NAMES = (".git", ".codex", ".agents")


def made_workspace(base: Path) -> Path:
    workspace = base / "ws"
    workspace.mkdir()
    return workspace


def order_in(workspace: Path, *argv: str, ledger: str = "") -> RunCommand:
    missing = tuple(f"{workspace}/{name}" for name in NAMES)
    return run(*argv, cwd=str(workspace), confinement=writing(workspace, placeholders=missing, ledger=ledger))


async def test_pool_that_ends_right_after_a_call_leaves_none(real_pools: Pools, tmp_path: Path) -> None:
    workspace = made_workspace(tmp_path)
    for _ in range(5):
        async with real_pools.open() as pool:
            assert (await pool.run(order_in(workspace, "true"))).code == 0
        assert os.listdir(workspace) == []


async def test_those_of_a_killed_worker_go_with_the_next_call_of_another(real_pools: Pools, tmp_path: Path) -> None:
    workspace, ledger = made_workspace(tmp_path), str(tmp_path / "ledger")
    other = tmp_path / "other"
    other.mkdir()
    async with real_pools.open() as pool:
        async with pool.running(order_in(workspace, "sleep", "1000", ledger=ledger)) as job:
            await anext(job)
            assert sorted(os.listdir(workspace)) == sorted(NAMES)
            for pid in workers_of(pool):
                os.kill(pid, signal.SIGKILL)
        await pool.run(order_in(other, "true", ledger=ledger))
        eventually(lambda: os.listdir(workspace) == [], what="an empty workspace")
