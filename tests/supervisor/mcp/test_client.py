"""A server that is a program, from its start to its end, whatever it does meanwhile."""

import math
from pathlib import Path

import pytest
import trio

from pycodex.supervisor.mcp.client import CLIENT_INFO, MOST_PAGES, connected
from pycodex.supervisor.mcp.failures import ConnectionLost, McpFailure, RpcFailure, TimedOut
from pycodex.supervisor.mcp.link import Json
from support.app_server import exactly
from support.mcp import heard, server
from support.waiting import eventually_async

ENV = {"PATH": "/usr/bin:/bin"}


async def test_the_handshake_as_servers_know_it(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    async with connected(server(notes=notes), env=ENV) as client:
        names = [tool.name for tool in client.tools]
    assert names[:3] == ["echo", "dot.name", "fail"]
    assert heard(notes) == [
        {
            "method": "initialize",
            "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT_INFO},
        },
        {"method": "notifications/initialized"},
        {"method": "tools/list", "params": {"_meta": {"progressToken": 1}}},
    ]


async def test_tools_are_called(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    async with connected(server(notes=notes), env=ENV) as client:
        said = await client.call_tool("echo", {"x": "hi"}, meta={"threadId": "t"})
        assert said == {"content": [{"type": "text", "text": "got hi"}]}
        assert (await client.call_tool("echo", None))["content"][0]["text"] == "got None"
        assert (await client.call_tool("fail", {}))["isError"] is True
        assert (await client.call_tool("struct", {}))["structuredContent"] == {"k": 1}
        with pytest.raises(RpcFailure, match=exactly("Mcp error: -32000: boom")):
            await client.call_tool("rpc-error", {})
    first, second = [each["params"] for each in heard(notes) if each["method"] == "tools/call"][:2]
    assert first == {"_meta": {"threadId": "t", "progressToken": 2}, "name": "echo", "arguments": {"x": "hi"}}
    assert "arguments" not in second


async def test_resources_are_listed_and_read() -> None:
    async with connected(server(), env=ENV) as client:
        assert await client.whole_list("resources/list", "resources", timeout_s=5) == [
            {"uri": "memo://1", "name": "one"}
        ]
        assert await client.whole_list("resources/templates/list", "resourceTemplates", timeout_s=5) == [
            {"uriTemplate": "memo://{n}", "name": "memo"}
        ]
        assert await client.page("resources/list", "resources") == (
            [{"uri": "memo://1", "name": "one"}],
            None,
        )
        assert await client.read_resource("memo://1") == [{"uri": "memo://1", "text": "plum"}]
        with pytest.raises(RpcFailure, match=exactly("Mcp error: -32002: no such")):
            await client.read_resource("memo://9")


async def test_only_wanted_tools_are_taken() -> None:
    wanted = server(enabled_tools=frozenset({"echo", "fail"}), disabled_tools=frozenset({"fail"}))
    async with connected(wanted, env=ENV) as client:
        assert [tool.name for tool in client.tools] == ["echo"]


async def test_all_pages_are_read() -> None:
    async with connected(server(), env=ENV) as whole, connected(server("pages"), env=ENV) as paged:
        assert paged.tools == whole.tools


async def test_pages_without_end_are_given_up() -> None:
    async with connected(server("endless pages"), env=ENV) as client:
        assert len(client.tools) == MOST_PAGES


async def test_large_pages_are_given_up_before_they_fill_the_memory() -> None:
    async with connected(server("large pages"), env=ENV) as client:
        assert len(client.tools) == 3


async def test_slow_pages_have_the_time_of_one_request_together() -> None:
    async with connected(server("slow pages", tool_timeout_s=1), env=ENV) as client:
        with pytest.raises(TimedOut, match=exactly("timed out awaiting resources/list after 1s")):
            await client.whole_list("resources/list", "resources", timeout_s=1)


async def test_tools_without_a_name_or_schema_are_left_out() -> None:
    async with connected(server("bad tools"), env=ENV) as client:
        (tool,) = client.tools
        assert set(tool.spec) == {"name", "inputSchema"}


async def test_a_server_may_have_no_tools() -> None:
    async with connected(server("toolless"), env=ENV) as client:
        assert client.tools == ()
        assert await client.whole_list("resources/list", "resources", timeout_s=5)


@pytest.mark.parametrize("fault", ["garbage", "floods"])
async def test_noise_is_passed_over(fault: str) -> None:
    async with connected(server(fault), env=ENV) as client:
        assert (await client.call_tool("echo", {"x": "a"}))["content"][0]["text"] == "got a"


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("refuses", "handshaking with MCP server failed: JSON-RPC error: -32000: nope"),
        ("lies", "handshaking with MCP server failed: the server's answer names no protocol version"),
        ("dies", "handshaking with MCP server failed: connection closed: initialize response"),
        ("no list", "Unexpected response type"),
    ],
)
async def test_a_server_that_does_not_start_says_why(fault: str, text: str) -> None:
    with pytest.raises(McpFailure, match=exactly(text)):
        async with connected(server(fault), env=ENV):
            pass


