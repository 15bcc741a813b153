"""Goals as clients set, read and clear them."""

import json
from pathlib import Path
from typing import Any

import pytest

from pycodex.supervisor.model.scripted import Hold, Reply, call, say
from support.app_server import Client, Refused, exactly, open_app_server, statuses, told
from support.engine import Place, said

UNKNOWN = "01950000-0000-7000-8000-0000000000ff"
REACHED = [Reply(parts=call("update_goal", {"status": "complete"})), Reply(parts=say("reached"))]


def content(path: str) -> bytes:
    return Path(path).read_bytes()


async def aim(client: Client, thread_id: str, **wish: Any) -> dict[str, Any]:
    result = await client.call("thread/goal/set", threadId=thread_id, **wish)
    goal: dict[str, Any] = result["goal"]
    return goal


async def test_goal_starts_turns_that_nobody_asked_for(place: Place) -> None:
    async with open_app_server(place, [Reply(parts=say("step")), *REACHED]) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        start = len(client.heard)
        assert await client.call("thread/goal/clear", threadId=thread_id) == {"cleared": False}
        goal = await aim(client, thread_id, objective="win", status="active")
        assert goal["threadId"] == thread_id
        assert (goal["objective"], goal["status"], goal["tokenBudget"]) == ("win", "active", None)
        await client.until("thread/goal/updated", goal__status="complete")
        await client.until("turn/completed")
        assert told(client.heard[start:]) == [
            "answer",
            "answer",
            "thread/goal/updated",
            "turn/started",
            "item/started userMessage",
            "item/completed userMessage",
            "item/started agentMessage",
            "item/agentMessage/delta",
            "item/completed agentMessage",
            "thread/goal/updated",
            "turn/completed",
            "turn/started",
            "thread/goal/updated",
            "item/started agentMessage",
            "item/agentMessage/delta",
            "item/completed agentMessage",
            "thread/goal/updated",
            "turn/completed",
        ]
        assert statuses(client.heard[start:]) == ["active", "idle", "active", "idle"]
        found = (await client.call("thread/goal/get", threadId=thread_id))["goal"]
        assert found["status"] == "complete"
        assert found["tokensUsed"] > 0
        listed = await client.call("thread/list")
        assert [(thread["id"], thread["preview"]) for thread in listed["data"]] == [(thread_id, "win")]
        turns = (await client.call("thread/read", threadId=thread_id, includeTurns=True))["thread"]["turns"]
        assert [[item["type"] for item in turn["items"]] for turn in turns] == [
            ["userMessage", "agentMessage"],
            ["agentMessage"],
        ]
        assert await client.call("thread/goal/clear", threadId=thread_id) == {"cleared": True}
        await client.until("thread/goal/cleared", threadId=thread_id)
        assert await client.call("thread/goal/get", threadId=thread_id) == {"goal": None}


async def test_interrupt_pauses(place: Place) -> None:
    async with open_app_server(place, [Reply(parts=[*say("half")[:2], Hold()])]) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        await aim(client, thread_id, objective="win", tokenBudget=1000)
        turn_id = (await client.until("turn/started"))["turn"]["id"]
        await client.until("item/agentMessage/delta")
        await client.call("turn/interrupt", threadId=thread_id, turnId=turn_id)
        await client.until("turn/completed", turn__status="interrupted")
        goal = (await client.call("thread/goal/get", threadId=thread_id))["goal"]
        assert (goal["status"], goal["tokenBudget"]) == ("paused", 1000)
        assert (await aim(client, thread_id, objective="other", status="paused"))["tokenBudget"] is None
        assert (await aim(client, thread_id, tokenBudget=7))["tokenBudget"] == 7
        assert (await aim(client, thread_id, status="blocked"))["tokenBudget"] == 7
        assert (await aim(client, thread_id, tokenBudget=None))["tokenBudget"] is None


async def test_goal_goes_on_after_a_restart(place: Place) -> None:
    async with open_app_server(place, [Reply(parts=[*say("half")[:2], Hold()])]) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        await aim(client, thread_id, objective="win")
        await client.until("item/agentMessage/delta")
    async with open_app_server(place, REACHED) as scratch:
        client = await scratch.connect().hello()
        kept = (await client.call("thread/goal/get", threadId=thread_id))["goal"]
        assert (kept["objective"], kept["status"]) == ("win", "active")
        resumed = await client.call("thread/resume", threadId=thread_id)
        assert resumed["thread"]["status"] == {"type": "idle"}
        assert len(resumed["thread"]["turns"]) == 1
        await client.until("thread/goal/updated", goal__status="active")
        await client.until("turn/started")
        await client.until("thread/goal/updated", goal__status="complete")
        await client.until("turn/completed")
        second = await scratch.connect().hello()
        await second.call("thread/resume", threadId=thread_id)
        await second.until("thread/goal/updated", goal__status="complete")


