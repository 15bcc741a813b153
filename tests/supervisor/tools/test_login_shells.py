"""The profile is read once, and every later command finds what it set up."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio

from pycodex.protocol.permissions import FsRule, Permissions
from pycodex.protocol.turn_context import Shell
from pycodex.supervisor.tools.login_shells import LoginShells
from support.pools import Pools
from support.tool_calls import WORKSPACE_WRITE, Bench, OpenPool, make_turn, open_bench

PROFILE = """\
echo noise
echo read >> "$HOME/../ws/readings"
export FROM_PROFILE='a b' TERM=xterm PAGER=less SET_BY_POLICY=profile PATH="/opt/profile:$PATH"
greet() { echo "hello $1"; }
shopt -s expand_aliases extglob
alias hi='echo hi there'
"""
FEATURES = frozenset({"shell_tool", "unified_exec", "shell_snapshot"})


class Session:
    """Commands that want a login, in one session."""

    def __init__(self, bench: Bench, asked: list[trio.Event]) -> None:
        self.bench = bench
        self._asked = asked

    async def run(self, cmd: str, **arguments: object) -> str:
        answer = await self.bench.call("exec_command", cmd=cmd, **arguments)
        return answer.partition("\nOutput:\n")[2]

    async def learn(self) -> None:
        """Until all that was asked is answered."""
        for event in self._asked:
            await event.wait()


@asynccontextmanager
async def opened(
    pools: Pools, workspace: Path, home: Path, *, fixed: dict[str, str] | None = None, **turn: Any
) -> AsyncIterator[Session]:
    asked: list[trio.Event] = []
    async with trio.open_nursery() as nursery, pools.open() as pool:

        def spawn(task: Any) -> None:
            done = trio.Event()
            asked.append(done)
            nursery.start_soon(_told, task, done)

        logins = LoginShells(OpenPool(pool), spawn, fixed=fixed or {}, programs_dir="/our/programs")
        made = make_turn(cwd=str(workspace), **{"permissions": WORKSPACE_WRITE, "features": FEATURES, **turn})
        async with open_bench(pool, home, made, logins=logins) as bench:
            yield Session(bench, asked)


async def _told(task: Any, done: trio.Event) -> None:
    await task()
    done.set()


@pytest.fixture
def profile(home: Path) -> Path:
    path = home / ".bash_profile"
    path.write_text(PROFILE)
    return path


async def test_profile_is_read_for_the_first_command_and_once_more(
    real_pools: Pools, workspace: Path, home: Path, profile: Path
) -> None:
    async with opened(real_pools, workspace, home) as session:
        assert await session.run("echo $FROM_PROFILE") == "noise\na b\n"
        await session.learn()
        for _ in range(3):
            assert await session.run("echo $FROM_PROFILE") == "a b\n"
    assert (workspace / "readings").read_text() == "read\n" * 2


async def test_functions_aliases_and_options_are_there(
    real_pools: Pools, workspace: Path, home: Path, profile: Path
) -> None:
    async with opened(real_pools, workspace, home) as session:
        await session.run("true")
        await session.learn()
        assert await session.run("greet you; hi; shopt -q extglob && echo extglob") == (
            "hello you\nhi there\nextglob\n"
        )
        assert await session.run("cat <<E\n$(greet you)\nE\nexit 3") == "hello you\n"


async def test_what_others_have_set_wins_over_the_profile(
    real_pools: Pools, workspace: Path, home: Path, profile: Path
) -> None:
    async with opened(real_pools, workspace, home, fixed={"SET_BY_POLICY": "policy"}) as session:
        await session.run("true")
        await session.learn()
        assert await session.run("echo $TERM $PAGER $SET_BY_POLICY") == "dumb cat policy\n"
        assert (await session.run("echo $PATH")).startswith("/our/programs:/opt/profile:")


async def test_events_and_answers_tell_the_command_as_it_was_asked_for(
    real_pools: Pools, workspace: Path, home: Path, profile: Path
) -> None:
    async with opened(real_pools, workspace, home) as session:
        await session.run("true")
        await session.learn()
        answer = await session.bench.call("exec_command", cmd="echo x")
        assert answer.startswith("Command: /bin/bash -lc 'echo x'\n")
        assert session.bench.told("exec_command_begin")[-1]["command"] == ["/bin/bash", "-lc", "echo x"]


@pytest.mark.parametrize(
    ("turn", "arguments"),
    [
        ({"features": FEATURES - {"shell_snapshot"}}, {}),
        ({"shell": Shell(name="sh", path="/bin/sh")}, {}),
        ({}, {"workdir": "sub"}),
        ({}, {"login": False}),
    ],
    ids=["switched off", "other shell", "other directory", "no login"],
)
async def test_nothing_is_asked_where_it_would_not_hold(
    real_pools: Pools, workspace: Path, home: Path, turn: dict[str, Any], arguments: dict[str, object]
) -> None:
    (workspace / "sub").mkdir()
    (home / ".bash_profile").write_text("echo noise\n")
    async with opened(real_pools, workspace, home, **turn) as session:
        first = await session.run("echo x", **arguments)
        assert await session.run("echo x", **arguments) == first
        assert session._asked == []


@pytest.mark.parametrize(
    "profile_text",
    [
        "exit 0\n",
        "exec >/dev/null\n",
        "f() { : " + "x" * 100_000 + "; }\n",
        "printf() { :; }\n",
        "env() { :; }; exit 5\n",
    ],
    ids=["exits", "silent", "too large", "broken printf", "broken"],
)
async def test_profile_that_cannot_be_kept_is_read_each_time(
    real_pools: Pools, workspace: Path, home: Path, profile_text: str
) -> None:
    (home / ".bash_profile").write_text(f'echo read >> "{workspace}/readings"\n{profile_text}')
    async with opened(real_pools, workspace, home) as session:
        await session.run("true")
        await session.learn()
        before = (workspace / "readings").read_text()
        await session.run("true")
    assert (workspace / "readings").read_text() == before + "read\n"


async def test_what_a_profile_could_read_is_not_for_commands_that_could_not(
    real_pools: Pools, workspace: Path, home: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("key")
    (home / ".bash_profile").write_text(f"export KEY=$(cat {secret} 2>&-)\n")
    denied = FsRule(path=str(secret), access="none"), FsRule(special="root", access="read")
    async with opened(real_pools, workspace, home, permissions=Permissions(mode="read-only")) as session:
        await session.run("true")
        await session.learn()
        assert await session.run("echo $KEY") == "key\n"
        for permissions in (Permissions(mode="read-only", rules=denied), _restricted(home, workspace)):
            session.bench.turn = replace(session.bench.turn, permissions=permissions)
            for _ in range(2):
                assert await session.run("echo $KEY") == "\n"
                await session.learn()


def _restricted(*readable: Path) -> Permissions:
    return Permissions(
        mode="read-only", restricted_read=True, platform_defaults=True, readable_roots=tuple(map(str, readable))
    )
