"""`mcpServerStatus/list` and its like as a client sees them."""

import pytest

from pycodex.protocol.app import mcp_servers
from support.app_server import Client, Refused, Scratch
from support.engine import Place

SERVERS = """
[mcp_servers.web]
url = "http://127.0.0.1:1"
[mcp_servers.keyed]
url = "http://127.0.0.1:1"
bearer_token_env_var = "T"
[mcp_servers.local]
command = "x"
"""


@pytest.fixture
async def client(scratch: Scratch, place: Place) -> Client:
    path = place.home / "config.toml"
    path.write_text(path.read_text() + SERVERS)
    return await scratch.connect().hello()


async def test_what_is_configured_is_listed_by_name(client: Client) -> None:
    answer = await client.call("mcpServerStatus/list")
    mcp_servers.ListMcpServerStatusResponse.model_validate(answer)
    told = [(server["name"], server["authStatus"], server["tools"]) for server in answer["data"]]
    assert told == [("keyed", "bearerToken", {}), ("local", "unsupported", {}), ("web", "unsupported", {})]
    assert (await client.call("mcpServerStatus/list", limit=1))["nextCursor"] == "1"


async def test_reloading_tells_mistakes(client: Client, place: Place) -> None:
    assert await client.call("config/mcpServer/reload") == {}
    (place.home / "config.toml").write_text("[mcp_servers.x]\n")
    with pytest.raises(Refused, match="failed to reload config: ") as raised:
        await client.call("config/mcpServer/reload")
    assert raised.value.code == -32603


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none", "No MCP server named 'none' found."),
        ("local", "OAuth login is only supported for streamable HTTP servers."),
        ("web", "failed to login to MCP server 'web': logging in to MCP servers is not supported"),
    ],
)
async def test_nobody_is_logged_in(client: Client, name: str, message: str) -> None:
    with pytest.raises(Refused) as raised:
        await client.call("mcpServer/oauth/login", name=name)
    assert raised.value.message == message
