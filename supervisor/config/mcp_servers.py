"""The MCP servers that are configured: `[mcp_servers.NAME]` as values.

Owns their defaults, and which of them an administrator has not allowed. Takes tables that were checked against the
schema; knows neither how a server is started nor what it says.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

STARTUP_TIMEOUT_S = 10.0
TOOL_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StdioServer:
    """A program of the user's, spoken to over its standard input and output."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    env_vars: tuple[str, ...] = ()
    """Names of our own environment that it gets besides the usual ones."""
    cwd: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpServer:
    """A server that listens elsewhere. What it is sent to know us by is not shown: it may be a secret."""

    url: str
    bearer_token_env_var: str | None = None
    http_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    env_http_headers: Mapping[str, str] = field(default_factory=dict)
    """Headers whose values are in the environment, by the names of the variables."""
    scopes: tuple[str, ...] = ()
    oauth_resource: str | None = None
    credentials_store: str = "auto"
    """Where the login to it is kept: `auto`, `file` or `keyring`."""

    @property
    def has_token(self) -> bool:
        """Whether the configuration says how it knows us, so that nobody needs to log in."""
        names = {name.lower() for name in (*self.http_headers, *self.env_http_headers)}
        return self.bearer_token_env_var is not None or "authorization" in names


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    name: str
    transport: StdioServer | HttpServer
    enabled: bool = True
    disabled_because: str | None = None
    """Set where somebody else than the user has disabled it."""
    required: bool = False
    """Whether no thread can begin without it."""
    startup_timeout_s: float = STARTUP_TIMEOUT_S
    tool_timeout_s: float = TOOL_TIMEOUT_S
    enabled_tools: frozenset[str] | None = None
    """None: all."""
    disabled_tools: frozenset[str] = frozenset()

    def offers(self, tool: str) -> bool:
        """Whether the user wants this tool of it, by the name that the server gives it."""
        is_wanted = self.enabled_tools is None or tool in self.enabled_tools
        return is_wanted and tool not in self.disabled_tools


def mcp_servers(
    tables: Mapping[str, Mapping[str, Any]],
    *,
    allowed: Mapping[str, Any] | None = None,
    allowed_by: str = "",
    credentials_store: str = "auto",
) -> dict[str, McpServer]:
    """By name, sorted. `allowed` is what an administrator demands, from the file `allowed_by`; None: nothing."""
    servers = (_server(name, tables[name], allowed, allowed_by) for name in sorted(tables))
    return {server.name: _with_store(server, credentials_store) for server in servers}


def _with_store(server: McpServer, kind: str) -> McpServer:
    if not isinstance(server.transport, HttpServer):
        return server
    return replace(server, transport=replace(server.transport, credentials_store=kind))


def _server(name: str, table: Mapping[str, Any], allowed: Mapping[str, Any] | None, allowed_by: str) -> McpServer:
    is_allowed = allowed is None or _is_the_same(table, allowed.get(name))
    enabled_tools = table.get("enabled_tools")
    return McpServer(
        name=name,
        transport=_stdio(table) if "command" in table else _http(table),
        enabled=table.get("enabled", True) and is_allowed,
        disabled_because=None if is_allowed else f"requirements ({allowed_by})",
        required=table.get("required", False),
        startup_timeout_s=_startup_timeout_s(table),
        tool_timeout_s=float(table.get("tool_timeout_sec", TOOL_TIMEOUT_S)),
        enabled_tools=None if enabled_tools is None else frozenset(enabled_tools),
        disabled_tools=frozenset(table.get("disabled_tools", ())),
    )


def _is_the_same(table: Mapping[str, Any], demanded: object) -> bool:
    """Whether it is the server that the administrator means: the same program, or the same place."""
    identity = demanded.get("identity") if isinstance(demanded, Mapping) else None
    if not isinstance(identity, Mapping):
        return False
    key = "command" if "command" in table else "url"
    return key in identity and identity[key] == table[key]


def _startup_timeout_s(table: Mapping[str, Any]) -> float:
    if "startup_timeout_sec" in table:
        return float(table["startup_timeout_sec"])
    return table["startup_timeout_ms"] / 1000 if "startup_timeout_ms" in table else STARTUP_TIMEOUT_S


def _stdio(table: Mapping[str, Any]) -> StdioServer:
    return StdioServer(
        command=table["command"],
        args=tuple(table.get("args", ())),
        env=dict(table.get("env", {})),
        env_vars=tuple(table.get("env_vars", ())),
        cwd=table.get("cwd"),
    )


def _http(table: Mapping[str, Any]) -> HttpServer:
    return HttpServer(
        url=table["url"],
        bearer_token_env_var=table.get("bearer_token_env_var"),
        http_headers=dict(table.get("http_headers", {})),
        env_http_headers=dict(table.get("env_http_headers", {})),
        scopes=tuple(table.get("scopes", ())),
        oauth_resource=table.get("oauth_resource"),
    )
