"""Programs as servers: their environment, their lines, and that nothing of them is left."""

import json
import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from pycodex.supervisor.config.mcp_servers import McpServer, StdioServer
from pycodex.supervisor.mcp.client import connected
from pycodex.supervisor.mcp.failures import McpFailure
from pycodex.supervisor.mcp.stdio import Lines, server_environment
from support.app_server import exactly
from support.mcp import alive, pids, server
from support.waiting import eventually_async

ENV = {"PATH": "/usr/bin:/bin"}


def test_the_environment_is_little_of_ours_and_what_is_named() -> None:
    ours = {"HOME": "/h", "PATH": "/p", "TZ": "UTC", "OPENAI_API_KEY": "k", "NAMED": "2", "OTHER": "3"}
    given = StdioServer(command="x", env={"GIVEN": "1", "TZ": "CET"}, env_vars=("NAMED", "ABSENT"))
    assert server_environment(given, ours) == {
        "HOME": "/h",
        "PATH": "/p",
        "TZ": "CET",
        "NAMED": "2",
        "GIVEN": "1",
    }


async def test_the_server_gets_exactly_that_environment(tmp_path: Path) -> None:
    env = {**ENV, "HOME": "/h", "OPENAI_API_KEY": "k"}
    async with connected(server(notes=tmp_path / "notes"), env=env) as client:
        seen = json.loads((await client.call_tool("env", {}))["content"][0]["text"])
    # What its own interpreter adds.
    seen.pop("LC_CTYPE", None)
    assert seen == {**ENV, "HOME": "/h", "NOTES": str(tmp_path / "notes")}


@pytest.mark.parametrize(
    ("blocks", "lines"),
    [
        ([b"a\nbc\n"], [b"a", b"bc"]),
        ([b"a", b"b", b"\nc", b"\n"], [b"ab", b"c"]),
        ([b"12345678", b"9", b"0\nok\n"], [b"ok"]),
        ([b"123456789\nok\n"], [b"ok"]),
        ([b"12345678\n\n"], [b"12345678", b""]),
    ],
)
def test_lines_are_cut_and_long_ones_left_out(blocks: list[bytes], lines: list[bytes]) -> None:
    cutter = Lines(8)
    assert [line for block in blocks for line in cutter.feed(block)] == lines


async def test_a_program_is_found_on_the_path_it_is_given_and_runs_where_it_is_told(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "mine"
    program.parent.mkdir()
    (tmp_path / "where").mkdir()
    program.write_text(f"#!/bin/sh\npwd > {tmp_path}/pwd\n")
    program.chmod(0o755)
    transport = StdioServer(command="mine", env={"PATH": f"{program.parent}:/bin"}, cwd=str(tmp_path / "where"))
    with pytest.raises(McpFailure, match="connection closed: initialize response"):
        async with connected(McpServer(name="s", transport=transport), env=ENV):
            pass
    assert (tmp_path / "pwd").read_text() == f"{tmp_path}/where\n"


@pytest.mark.parametrize(
    ("transport", "text"),
    [
        (StdioServer(command="no-such-program-here"), "No such file or directory (os error 2)"),
        (StdioServer(command="/"), "Permission denied (os error 13)"),
        (StdioServer(command="true", cwd="/no/such/place"), "No such file or directory (os error 2)"),
        (StdioServer(command="true", args=("a\0b",)), "embedded null byte"),
    ],
)
async def test_a_program_that_cannot_be_started_says_why(transport: StdioServer, text: str) -> None:
    with pytest.raises(McpFailure, match=exactly(text)):
        async with connected(McpServer(name="s", transport=transport), env=ENV):
            pass


@pytest.mark.parametrize("fault", ["", "stays", "leaves children"])
async def test_nothing_is_left_of_a_server(fault: str, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    async with connected(server(fault, notes=notes), env=ENV):
        started = pids(notes)
        assert alive(started) == started
    assert alive(started) == []


async def test_nothing_is_left_of_a_server_that_ends_by_itself(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    async with connected(server("leaves children", notes=notes), env=ENV) as client:
        started = pids(notes)
        with pytest.raises(McpFailure):
            await client.call_tool("die", {})
        await client.gone.wait()
        await eventually_async(lambda: not alive(started))


async def test_nothing_is_left_of_a_start_that_was_given_up(tmp_path: Path) -> None:
    notes = tmp_path / "notes"

    async def connect() -> None:
        async with connected(server("hangs", notes=notes), env=ENV):
            pass

    async with trio.open_nursery() as nursery:
        nursery.start_soon(connect)
        started = await eventually_async(lambda: pids(notes))
        nursery.cancel_scope.cancel()
    assert alive(started) == []


async def test_the_server_ends_when_its_keeper_is_killed(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    async with connected(server("stays", notes=notes), env=ENV) as client:
        started = pids(notes)
        os.kill(_parent(started[0]), 9)
        await client.gone.wait()
    await eventually_async(lambda: not alive(started))


async def test_nothing_is_left_when_we_are_killed(tmp_path: Path, started_process: Callable[[str], int]) -> None:
    notes = tmp_path / "notes"
    code = (
        "import sys,trio\n"
        f"sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        "from pathlib import Path\n"
        "from support.mcp import server\n"
        "from pycodex.supervisor.mcp.client import connected\n"
        "async def main():\n"
        f"  async with connected(server('leaves children', notes=Path({str(notes)!r})), env={ENV!r}):\n"
        "    await trio.sleep_forever()\n"
        "trio.run(main)\n"
    )
    pid = started_process(code)
    started = await eventually_async(lambda: pids(notes))
    await eventually_async(lambda: "tools/list" in notes.read_text())
    os.kill(pid, 9)
    await eventually_async(lambda: not alive(started))


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


async def test_lines_that_are_no_messages_keep_nobody_waiting(caplog: pytest.LogCaptureFixture) -> None:
    """Between two of them everybody else has a turn."""
    caplog.set_level(logging.DEBUG, "pycodex.mcp")
    most = 0

    async def watch() -> None:
        nonlocal most
        while True:
            before = len(caplog.records)
            await trio.lowlevel.checkpoint()
            most = max(most, len(caplog.records) - before)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch)
        async with connected(server("floods with nothing"), env=ENV):
            nursery.cancel_scope.cancel()
    assert len(caplog.records) >= 20_000
    assert most < 10
