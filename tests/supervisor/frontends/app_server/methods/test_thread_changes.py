"""Settings and items that newer clients give to a thread between turns."""

import pytest
import trio

from pycodex.supervisor.model.scripted import Reply, Until, say
from support.app_server import Refused, exactly, open_app_server, text_input
from support.engine import Place, plan, said


def note(text: str) -> dict[str, object]:
    return {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": text}]}


async def test_model_sees_injected_items(place: Place) -> None:
    go = trio.Event()
    script = [Reply(parts=say("one")), Reply(parts=[*plan("a"), Until(go)]), Reply(parts=say("two"))]
    async with open_app_server(place, script) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        assert await client.call("thread/inject_items", threadId=thread_id, items=[note("before")]) == {}
        await client.turn(thread_id, "go")
        assert "before" in said(scratch.inputs[0], "developer")
        await client.call("turn/start", threadId=thread_id, input=[text_input("again")])
        await client.until("turn/plan/updated")
        await client.call("thread/inject_items", threadId=thread_id, items=[note("meanwhile")])
        go.set()
        await client.until("turn/completed")
        assert said(scratch.inputs[2], "developer")[-1] == "meanwhile"
        assert scratch.inputs[2][-2]["type"] == "function_call_output"
    async with open_app_server(place, [Reply(parts=say("three"))]) as scratch:
        client = await scratch.connect().hello()
        await client.call("thread/resume", threadId=thread_id)
        await client.turn(thread_id, "still there?")
        assert {"before", "meanwhile"} <= set(said(scratch.inputs[0], "developer"))


async def test_items_that_nobody_could_send_are_refused(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        with pytest.raises(Refused, match=exactly("items must not be empty")):
            await client.call("thread/inject_items", threadId=thread_id, items=[])
        with pytest.raises(Refused, match=exactly("items[1] is not a valid response item")):
            await client.call("thread/inject_items", threadId=thread_id, items=[note("x"), {"type": "odd"}])


async def test_settings_hold_from_the_next_turn_on(place: Place) -> None:
    async with open_app_server(place, [Reply(parts=say("ok"))]) as scratch:
        client = await scratch.connect().hello()
        other = await scratch.connect().hello()
        thread_id = await client.start()
        await client.turn(thread_id, "one")
        await other.call("thread/resume", threadId=thread_id)
        wish = {"model": "gpt-5.1-codex", "effort": "high", "sandboxPolicy": {"type": "dangerFullAccess"}}
        assert await client.call("thread/settings/update", threadId=thread_id, **wish) == {}
        for each in (client, other):
            settings = (await each.until("thread/settings/updated", threadId=thread_id))["threadSettings"]
            assert (settings["model"], settings["effort"]) == ("gpt-5.1-codex", "high")
            assert settings["sandboxPolicy"] == {"type": "dangerFullAccess"}
            assert settings["collaborationMode"]["mode"] == "default"
        heard = len(client.heard)
        await client.call("thread/settings/update", threadId=thread_id, **wish)
        await client.turn(thread_id, "two")
        assert "thread/settings/updated" not in [message.get("method") for message in client.heard[heard:]]
        body = scratch.model.requests[1].body
        assert (body["model"], body["reasoning"]["effort"]) == ("gpt-5.1-codex", "high")
