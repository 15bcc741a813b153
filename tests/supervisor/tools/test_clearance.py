"""Rules and lists hold for every tool that runs a command."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pycodex.protocol.permissions import Permissions
from pycodex.supervisor.policy.rules import PrefixRule, Rules
from pycodex.supervisor.tools.clearance import ALLOWED_BY_RULES, NobodyToAsk, NotCleared, cleared
from support.pools import Pools
from support.tool_calls import FULL_ACCESS, WORKSPACE_WRITE, Bench, make_turn, open_bench

RULES = Rules(
    prefix_rules=(PrefixRule(program="touch"), PrefixRule(program="curl", decision="forbidden", justification="no"))
)


@asynccontextmanager
async def opened(
    pools: Pools, workspace: Path, home: Path, permissions: Permissions = WORKSPACE_WRITE, **turn: Any
) -> AsyncIterator[Bench]:
    made = make_turn(cwd=str(workspace), permissions=permissions, **turn)
    async with pools.open() as pool, open_bench(pool, home, made, rules=RULES) as bench:
        yield bench


async def test_what_is_allowed_runs_outside_of_the_sandbox_and_says_why(
    real_pools: Pools, workspace: Path, home: Path
) -> None:
    async with opened(real_pools, workspace, home) as bench:
        confined = await cleared(("touch", "x"), bench.scope, asked="use_default")
        assert confined.unconfined_because == ALLOWED_BY_RULES
        await bench.run("touch ../by-exec")
        await bench.call("shell", command=["touch", "../by-shell"])
        await bench.call("shell_command", command="touch ../by-shell-command", login=False)
        await bench.run("touch ../by-chain && cat /dev/null > ../other")
    made = {name for name in os.listdir(workspace.parent) if name.startswith("by-")}
    assert made == {"by-exec", "by-shell", "by-shell-command"}


async def test_what_is_forbidden_is_not_run_and_told_in_the_manner_of_each_tool(
    real_pools: Pools, workspace: Path, home: Path
) -> None:
    async with opened(real_pools, workspace, home, FULL_ACCESS) as bench:
        assert await bench.run("curl x") == (
            "exec_command failed for `/bin/bash -c 'curl x'`: "
            'CreateProcess { message: "Rejected(\\"`/bin/bash -c \'curl x\'` rejected: no\\")" }'
        )
        assert bench.told("exec_command_begin") == []
        assert await bench.call("shell", command=["curl", "x"]) == "`curl x` rejected: no"
        (ended,) = bench.told("exec_command_end")
        assert (ended["exit_code"], ended["status"]) == (-1, "failed")


@pytest.mark.parametrize(
    ("command", "policy", "kind"),
    [
        ("rm -rf x", "never", NotCleared),
        ("rm -rf x", "on-request", NobodyToAsk),
        ("make", "untrusted", NobodyToAsk),
    ],
)
async def test_what_would_have_to_be_asked_about_is_not_run(
    fake_pools: Pools, workspace: Path, home: Path, command: str, policy: str, kind: type[NotCleared]
) -> None:
    async with opened(fake_pools, workspace, home, approval_policy=policy) as bench:
        with pytest.raises(NotCleared) as caught:
            await cleared(("bash", "-lc", command), bench.scope, asked="use_default")
    assert type(caught.value) is kind


async def test_anything_else_runs_as_the_turn_allows(fake_pools: Pools, workspace: Path, home: Path) -> None:
    async with opened(fake_pools, workspace, home) as bench:
        confined = await cleared(("make",), bench.scope, asked="use_default")
    assert confined.unconfined_because == ""
    assert str(workspace) in {entry.path for entry in confined.entries if entry.access == "write"}