async def test_a_server_that_hangs_is_not_waited_for() -> None:
    with pytest.raises(TimedOut, match=exactly("timed out handshaking with MCP server after 0.5s")):
        async with connected(server("hangs", startup_timeout_s=0.5), env=ENV):
            pass


async def test_no_server_can_be_called_anything() -> None:
    with pytest.raises(McpFailure, match="Invalid MCP server name 'a b': must match pattern"):
        async with connected(server(name="a b"), env=ENV):
            pass


async def test_a_call_that_takes_too_long_is_withdrawn(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    async with connected(server(notes=notes, tool_timeout_s=0.2), env=ENV) as client:
        with pytest.raises(TimedOut, match=exactly("timed out awaiting tools/call after 0.2s")):
            await client.call_tool("slow", {})
        # The server is not given up for it.
        assert (await client.call_tool("echo", {"x": "b"}))["content"][0]["text"] == "got b"
    (withdrawn,) = [each["params"] for each in heard(notes) if each["method"] == "notifications/cancelled"]
    assert withdrawn["requestId"] == 2


async def test_a_call_that_nobody_waits_for_is_withdrawn(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    async with connected(server(notes=notes), env=ENV) as client:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.call_tool, "slow", {})
            await eventually_async(lambda: any("tools/call" in str(each) for each in heard(notes)))
            nursery.cancel_scope.cancel()
        await eventually_async(lambda: heard(notes)[-1]["method"] == "notifications/cancelled")


async def test_a_server_that_dies_fails_its_calls_and_no_others() -> None:
    async with connected(server(), env=ENV) as dying, connected(server(), env=ENV) as other:
        with pytest.raises(ConnectionLost, match=exactly("Transport closed")):
            await dying.call_tool("die", {})
        await dying.gone.wait()
        with pytest.raises(ConnectionLost):
            await dying.call_tool("echo", {})
        assert await other.call_tool("echo", {})


async def test_a_message_that_is_too_large_fails_the_call_and_nothing_more() -> None:
    async with connected(server(), env=ENV) as client:
        with pytest.raises(McpFailure, match="the server sent a message of more than 33554432 bytes"):
            await client.call_tool("huge", {})
        assert await client.call_tool("echo", {})


async def test_questions_of_the_server_are_put_to_the_caller() -> None:
    asked: list[tuple[str, str]] = []

    async def elicit(name: str, question: Json) -> Json:
        asked.append((name, question["message"]))
        return {"action": "accept", "content": {"name": "plum"}}

    async with connected(server(), env=ENV, elicit=elicit) as client:
        said = await client.call_tool("ask", {"x": "Who?"})
    assert said["content"][0]["text"] == '{"action": "accept", "content": {"name": "plum"}}'
    assert asked == [("s", "Who?")]


async def test_questions_are_declined_where_nobody_can_be_asked() -> None:
    async with connected(server(), env=ENV) as client:
        assert (await client.call_tool("ask", {}))["content"][0]["text"] == '{"action": "decline"}'


async def test_what_goes_wrong_in_the_block_comes_out_as_it_is() -> None:
    with pytest.raises(KeyError, match="mine"):
        async with connected(server(tool_timeout_s=math.inf), env=ENV):
            raise KeyError("mine")


async def test_questions_that_are_withdrawn_at_once_are_not_put_to_the_person() -> None:
    """Each takes its time, whether anybody still waits for the answer or not."""
    asked = []

    async def elicit(name: str, question: Json) -> Json:
        asked.append((name, question))
        await trio.sleep_forever()
        raise AssertionError

    async with connected(server("withdraws"), env=ENV, elicit=elicit) as client:
        await client.call_tool("echo", {})
    assert len(asked) < 100


async def test_a_question_that_nobody_could_read_is_refused() -> None:
    async def elicit(name: str, question: Json) -> Json:
        raise AssertionError(name, question)

    async with connected(server(), env=ENV, elicit=elicit) as client:
        said = await client.call_tool("ask", {"x": "x" * (1 << 20)})
    assert "the question is too long for a person" in said["content"][0]["text"]
