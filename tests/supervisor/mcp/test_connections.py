"""The servers of a thread: together, and each by itself."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from pycodex.supervisor.config.mcp_servers import McpServer
from pycodex.supervisor.mcp.connections import McpConnections, StartState
from pycodex.supervisor.mcp.failures import McpFailure
from support.app_server import exactly
from support.mcp import alive, pids, server
from support.waiting import eventually_async

ENV = {"PATH": "/usr/bin:/bin"}


class Told:
    def __init__(self) -> None:
        self.states: list[tuple[str, str]] = []
        self.ends: list[list[tuple[str, str]]] = []

    def one(self, start: StartState) -> None:
        self.states.append((start.server, start.state))

    def all(self, starts: list[StartState]) -> None:
        self.ends.append([(start.server, start.state) for start in starts])


@asynccontextmanager
async def opened(*servers: McpServer) -> AsyncIterator[tuple[McpConnections, Told]]:
    told = Told()
    async with trio.open_nursery() as nursery:
        connections = McpConnections(env=ENV, start_soon=nursery.start_soon, tell=told.one, tell_all=told.all)
        connections.open({server.name: server for server in servers})
        yield connections, told
        nursery.cancel_scope.cancel()


async def test_starts_are_told_one_by_one_and_together() -> None:
    servers = (server(name="bad", fault="dies"), server(name="good"), server(name="off", enabled=False))
    async with opened(*servers) as (connections, told):
        assert told.states == [("bad", "starting"), ("good", "starting")]
        await connections.settled()
        assert sorted(told.states[2:]) == [("bad", "failed"), ("good", "ready")]
        assert told.ends == [[("bad", "failed"), ("good", "ready")]]
        assert [client.server.name for client in connections.clients()] == ["good"]


async def test_tools_are_known_by_one_name_each() -> None:
    few = frozenset({"echo", "dot.name"})
    servers = (server(name="b", enabled_tools=few), server(name="a-1", enabled_tools=few))
    async with opened(*servers) as (connections, _):
        await connections.settled()
        found = {name: (each.client.server.name, each.tool.name) for name, each in connections.tools().items()}
    assert list(found.items()) == [
        ("mcp__a_1__dot_name", ("a-1", "dot.name")),
        ("mcp__a_1__echo", ("a-1", "echo")),
        ("mcp__b__dot_name", ("b", "dot.name")),
        ("mcp__b__echo", ("b", "echo")),
    ]


async def test_only_wanted_tools_of_known_servers_can_be_called() -> None:
    servers = (server(disabled_tools=frozenset({"fail"})), server(name="bad", fault="refuses"))
    async with opened(*servers) as (connections, _):
        # Waits for the start by itself.
        assert (await connections.call_tool("s", "echo", {"x": "1"}))["content"][0]["text"] == "got 1"
        for name, tool, text in (
            ("s", "fail", "tool 'fail' is disabled for MCP server 's'"),
            ("zz", "echo", "unknown MCP server 'zz'"),
            ("bad", "echo", "handshaking with MCP server failed: JSON-RPC error: -32000: nope"),
        ):
            with pytest.raises(McpFailure, match=exactly(text)):
                await connections.call_tool(name, tool, {})


async def test_required_servers_must_start() -> None:
    async with opened(server(required=True), server(name="bad", fault="dies")) as (connections, _):
        await connections.check_required()
    async with opened(server(), server(name="bad", fault="dies", required=True)) as (connections, _):
        closed = "handshaking with MCP server failed: connection closed: initialize response"
        with pytest.raises(McpFailure, match=exactly(f"required MCP servers failed to initialize: bad: {closed}")):
            await connections.check_required()


async def test_others_take_their_place_with_the_next_turn(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    async with opened(server(name="a", notes=old)) as (connections, told):
        await connections.settled()
        connections.replace({"b": server(name="b", notes=new)})
        assert await connections.call_tool("a", "echo", {})
        await connections.settled()
        assert [client.server.name for client in connections.clients()] == ["b"]
        assert (alive(pids(old)), alive(pids(new))) == ([], pids(new))
        assert told.ends == [[("a", "ready")], [("b", "ready")]]


async def test_a_server_that_has_ended_is_started_once_more_with_the_next_turn(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    servers = (server(name="a"), server(name="bad", fault="refuses"), server(notes=notes))
    async with opened(*servers) as (connections, told):
        await connections.settled()
        with pytest.raises(McpFailure):
            await connections.call_tool("s", "die", {})
        await connections.client("s").gone.wait()
        first = pids(notes)
        told.states.clear()
        await connections.settled()
        assert await connections.call_tool("s", "echo", {})
        assert told.states == [("s", "starting"), ("s", "ready")]
        assert (alive(first), len(pids(notes))) == ([], 2)
        assert [client.server.name for client in connections.clients()] == ["a", "s"]


async def test_closing_gives_up_starts_and_ends_everybody(tmp_path: Path) -> None:
    slow, ready = tmp_path / "slow", tmp_path / "ready"
    servers = (server(name="slow", fault="hangs", notes=slow), server(name="ready", notes=ready))
    async with opened(*servers) as (connections, told):
        await connections.ready("ready")
        started = [*await eventually_async(lambda: pids(slow)), *pids(ready)]
        await connections.close()
        assert alive(started) == []
        assert ("slow", "cancelled") in told.states
        await connections.settled()
