"""`mcpServerStatus/list` and its like as a client sees them."""

from pathlib import Path

import pytest

from pycodex.protocol.app import mcp_servers
from pycodex.supervisor.frontends.app_server.methods.mcp_servers import METHODS
from pycodex.supervisor.model.scripted import Reply, say
from support.app_server import Client, Refused, Scratch, exactly, open_app_server
from support.engine import Place
from support.mcp import add_servers, alive, pids, table

NOWHERE = '[mcp_servers.web]\nurl = "http://127.0.0.1:1"\n'
KEYED = '[mcp_servers.keyed]\nurl = "http://127.0.0.1:1"\nbearer_token_env_var = "T"\n'


@pytest.fixture
async def client(scratch: Scratch, place: Place) -> Client:
    few = table("local", more='enabled_tools = ["echo", "dot.name"]')
    add_servers(place, NOWHERE, KEYED, few, table("off", more="enabled = false"))
    return await scratch.connect().hello()


async def test_what_is_configured_is_asked_and_listed_by_name(client: Client) -> None:
    answer = await client.call("mcpServerStatus/list")
    mcp_servers.ListMcpServerStatusResponse.model_validate(answer)
    told = [(server["name"], server["authStatus"], sorted(server["tools"])) for server in answer["data"]]
    assert told == [
        ("keyed", "bearerToken", []),
        ("local", "unsupported", ["dot_name", "echo"]),
        ("off", "unsupported", []),
        ("web", "unsupported", []),
    ]
    local = answer["data"][1]
    assert local["tools"]["dot_name"]["name"] == "dot.name"
    assert local["resources"] == [{"uri": "memo://1", "name": "one"}]
    assert local["resourceTemplates"] == [{"uriTemplate": "memo://{n}", "name": "memo"}]


async def test_only_the_servers_of_the_page_are_asked(client: Client, place: Place, tmp_path: Path) -> None:
    add_servers(place, table("zz", notes=tmp_path / "notes"))
    first = await client.call("mcpServerStatus/list", limit=2)
    assert ([each["name"] for each in first["data"]], first["nextCursor"]) == (["keyed", "local"], "2")
    assert pids(tmp_path / "notes") == []
    last = await client.call("mcpServerStatus/list", cursor="4")
    assert ([each["name"] for each in last["data"]], last["nextCursor"]) == (["zz"], None)
    assert alive(pids(tmp_path / "notes")) == []


async def test_without_servers_the_list_is_empty(scratch: Scratch) -> None:
    client = await scratch.connect().hello()
    assert await client.call("mcpServerStatus/list") == {"data": [], "nextCursor": None}


async def test_reloading_tells_mistakes(client: Client, place: Place) -> None:
    assert await client.call("config/mcpServer/reload") == {}
    (place.home / "config.toml").write_text("[mcp_servers.x]\n")
    with pytest.raises(Refused, match="failed to reload config: ") as raised:
        await client.call("config/mcpServer/reload")
    assert raised.value.code == -32603


async def test_threads_connect_anew_after_a_reload(place: Place, tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    async with open_app_server(place, lambda _: Reply(parts=say("done"))) as scratch:
        client = await scratch.connect().hello()
        without = await client.start()
        plain = (place.home / "config.toml").read_text()
        add_servers(place, table("a", notes=old))
        thread_id = await client.start()
        await client.turn(thread_id, "go")
        (place.home / "config.toml").write_text(plain + table("b", notes=new))
        await client.call("config/mcpServer/reload")
        assert alive(pids(old)) == pids(old)
        for each in (thread_id, without):
            await client.turn(each, "go on")
            names = [tool.get("name", "") for tool in scratch.model.requests[-1].body["tools"]]
            assert "mcp__b__echo" in names
            assert "mcp__a__echo" not in names
        assert alive(pids(old)) == []
        assert len(alive(pids(new))) == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none", "No MCP server named 'none' found."),
        ("local", "OAuth login is only supported for streamable HTTP servers."),
        ("web", "failed to login to MCP server 'web': No authorization support detected"),
    ],
)
async def test_where_nobody_can_log_in(client: Client, name: str, message: str) -> None:
    with pytest.raises(Refused) as raised:
        await client.call("mcpServer/oauth/login", name=name)
    assert raised.value.message == message


async def test_clients_call_tools_and_read_resources_of_a_thread(client: Client) -> None:
    thread_id = await client.start()
    called = {"threadId": thread_id, "server": "local", "tool": "echo"}
    said = await client.call("mcpServer/tool/call", **called, arguments={"x": "hi"})
    assert said == {"content": [{"type": "text", "text": "got hi"}]}
    assert (await client.call("mcpServer/tool/call", **called))["content"][0]["text"] == "got None"
    read = {"server": "local", "uri": "memo://1"}
    contents = {"contents": [{"uri": "memo://1", "text": "plum"}]}
    assert await client.call("mcpServer/resource/read", threadId=thread_id, **read) == contents
    assert await client.call("mcpServer/resource/read", **read) == contents


@pytest.mark.parametrize(
    ("method", "params", "message"),
    [
        ("tool/call", {"server": "zz", "tool": "echo"}, "unknown MCP server 'zz'"),
        ("tool/call", {"server": "off", "tool": "echo"}, "unknown MCP server 'off'"),
        ("tool/call", {"server": "local", "tool": "fail"}, "tool 'fail' is disabled for MCP server 'local'"),
        ("tool/call", {"server": "local", "tool": "echo", "arguments": [1]}, "arguments must be an object"),
        ("resource/read", {"server": "local", "uri": "memo://9"}, "Mcp error: -32002: no such"),
        ("resource/read", {"server": "zz", "uri": "memo://9"}, "unknown MCP server 'zz'"),
    ],
)
async def test_what_cannot_be_called_or_read(
    client: Client, method: str, params: dict[str, object], message: str
) -> None:
    thread_id = await client.start()
    with pytest.raises(Refused, match=exactly(message)):
        await client.call(f"mcpServer/{method}", threadId=thread_id, **params)


async def test_what_has_no_thread_or_no_servers(scratch: Scratch) -> None:
    client = await scratch.connect().hello()
    thread_id = await client.start()
    with pytest.raises(Refused, match=exactly("the thread has no MCP servers")):
        await client.call("mcpServer/tool/call", threadId=thread_id, server="a", tool="b")
    with pytest.raises(Refused, match="thread not found: "):
        await client.call("mcpServer/tool/call", threadId=thread_id[:-4] + "0000", server="a", tool="b")
    with pytest.raises(Refused, match=exactly("unknown MCP server 'a'")):
        await client.call("mcpServer/resource/read", server="a", uri="b")


def test_whoever_waits_for_a_server_keeps_nobody_else_waiting() -> None:
    waiting = {method.name for method in METHODS if method.may_wait}
    assert waiting == {
        "mcpServerStatus/list",
        "mcpServer/oauth/login",
        "mcpServer/tool/call",
        "mcpServer/resource/read",
    }