async def test_turns_of_a_goal_can_be_taken_back_one_by_one(place: Place) -> None:
    script = [Reply(parts=say("first")), Reply(parts=say("second")), *REACHED, *(Reply(parts=say("ok")) for _ in "ab")]
    async with open_app_server(place, script) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        await aim(client, thread_id, objective="win")
        await client.until("thread/goal/updated", goal__status="complete")
        await client.until("turn/completed")
        left = (await client.call("thread/rollback", threadId=thread_id, numTurns=2))["thread"]["turns"]
        assert [turn["items"][-1]["text"] for turn in left] == ["first"]
        await client.turn(thread_id, "go")
        assert said(scratch.inputs[4], "assistant") == ["first"]
        left = (await client.call("thread/rollback", threadId=thread_id, numTurns=2))["thread"]["turns"]
        assert left == []
        await client.turn(thread_id, "anew")
        assert "<objective>" not in str(scratch.inputs[5])
        sent = scratch.inputs[5]
    async with open_app_server(place, [Reply(parts=say("ok"))]) as scratch:
        client = await scratch.connect().hello()
        await client.call("thread/resume", threadId=thread_id)
        await client.turn(thread_id, "again")
        assert scratch.inputs[0][: len(sent)] == sent


async def test_goal_of_a_thread_that_is_not_loaded_is_written_down_and_gone_on_with(place: Place) -> None:
    async with open_app_server(place, [Reply(parts=say("hi"))]) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        await client.turn(thread_id, "hello")
        path = (await client.call("thread/read", threadId=thread_id))["thread"]["path"]
    before = content(path)
    async with open_app_server(place, REACHED) as scratch:
        client = await scratch.connect().hello()
        other = await scratch.connect().hello()
        goal = await aim(client, thread_id, objective=" win ", tokenBudget=100_000)
        assert (goal["objective"], goal["status"], goal["tokenBudget"]) == ("win", "active", 100_000)
        added = content(path).removeprefix(before)
        assert added.count(b"\n") == 1
        assert json.loads(added)["payload"]["goal"] == goal
        updated = {"threadId": thread_id, "turnId": None, "goal": goal}
        assert await client.until("thread/goal/updated") == updated == await other.until("thread/goal/updated")
        assert told(client.heard)[-2:] == ["answer", "thread/goal/updated"]
        assert (await client.call("thread/goal/get", threadId=thread_id))["goal"] == goal
        assert (await client.call("thread/loaded/list"))["data"] == []
        await client.call("thread/resume", threadId=thread_id)
        await client.until("thread/goal/updated", goal__status="complete")
        await client.until("turn/completed")


async def test_goal_of_a_thread_that_is_not_loaded_is_cleared_and_refused_alike(place: Place) -> None:
    async with open_app_server(place, [Reply(parts=say("hi"))]) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        await client.turn(thread_id, "hello")
        path = (await client.call("thread/read", threadId=thread_id))["thread"]["path"]
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        before = content(path)
        assert await client.call("thread/goal/clear", threadId=thread_id) == {"cleared": False}
        with pytest.raises(Refused, match=exactly(f"cannot update goal for thread {thread_id}: no goal exists")):
            await aim(client, thread_id, status="paused")
        assert content(path) == before
        await aim(client, thread_id, objective="win", status="paused")
        assert (await aim(client, thread_id, tokenBudget=7))["status"] == "paused"
        assert await client.call("thread/goal/clear", threadId=thread_id) == {"cleared": True}
        assert await client.until("thread/goal/cleared") == {"threadId": thread_id}
        assert await client.call("thread/goal/get", threadId=thread_id) == {"goal": None}


async def test_what_cannot_be_is_refused(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        no_goal = f"cannot update goal for thread {thread_id}: no goal exists"
        with pytest.raises(Refused, match=exactly(no_goal)):
            await aim(client, thread_id, status="paused")
        with pytest.raises(Refused, match=exactly("goal objective must not be empty")):
            await aim(client, thread_id, objective=" ")
        with pytest.raises(Refused, match=exactly("goal budgets must be positive when provided")):
            await aim(client, thread_id, objective="win", tokenBudget=-1)
        with pytest.raises(Refused, match=exactly(f"thread not found: {UNKNOWN}")):
            await aim(client, UNKNOWN, objective="win")
        with pytest.raises(Refused, match=exactly(f"no rollout found for thread id {UNKNOWN}")):
            await client.call("thread/goal/get", threadId=UNKNOWN)
