"""pycodex ends, by its client, by its own will or by force: nothing of its MCP servers is left."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
import trio

from pycodex.supervisor.model.scripted import Reply, call, say, serve_script
from support.app_server_runs import running_app_server
from support.cli import cli_argv
from support.engine import Place
from support.exec_runs import GONE_WITHIN_S
from support.mcp import add_servers, alive, pids, table
from support.waiting import eventually_async


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, None])
async def test_servers_end_with_the_app_server(place: Place, tmp_path: Path, end: signal.Signals | None) -> None:
    """None: its client hangs up. In the middle of a call, and with a server that has started others."""
    notes = tmp_path / "notes"
    async with serve_script([Reply(parts=call("mcp__s__slow", {}, "c0"))]) as model:
        place.point_at(model.base_url)
        add_servers(place, table("s", "leaves children", notes=notes), table("stays", "stays", notes=notes))
        async with running_app_server(place) as server:
            await server.client.hello()
            await server.begin(await server.client.start())
            await server.client.until("item/started", item__type="mcpToolCall")
            started = pids(notes)
            assert (len(started), alive(started)) == (4, started)
            if end is None:
                await server.close_stdin()
            else:
                os.kill(server.pid, end)
            await server.process.wait()
            await eventually_async(lambda: not alive(started), GONE_WITHIN_S, what="all servers gone")


async def test_servers_end_with_exec(place: Place, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    async with serve_script([Reply(parts=call("mcp__s__echo", {"x": "hi"}, "c0")), Reply(parts=say("done"))]) as model:
        place.point_at(model.base_url)
        add_servers(place, table("s", "leaves children", notes=notes))
        done = await trio.run_process(
            cli_argv("exec", "--skip-git-repo-check", "--json", "go"),
            cwd=place.workspace,
            env=place.env,
            stdin=subprocess.DEVNULL,
            capture_stdout=True,
            capture_stderr=True,
        )
    assert b'"text":"got hi"' in done.stdout
    assert len(pids(notes)) == 3
    assert alive(pids(notes)) == []
