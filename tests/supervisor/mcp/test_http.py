"""Servers that are reached over HTTP."""

import pytest

from pycodex.supervisor.config.mcp_servers import HttpServer, McpServer
from pycodex.supervisor.mcp.client import connected
from pycodex.supervisor.mcp.failures import McpFailure, NotLoggedIn, TimedOut
from pycodex.supervisor.mcp.http import sent_headers
from support.app_server import exactly
from support.mcp_http import SESSION, McpHttp, serve_mcp
from support.waiting import eventually_async

ENV = {"TOKEN": " s3cret ", "EMPTY": " ", "EXTRA": "e"}


def web(told: McpHttp, *, startup_timeout_s: float = 20, tool_timeout_s: float = 20, **transport: object) -> McpServer:
    server = HttpServer(url=told.url, **transport)  # type: ignore[arg-type]
    return McpServer(name="web", transport=server, startup_timeout_s=startup_timeout_s, tool_timeout_s=tool_timeout_s)


@pytest.mark.parametrize("as_events", [False, True])
async def test_from_the_handshake_to_the_end_of_the_session(as_events: bool) -> None:
    with serve_mcp(as_events=as_events) as told:
        async with connected(web(told), env=ENV) as client:
            assert [tool.name for tool in client.tools] == ["echo"]
            assert (await client.call_tool("echo", {"x": "hi"}))["content"][0]["text"] == "got hi"
            if as_events:
                # A request of the server's came with each stream, and was answered.
                await eventually_async(lambda: told.heard().count("POST") == 3)
        said = [each for each in told.heard() if each != "POST"]
    assert said == [
        "POST initialize",
        "POST notifications/initialized",
        "POST tools/list",
        "POST tools/call",
        "DELETE",
    ]
    first, *others = [headers for _, headers, _ in told.requests]
    versions = {
        headers.get("mcp-protocol-version")
        for _, headers, message in told.requests
        if message.get("method") in ("notifications/initialized", "tools/list", "tools/call")
    }
    assert versions == {"2025-06-18"}
    assert first["accept"] == "text/event-stream, application/json"
    assert "mcp-session-id" not in first
    assert "mcp-protocol-version" not in first
    assert {each["mcp-session-id"] for each in others} == {SESSION}


async def test_tools_that_are_never_listed_are_not_waited_for() -> None:
    """The handshake has the same limit, and is over in a moment here."""
    with serve_mcp(fault="hangs", fault_at="tools/list") as told:
        with pytest.raises(TimedOut, match=exactly("timed out awaiting tools/list after 1s")):
            async with connected(web(told, startup_timeout_s=1), env=ENV):
                pass
        assert told.heard()[:3] == ["POST initialize", "POST notifications/initialized", "POST tools/list"]


async def test_what_the_configuration_says_is_sent_with_everything() -> None:
    with serve_mcp(token="s3cret") as told:
        server = web(
            told,
            bearer_token_env_var="TOKEN",
            http_headers={"X-Fixed": "1"},
            env_http_headers={"X-Extra": "EXTRA", "X-Empty": "EMPTY", "X-Absent": "ABSENT"},
        )
        async with connected(server, env=ENV):
            pass
        for _, headers, _ in told.requests:
            assert (headers["authorization"], headers["x-fixed"], headers["x-extra"]) == ("Bearer s3cret", "1", "e")
            assert not {"x-empty", "x-absent"} & headers.keys()


@pytest.mark.parametrize(("key", "problem"), [("ABSENT", "is not set"), ("EMPTY", "is empty")])
def test_a_token_that_is_missing(key: str, problem: str) -> None:
    with pytest.raises(McpFailure, match=exactly(f"Environment variable {key} for MCP server 'web' {problem}")):
        sent_headers("web", HttpServer(url="http://x", bearer_token_env_var=key), ENV)


async def test_a_server_that_does_not_know_us() -> None:
    text = "The web MCP server is not logged in. Run `codex mcp login web`."
    with serve_mcp(token="another") as told, pytest.raises(NotLoggedIn, match=exactly(text)):
        async with connected(web(told), env=ENV):
            pass


async def test_a_place_where_nobody_is() -> None:
    server = HttpServer(url="http://user:s3cret@127.0.0.1:1/mcp?key=s3cret")
    with pytest.raises(McpFailure) as raised:
        async with connected(McpServer(name="web", transport=server), env=ENV):
            pass
    text = "handshaking with MCP server failed: error sending request for url (http://127.0.0.1:1/mcp): "
    assert str(raised.value).startswith(text)
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("status", "unexpected status 500 of {url}: out of order"),
        ("cut", "the server's answer ended before the response"),
        ("page", "Unexpected content type: text/html"),
        ("huge", "the server sent a message of more than 33554432 bytes"),
    ],
)
async def test_answers_that_are_none_fail_the_call_alone(fault: str, text: str) -> None:
    with serve_mcp(fault=fault) as told:
        async with connected(web(told), env=ENV) as client:
            with pytest.raises(McpFailure, match=exactly(text.format(url=told.url))):
                await client.call_tool("echo", {})
            assert await client.whole_list("resources/list", "resources", timeout_s=5) == []


async def test_a_session_that_the_server_has_ended_ends_the_connection() -> None:
    with serve_mcp(fault="expired") as told:
        async with connected(web(told), env=ENV) as client:
            with pytest.raises(McpFailure, match=exactly("the server has ended the session")):
                await client.call_tool("echo", {})
            await client.gone.wait()
            with pytest.raises(McpFailure, match=exactly("Transport closed")):
                await client.call_tool("echo", {})
    assert "DELETE" not in told.heard()


async def test_an_answer_that_does_not_come_is_not_waited_for() -> None:
    with serve_mcp(fault="hangs") as told:
        async with connected(web(told, tool_timeout_s=0.2), env=ENV) as client:
            with pytest.raises(TimedOut, match=exactly("timed out awaiting tools/call after 0.2s")):
                await client.call_tool("echo", {})
            await eventually_async(lambda: "POST notifications/cancelled" in told.heard())


async def test_a_server_that_repeats_our_headers_is_told_without_secrets() -> None:
    with serve_mcp(fault="echo", token="s3cret") as told:
        server = web(told, bearer_token_env_var="TOKEN", http_headers={"X-Key": "k-123456", "X-Fixed": "1"})
        async with connected(server, env=ENV) as client:
            with pytest.raises(McpFailure, match="unexpected status 400") as caught:
                await client.call_tool("echo", {})
    text = str(caught.value).lower()
    assert ("authorization: bearer ***" in text, "x-key: ***" in text, "x-fixed: 1" in text) == (True, True, True)
