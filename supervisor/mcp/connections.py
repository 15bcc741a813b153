"""The MCP servers of one thread: started together, kept, and ended with it.

Owns which of them are ready, what is told of their start, and what they offer together. One that fails takes nobody
with it. Knows no turn and no front-end: whoever opens it says how starts are told and questions answered.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import trio

from pycodex.supervisor.config.mcp_servers import McpServer
from pycodex.supervisor.mcp.client import Elicit, McpClient, McpTool, connected
from pycodex.supervisor.mcp.failures import McpFailure, NotLoggedIn, TimedOut
from pycodex.supervisor.mcp.logins import McpLogins
from pycodex.supervisor.mcp.names import by_qualified_name

STARTING = "starting"
READY = "ready"
FAILED = "failed"
CANCELLED = "cancelled"

logger = logging.getLogger("pycodex.mcp")


@dataclass(frozen=True, slots=True, kw_only=True)
class StartState:
    """How far the start of a server has come; `error` is for people, `cause` is the bare reason."""

    server: str
    state: str
    error: str | None = None
    cause: str | None = None


@dataclass(frozen=True, slots=True)
class OfferedTool:
    client: McpClient
    tool: McpTool


class _Kept:
    """One server, from its start on."""

    def __init__(self, server: McpServer) -> None:
        self.server = server
        self.state = StartState(server=server.name, state=STARTING)
        self.client: McpClient | None = None
        self.scope = trio.CancelScope()
        self.settled = trio.Event()
        self.over = trio.Event()


class McpConnections:
    """`tell` hears of each start, `tell_all` once that all have settled; `start_soon` is that of a nursery."""

    def __init__(
        self,
        *,
        env: Mapping[str, str],
        start_soon: Callable[..., None],
        tell: Callable[[StartState], None],
        tell_all: Callable[[list[StartState]], None],
        elicit: Elicit | None = None,
        logins: McpLogins | None = None,
    ) -> None:
        self._env = env
        self._start_soon = start_soon
        self._tell = tell
        self._tell_all = tell_all
        self._elicit = elicit
        self._logins = logins
        self._kept: dict[str, _Kept] = {}
        self._all_settled = trio.Event()
        self._successors: Mapping[str, McpServer] | None = None

    @property
    def has_servers(self) -> bool:
        """Whether any is meant to run."""
        return bool(self._kept)

    def open(self, servers: Mapping[str, McpServer]) -> None:
        """Start all that are enabled, each by itself."""
        self._kept = {name: _Kept(server) for name, server in servers.items() if server.enabled}
        self._start(list(self._kept.values()))

    def _start(self, starting: list[_Kept]) -> None:
        self._all_settled = trio.Event()
        for kept in starting:
            self._tell(kept.state)
            self._start_soon(self._keep, kept)
        self._start_soon(self._watch_starts, list(self._kept.values()), self._all_settled)

    async def settled(self) -> None:
        """Until every server is ready or has failed: for a turn that begins.

        Those that were asked for meanwhile take the place of the others; one that was ready and has ended since is
        started once more.
        """
        if self._successors is not None:
            servers, self._successors = self._successors, None
            await self.close()
            self.open(servers)
        ended = [kept for kept in self._kept.values() if kept.client is not None and kept.client.gone.is_set()]
        if ended:
            for kept in ended:
                await kept.over.wait()
            again = {kept.server.name: _Kept(kept.server) for kept in ended}
            self._kept |= again
            self._start(list(again.values()))
        await self._all_settled.wait()

    def replace(self, servers: Mapping[str, McpServer]) -> None:
        """Others from the next turn on: calls that are under way are not disturbed."""
        self._successors = servers

    async def check_required(self) -> None:
        """Raises McpFailure if a server has not started that must."""
        required = [kept for kept in self._kept.values() if kept.server.required]
        for kept in required:
            await kept.settled.wait()
        failed = [f"{kept.server.name}: {kept.state.cause}" for kept in required if kept.state.state != READY]
        if failed:
            raise McpFailure(f"required MCP servers failed to initialize: {'; '.join(failed)}")

    async def close(self) -> None:
        """End them all, and see them end."""
        for kept in self._kept.values():
            kept.scope.cancel()
        for kept in self._kept.values():
            await kept.over.wait()

    def clients(self) -> list[McpClient]:
        """Those that are ready, by their names."""
        return [kept.client for kept in self._kept.values() if kept.client is not None]

    def client(self, name: str) -> McpClient:
        """Raises McpFailure."""
        kept = self._kept.get(name)
        if kept is None:
            raise McpFailure(f"unknown MCP server '{name}'")
        if kept.client is None:
            raise McpFailure(kept.state.cause or f"MCP server '{name}' is not ready")
        return kept.client

    def tools(self) -> dict[str, OfferedTool]:
        """What they offer together, by the names that the model is told, sorted."""
        offered = {
            (client.server.name, tool.name): OfferedTool(client, tool)
            for client in self.clients()
            for tool in client.tools
        }
        return {name: offered[key] for name, key in by_qualified_name(offered).items()}

    async def ready(self, name: str) -> McpClient:
        """The same, but one that is still starting is waited for."""
        if name in self._kept:
            await self._kept[name].settled.wait()
        return self.client(name)

    async def call_tool(self, server: str, tool: str, arguments: Any, *, meta: Any = None) -> dict[str, Any]:
        """Raises McpFailure, also for a tool that the user does not want."""
        client = await self.ready(server)
        if not client.server.offers(tool):
            raise McpFailure(f"tool '{tool}' is disabled for MCP server '{server}'")
        return await client.call_tool(tool, arguments, meta=meta)

    async def _keep(self, kept: _Kept) -> None:
        """One server until it is gone or not wanted any more."""
        try:
            with kept.scope:
                await self._live(kept)
        finally:
            if not kept.settled.is_set():
                self._settle(kept, StartState(server=kept.server.name, state=CANCELLED, cause="cancelled"))
            kept.over.set()

    async def _live(self, kept: _Kept) -> None:
        name = kept.server.name
        try:
            async with connected(kept.server, env=self._env, elicit=self._elicit, logins=self._logins) as client:
                kept.client = client
                self._settle(kept, StartState(server=name, state=READY))
                await client.gone.wait()
                logger.warning("MCP server %s has ended", name)
        except McpFailure as failure:
            logger.warning("MCP server %s: %s", name, failure)
            cause = str(failure)
            self._settle(kept, StartState(server=name, state=FAILED, error=_told(kept.server, failure), cause=cause))
        except Exception as error:
            logger.exception("MCP server %s failed", name)
            cause = f"unexpected {type(error).__name__}"
            self._settle(kept, StartState(server=name, state=FAILED, error=cause, cause=cause))

    def _settle(self, kept: _Kept, state: StartState) -> None:
        if not kept.settled.is_set():
            kept.state = state
            kept.settled.set()
            self._tell(state)

    async def _watch_starts(self, all_kept: list[_Kept], all_settled: trio.Event) -> None:
        for kept in all_kept:
            await kept.settled.wait()
        self._tell_all([kept.state for kept in all_kept])
        all_settled.set()


def _told(server: McpServer, failure: McpFailure) -> str:
    """A failed start in words that say what can be done."""
    name = server.name
    if isinstance(failure, NotLoggedIn):
        return str(failure)
    if isinstance(failure, TimedOut):
        return (
            f"MCP client for `{name}` timed out after {server.startup_timeout_s:g} seconds. Add or adjust "
            f"`startup_timeout_sec` in your config.toml:\n[mcp_servers.{name}]\nstartup_timeout_sec = XX"
        )
    return f"MCP client for `{name}` failed to start: MCP startup failed: {failure}"
