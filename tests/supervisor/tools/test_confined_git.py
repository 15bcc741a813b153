"""Git is asked for the commit that two branches have in common, and can do nothing else."""

import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pycodex.supervisor.tools.confined_git import merge_base
from support.interpreter import MINIMAL_ENV
from support.pools import Pools
from support.tool_calls import FULL_ACCESS, Bench, make_turn, open_bench


def git(workspace: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main")
    argv = ("git", "-C", str(workspace), *identity, *arguments)
    return subprocess.run(argv, check=True, env=MINIMAL_ENV, capture_output=True, text=True).stdout.strip()


def commit(workspace: Path, text: str) -> str:
    git(workspace, "commit", "-q", "--allow-empty", "-m", text)
    return git(workspace, "rev-parse", "HEAD")


@pytest.fixture
def base(workspace: Path) -> str:
    """The commit that `main` and `feature` have in common; `feature` is checked out."""
    git(workspace, "init", "-q")
    commit(workspace, "first")
    sha = commit(workspace, "base")
    git(workspace, "checkout", "-q", "-b", "feature")
    commit(workspace, "mine")
    git(workspace, "checkout", "-q", "main")
    commit(workspace, "theirs")
    git(workspace, "checkout", "-q", "feature")
    return sha


@pytest.fixture
async def bench(real_pools: Pools, home: Path, workspace: Path) -> AsyncIterator[Bench]:
    turn = make_turn(str(workspace), permissions=FULL_ACCESS)
    async with real_pools.open() as pool, open_bench(pool, home, turn) as opened:
        yield opened


async def found(bench: Bench, branch: str) -> str | None:
    return await merge_base(bench.turn, bench.services, branch)


async def test_commit_in_common_is_found(bench: Bench, base: str) -> None:
    assert await found(bench, "main") == base


async def test_upstream_counts_if_it_is_ahead(bench: Bench, base: str, workspace: Path) -> None:
    git(workspace, "branch", "upstream", "feature~0")
    git(workspace, "branch", "--set-upstream-to=upstream", "main")
    assert await found(bench, "main") == git(workspace, "rev-parse", "feature")
    git(workspace, "branch", "-f", "upstream", "main~1")
    assert await found(bench, "main") == base


@pytest.mark.parametrize("branch", ["nope", "--all", "--output=x", "a b", "HEAD:file", "x\0y", ""])
@pytest.mark.usefixtures("base")
async def test_what_names_no_commit_has_none(bench: Bench, branch: str, workspace: Path) -> None:
    assert await found(bench, branch) is None
    assert os.listdir(workspace) == [".git"]


async def test_outside_of_a_repository_there_is_none(bench: Bench) -> None:
    assert await found(bench, "main") is None


async def test_programs_of_the_repository_change_nothing(bench: Bench, base: str, workspace: Path) -> None:
    """Git is confined although the turn is not: what the repository makes it start may only look."""
    escaped = workspace / "escaped"
    hook = workspace.parent / "hook"
    hook.write_text(f"#!/bin/sh\ntouch {escaped}\ntouch {workspace.parent}/escaped\n")
    hook.chmod(0o755)
    for key in ("core.fsmonitor", "core.sshCommand", "core.pager", "credential.helper"):
        git(workspace, "config", key, str(hook))
    assert await found(bench, "main") == base
    assert not escaped.exists()
    assert not (workspace.parent / "escaped").exists()
