"""Servers of a thread: their start is told, and what they ask reaches the person."""

import json
from pathlib import Path
from typing import Any

import pytest

from pycodex.supervisor.model.scripted import Reply, call, say
from support.app_server import Refused, open_app_server, statuses, told
from support.engine import Place, outputs
from support.mcp import add_servers, alive, pids, table
from support.waiting import eventually_async

ELICITATION = "mcpServer/elicitation/request"
STARTS = "mcpServer/startupStatus/updated"
ASK = [Reply(parts=call("mcp__s__ask", {"x": "Who?"}, "c0")), Reply(parts=say("done"))]


@pytest.mark.parametrize(
    ("policy", "answer", "relayed"),
    [
        (
            "on-request",
            {"result": {"action": "accept", "content": {"name": "plum"}, "_meta": None}},
            {"action": "accept", "content": {"name": "plum"}},
        ),
        ("on-request", {"result": {"action": "decline", "content": {"x": 1}}}, {"action": "decline"}),
        ("on-request", {"result": {"action": "odd"}}, {"action": "cancel"}),
        ("on-request", {"error": {"code": 1, "message": "cannot"}}, {"action": "cancel"}),
        ("never", None, {"action": "decline"}),
    ],
)
async def test_questions_of_a_server(
    place: Place, policy: str, answer: dict[str, Any] | None, relayed: dict[str, Any]
) -> None:
    async with open_app_server(place, ASK) as scratch:
        add_servers(place, table("s"))
        client = await scratch.connect().hello()
        if answer is not None:
            client.answers[ELICITATION] = lambda _: answer
        messages = await client.turn(await client.start(approvalPolicy=policy), "go")
        (block,) = json.loads(str(outputs(scratch.inputs[-1])["c0"]))
    assert json.loads(block["text"]) == relayed
    assert told(messages).count(ELICITATION) == (answer is not None)
    assert ("active waitingOnApproval" in statuses(messages)) == (answer is not None)


async def test_a_question_that_nobody_answers_ends_with_the_turn(place: Place, tmp_path: Path) -> None:
    async with open_app_server(place, ASK) as scratch:
        add_servers(place, table("s", notes=tmp_path / "notes"))
        client = await scratch.connect().hello()
        thread_id = await client.start(approvalPolicy="on-request")
        turn = await client.call("turn/start", threadId=thread_id, input=[{"type": "text", "text": "go"}])
        asked = await client.until(ELICITATION)
        assert (asked["serverName"], asked["message"], asked["mode"]) == ("s", "Who?", "form")
        await client.call("turn/interrupt", threadId=thread_id, turnId=turn["turn"]["id"])
        assert (await client.until("turn/completed"))["turn"]["status"] == "interrupted"


async def test_starts_are_told_and_failures_say_what_to_do(place: Place) -> None:
    async with open_app_server(place, [Reply(parts=say("done"))]) as scratch:
        slow = table("slow", "hangs", more="startup_timeout_sec = 0.2")
        add_servers(place, table("bad", "refuses"), table("good"), slow)
        client = await scratch.connect().hello()
        thread_id = await client.start()
        await client.turn(thread_id, "go")
        starts = [each["params"] for each in client.heard if each.get("method") == STARTS]
    assert {each["threadId"] for each in starts} == {thread_id}
    assert [each["name"] for each in starts[:3]] == ["bad", "good", "slow"]
    assert {each["status"] for each in starts[:3]} == {"starting"}
    ended = {each["name"]: (each["status"], each["error"]) for each in starts[3:]}
    failed = "MCP client for `bad` failed to start: MCP startup failed: "
    late = (
        "MCP client for `slow` timed out after 0.2 seconds. Add or adjust `startup_timeout_sec` in your "
        "config.toml:\n[mcp_servers.slow]\nstartup_timeout_sec = XX"
    )
    assert ended == {
        "bad": ("failed", f"{failed}handshaking with MCP server failed: JSON-RPC error: -32000: nope"),
        "good": ("ready", None),
        "slow": ("failed", late),
    }


async def test_a_thread_does_not_begin_without_what_it_requires(place: Place, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    async with open_app_server(place, []) as scratch:
        add_servers(place, table("req", "refuses", more="required = true"), table("other", notes=notes))
        client = await scratch.connect().hello()
        with pytest.raises(Refused) as raised:
            await client.start()
        text = (
            "error creating thread: Fatal error: Failed to initialize session: required MCP servers failed to "
            "initialize: req: handshaking with MCP server failed: JSON-RPC error: -32000: nope"
        )
        assert (raised.value.code, raised.value.message) == (-32603, text)
        await eventually_async(lambda: not alive(pids(notes)))
        assert (await client.call("thread/loaded/list"))["data"] == []


async def test_a_thread_ends_with_its_servers(place: Place, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    async with open_app_server(place, [Reply(parts=say("done"))]) as scratch:
        add_servers(place, table("s", "leaves children", notes=notes))
        client = await scratch.connect().hello()
        thread_id = await client.start()
        await client.turn(thread_id, "go")
        started = pids(notes)
        assert alive(started) == started
        await client.call("thread/unsubscribe", threadId=thread_id)
        await client.until("thread/closed")
        await eventually_async(lambda: not alive(started))
