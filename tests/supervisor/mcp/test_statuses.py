"""What servers offer, found out from many of them at once."""

from pathlib import Path

from pycodex.supervisor.config.mcp_servers import HttpServer, McpServer
from pycodex.supervisor.mcp.statuses import statuses
from support.mcp import alive, noted, pids, server
from support.mcp_http import serve_mcp

ENV = {"PATH": "/usr/bin:/bin", "TOKEN": "t"}


async def test_each_server_is_asked_and_left_again(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    servers = [
        server(name="bad", fault="refuses"),
        server(name="good", notes=notes, enabled_tools=frozenset({"echo"})),
        server(name="off", enabled=False, notes=tmp_path / "unasked"),
        server(name="slow", fault="hangs", startup_timeout_s=0.3),
    ]
    found = {status.name: status for status in await statuses(servers, ENV)}
    assert list(found) == ["bad", "good", "off", "slow"]
    good = found["good"]
    assert [tool.name for tool in good.tools] == ["echo"]
    assert good.resources == ({"uri": "memo://1", "name": "one"},)
    assert good.resource_templates == ({"uriTemplate": "memo://{n}", "name": "memo"},)
    assert [(found[name].tools, found[name].resources) for name in ("bad", "off", "slow")] == [((), ())] * 3
    assert alive(pids(notes)) == []
    assert noted(tmp_path / "unasked") == []


async def test_how_servers_know_us() -> None:
    with serve_mcp(metadata_at="/.well-known/oauth-authorization-server") as asks, serve_mcp() as open_to_all:
        servers = [
            McpServer(name="asks", transport=HttpServer(url=asks.url)),
            McpServer(name="keyed", transport=HttpServer(url=asks.url, bearer_token_env_var="TOKEN")),
            McpServer(name="off", transport=HttpServer(url=asks.url, bearer_token_env_var="TOKEN"), enabled=False),
            McpServer(name="open", transport=HttpServer(url=open_to_all.url)),
            server(name="program"),
        ]
        found = [(status.name, status.auth_status) for status in await statuses(servers, ENV)]
    assert found == [
        ("asks", "notLoggedIn"),
        ("keyed", "bearerToken"),
        ("off", "unsupported"),
        ("open", "unsupported"),
        ("program", "unsupported"),
    ]
