"""Resources of MCP servers as the model reads them."""

import json

from pycodex.supervisor.model.scripted import Reply, call, say
from support.app_server import open_app_server
from support.engine import Place, outputs
from support.mcp import add_servers, table

ONE = {"uri": "memo://1", "name": "one"}


async def asked(place: Place, *given: tuple[str, dict[str, str]]) -> list[str]:
    asked = [Reply(parts=call(name, arguments, f"c{number}")) for number, (name, arguments) in enumerate(given)]
    async with open_app_server(place, [*asked, Reply(parts=say("done"))]) as scratch:
        add_servers(place, table("s"), table("t"), table("broken", "dies"))
        client = await scratch.connect().hello()
        await client.turn(await client.start(), "go")
        return [str(answer) for answer in outputs(scratch.inputs[-1]).values()]


async def test_what_there_is_to_read(place: Place) -> None:
    everything, of_one, templates, read = await asked(
        place,
        ("list_mcp_resources", {}),
        ("list_mcp_resources", {"server": "s"}),
        ("list_mcp_resource_templates", {"server": "t"}),
        ("read_mcp_resource", {"server": "s", "uri": "memo://1"}),
    )
    assert json.loads(everything) == {"resources": [{"server": "s", **ONE}, {"server": "t", **ONE}]}
    assert json.loads(of_one) == {"server": "s", "resources": [{"server": "s", **ONE}]}
    template = {"server": "t", "uriTemplate": "memo://{n}", "name": "memo"}
    assert json.loads(templates) == {"server": "t", "resourceTemplates": [template]}
    contents = [{"uri": "memo://1", "text": "plum"}]
    assert json.loads(read) == {"server": "s", "uri": "memo://1", "contents": contents}


async def test_what_is_wrong_is_told(place: Place) -> None:
    told = await asked(
        place,
        ("list_mcp_resources", {"cursor": "x"}),
        ("list_mcp_resources", {"server": "zz"}),
        ("list_mcp_resources", {"server": "broken"}),
        ("read_mcp_resource", {"server": " ", "uri": "memo://1"}),
        ("read_mcp_resource", {"server": "s", "uri": "memo://9"}),
        ("read_mcp_resource", {"server": "zz", "uri": "memo://9"}),
        ("read_mcp_resource", {"server": "s"}),
    )
    closed = "handshaking with MCP server failed: connection closed: initialize response"
    assert told == [
        "cursor can only be used when a server is specified",
        "resources/list failed: unknown MCP server 'zz'",
        f"resources/list failed: {closed}",
        "server must be provided",
        "resources/read failed: resources/read failed for `s` (memo://9): Mcp error: -32002: no such",
        "resources/read failed: unknown MCP server 'zz'",
        "failed to parse function arguments: missing field `uri`",
    ]
