"""Threads on disk: listed, read, put aside and taken back, named."""

import pytest

from pycodex.supervisor.model.scripted import Reply, say
from support.app_server import Client, Refused, Scratch, exactly, open_app_server, statuses
from support.engine import Place

UNKNOWN = "01950000-0000-7000-8000-0000000000ff"


async def with_thread(scratch: Scratch, text: str = "remember plum") -> tuple[Client, str]:
    client = await scratch.connect().hello()
    thread_id = await client.start()
    await client.turn(thread_id, text)
    return client, thread_id


async def test_archived_thread_is_unloaded_and_listed_apart(place: Place) -> None:
    async with open_app_server(place, [Reply(parts=say("plum"))]) as scratch:
        client, thread_id = await with_thread(scratch)
        assert await client.call("thread/archive", threadId=thread_id) == {}
        await client.until("thread/archived", threadId=thread_id)
        assert statuses(client.heard)[-1] == "notLoaded"
        assert "thread/closed" not in [message.get("method") for message in client.heard]
        assert (await client.call("thread/list"))["data"] == []
        (listed,) = (await client.call("thread/list", archived=True))["data"]
        assert listed["id"] == thread_id
        assert listed["preview"] == "remember plum"
        with pytest.raises(Refused, match=exactly(f"no rollout found for thread id {thread_id}")):
            await client.call("thread/archive", threadId=thread_id)
        taken_back = await client.call("thread/unarchive", threadId=thread_id)
        await client.until("thread/unarchived", threadId=thread_id)
        assert taken_back["thread"]["status"] == {"type": "notLoaded"}
        with pytest.raises(Refused, match=exactly(f"no archived rollout found for thread id {thread_id}")):
            await client.call("thread/unarchive", threadId=thread_id)


async def test_pages_filters_and_order(place: Place) -> None:
    async with open_app_server(place, lambda _request: Reply(parts=say("ok"))) as scratch:
        client = await scratch.connect().hello()
        threads = []
        for text in ("one plum", "two pear", "three plum"):
            thread_id = await client.start()
            await client.turn(thread_id, text)
            threads.append(thread_id)
        page = await client.call("thread/list", limit=2)
        rest = await client.call("thread/list", limit=2, cursor=page["nextCursor"])
        found = [thread["id"] for thread in (*page["data"], *rest["data"])]
        assert sorted(found) == sorted(threads)
        assert rest["nextCursor"] is None
        (pear,) = (await client.call("thread/list", searchTerm="PEAR"))["data"]
        assert pear["id"] == threads[1]
        assert pear["status"] == {"type": "idle"}
        for nothing in ({"sourceKinds": ["exec"]}, {"cwd": "/nowhere"}, {"modelProviders": ["other"]}):
            assert (await client.call("thread/list", **nothing))["data"] == []
        assert len((await client.call("thread/list", sourceKinds=["vscode"], modelProviders=[]))["data"]) == 3
        somewhere = ["/nowhere", str(place.workspace)]
        assert len((await client.call("thread/list", cwd=somewhere, sortKey="recency_at"))["data"]) == 3
        for key in ("created_at", "updated_at"):
            first = await client.call("thread/list", sortKey=key, sortDirection="asc", limit=1)
            rest = await client.call("thread/list", sortKey=key, sortDirection="asc", cursor=first["nextCursor"])
            asc = [thread["id"] for thread in (*first["data"], *rest["data"])]
            desc = (await client.call("thread/list", sortKey=key, sortDirection="desc"))["data"]
            assert asc == [thread["id"] for thread in reversed(desc)]
            assert sorted(asc) == sorted(threads)
            back = await client.call("thread/list", sortKey=key, cursor=rest["backwardsCursor"])
            assert [thread["id"] for thread in back["data"]] == asc[:1]
        assert len((await client.call("thread/list", originators=["x"], useStateDbOnly=True))["data"]) == 3
        with pytest.raises(Refused, match=exactly("invalid cursor: zzz")):
            await client.call("thread/list", cursor="zzz")


async def test_name_is_trimmed_told_and_kept(place: Place) -> None:
    async with open_app_server(place, [Reply(parts=say("plum"))]) as scratch:
        client, thread_id = await with_thread(scratch)
        assert await client.call("thread/name/set", threadId=thread_id, name="  Fruit ") == {}
        assert await client.until("thread/name/updated") == {"threadId": thread_id, "threadName": "Fruit"}
        with pytest.raises(Refused, match=exactly("thread name must not be empty")):
            await client.call("thread/name/set", threadId=thread_id, name=" ")
        with pytest.raises(Refused, match=exactly(f"thread not found: {UNKNOWN}")):
            await client.call("thread/name/set", threadId=UNKNOWN, name="x")
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        read = await client.call("thread/read", threadId=thread_id)
        assert read["thread"]["name"] == "Fruit"
        assert read["thread"]["status"] == {"type": "notLoaded"}
        with pytest.raises(Refused, match=exactly(f"thread not loaded: {UNKNOWN}")):
            await client.call("thread/read", threadId=UNKNOWN)


async def test_repository_is_what_the_client_says_it_is(place: Place) -> None:
    async with open_app_server(place, [Reply(parts=say("plum"))]) as scratch:
        client, thread_id = await with_thread(scratch)
        update = "thread/metadata/update"
        with pytest.raises(Refused, match=exactly("gitInfo must include at least one field")):
            await client.call(update, threadId=thread_id, gitInfo={})
        with pytest.raises(Refused, match=exactly("gitInfo.originUrl must not be empty")):
            await client.call(update, threadId=thread_id, gitInfo={"originUrl": " "})
        with pytest.raises(Refused, match=exactly(f"thread not found: {UNKNOWN}")):
            await client.call(update, threadId=UNKNOWN, gitInfo={"sha": "a"})
        await client.call(update, threadId=thread_id, gitInfo={"sha": "abc", "branch": "b"})
        changed = await client.call(update, threadId=thread_id, gitInfo={"branch": None, "originUrl": "u"})
        expected = {"sha": "abc", "branch": None, "originUrl": "u"}
        assert changed["thread"]["gitInfo"] == expected
        (listed,) = (await client.call("thread/list"))["data"]
        assert listed["gitInfo"] == expected
        await client.call("thread/archive", threadId=thread_id)
        put_aside = await client.call(update, threadId=thread_id, gitInfo={"originUrl": "v"})
        assert put_aside["thread"]["gitInfo"] == {**expected, "originUrl": "v"}
        await client.call("thread/unarchive", threadId=thread_id)
        await client.call(update, threadId=thread_id, gitInfo={"sha": None, "originUrl": None})
        assert (await client.call("thread/read", threadId=thread_id))["thread"]["gitInfo"] is None


async def test_thread_without_a_file_can_be_described(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        told = await client.call("thread/metadata/update", threadId=thread_id, gitInfo={"sha": "abc"})
        assert told["thread"]["gitInfo"] == {"sha": "abc", "branch": None, "originUrl": None}
