"""What newer clients ask about threads."""

import pytest

from pycodex.supervisor.model.scripted import Reply, say
from support.app_server import Refused, exactly, open_app_server
from support.engine import Place

UNKNOWN = "01950000-0000-7000-8000-0000000000ff"


async def test_turns_and_items_come_in_pages(place: Place) -> None:
    async with open_app_server(place, lambda _request: Reply(parts=say("ok"))) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        for text in ("one", "two", "three"):
            await client.turn(thread_id, text)
        newest = await client.call("thread/turns/list", threadId=thread_id, limit=2)
        oldest = await client.call("thread/turns/list", threadId=thread_id, cursor=newest["nextCursor"])
        found = [turn["items"][0]["content"][0]["text"] for turn in (*newest["data"], *oldest["data"])]
        assert found == ["three", "two", "one"]
        assert oldest["nextCursor"] is None
        newer = await client.call(
            "thread/turns/list", threadId=thread_id, cursor=oldest["backwardsCursor"], sortDirection="asc"
        )
        assert [turn["id"] for turn in newer["data"]] == [turn["id"] for turn in newest["data"]][::-1]
        bare = await client.call("thread/turns/list", threadId=thread_id, itemsView="notLoaded")
        assert [turn["items"] for turn in bare["data"]] == [[], [], []]
        items = await client.call("thread/items/list", threadId=thread_id, sortDirection="asc", limit=3)
        assert [entry["item"]["id"] for entry in items["data"]] == ["item-1", "item-2", "item-3"]
        of_turn = await client.call("thread/items/list", threadId=thread_id, turnId=newest["data"][0]["id"])
        assert [entry["item"]["type"] for entry in of_turn["data"]] == ["agentMessage", "userMessage"]
        with pytest.raises(Refused, match=exactly("invalid cursor: x")):
            await client.call("thread/items/list", threadId=thread_id, cursor="x")
        with pytest.raises(Refused, match=exactly(f"thread not loaded: {UNKNOWN}")):
            await client.call("thread/turns/list", threadId=UNKNOWN)


async def test_deleted_thread_is_gone(place: Place) -> None:
    async with open_app_server(place, [Reply(parts=say("ok"))]) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        await client.turn(thread_id, "one")
        assert await client.call("thread/delete", threadId=thread_id) == {}
        await client.until("thread/deleted", threadId=thread_id)
        assert place.sessions() == []
        assert (await client.call("thread/loaded/list"))["data"] == []
        with pytest.raises(Refused, match=exactly(f"thread not found: {thread_id}")):
            await client.call("thread/delete", threadId=thread_id)


async def test_warnings_are_told(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start(model="never-heard-of")
        warning = await client.until("warning")
        assert warning["threadId"] == thread_id
        assert "never-heard-of" in warning["message"]
