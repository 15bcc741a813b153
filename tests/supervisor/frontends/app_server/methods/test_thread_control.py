"""Acting on loaded threads."""

import pytest

from pycodex.supervisor.model.scripted import Hold, Reply, say
from support.app_server import Refused, exactly, open_app_server, statuses, text_input, told
from support.engine import Place, line_kinds, run, said

UNKNOWN = "01950000-0000-7000-8000-0000000000ff"


async def test_turns_are_taken_back(place: Place) -> None:
    async with open_app_server(place, lambda _request: Reply(parts=say("ok"))) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        for text in ("first", "second"):
            await client.turn(thread_id, text)
        with pytest.raises(Refused, match=exactly("numTurns must be >= 1")):
            await client.call("thread/rollback", threadId=thread_id, numTurns=0)
        rolled_back = await client.call("thread/rollback", threadId=thread_id, numTurns=1)
        (turn,) = rolled_back["thread"]["turns"]
        assert turn["items"][0]["content"][0]["text"] == "first"
        await client.turn(thread_id, "third")
        assert said(scratch.inputs[2], "user")[-2:] == ["first", "third"]
        rolled_back = await client.call("thread/rollback", threadId=thread_id, numTurns=9)
        assert rolled_back["thread"]["turns"] == []
        assert rolled_back["thread"]["preview"] == "first"
    assert line_kinds(place.lines()).count("thread_rolled_back") == 2


async def test_running_turn_cannot_be_taken_back(place: Place) -> None:
    script = [Reply(parts=[*say("half"), Hold()], is_complete=False)]
    async with open_app_server(place, script) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        await client.call("turn/start", threadId=thread_id, input=[text_input("go")])
        with pytest.raises(Refused, match=exactly("Cannot rollback while a turn is in progress.")):
            await client.call("thread/rollback", threadId=thread_id, numTurns=1)


async def test_last_follower_that_leaves_ends_the_thread(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        first = await scratch.connect().hello()
        second = await scratch.connect().hello()
        thread_id = await first.start()
        assert await second.call("thread/unsubscribe", threadId=thread_id) == {"status": "notSubscribed"}
        await second.call("thread/resume", threadId=thread_id)
        assert await first.call("thread/unsubscribe", threadId=thread_id) == {"status": "unsubscribed"}
        assert (await second.call("thread/loaded/list"))["data"] == [thread_id]
        assert await second.call("thread/unsubscribe", threadId=thread_id) == {"status": "unsubscribed"}
        await first.until("thread/closed", threadId=thread_id)
        assert await second.call("thread/unsubscribe", threadId=thread_id) == {"status": "notLoaded"}
        assert (await second.call("thread/loaded/list"))["data"] == []


async def test_loaded_threads_come_in_pages(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        threads = sorted([await client.start() for _ in range(3)])
        page = await client.call("thread/loaded/list", limit=2)
        assert page == {"data": threads[:2], "nextCursor": threads[1]}
        assert await client.call("thread/loaded/list", cursor=threads[1]) == {"data": threads[2:], "nextCursor": None}
        with pytest.raises(Refused, match=exactly("invalid cursor: x")):
            await client.call("thread/loaded/list", cursor="x")


async def test_commands_left_running_end_when_cleaned_up(place: Place) -> None:
    script = [Reply(parts=run("echo up; exec sleep 60", "c1", yield_time_ms=300)), Reply(parts=say("done"))]
    async with open_app_server(place, script) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start(sandbox="danger-full-access")
        await client.turn(thread_id, "go")
        assert await client.call("thread/backgroundTerminals/clean", threadId=thread_id) == {}
        ended = await client.until("item/completed", item__type="commandExecution")
        assert (ended["item"]["status"], ended["item"]["exitCode"]) == ("failed", -1)


async def test_what_needs_a_loaded_thread_says_so(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        for method, params in (
            ("thread/rollback", {"numTurns": 1}),
            ("thread/backgroundTerminals/clean", {}),
            ("thread/compact/start", {}),
            ("turn/interrupt", {"turnId": ""}),
        ):
            with pytest.raises(Refused, match=exactly(f"thread not found: {UNKNOWN}")):
                await client.call(method, threadId=UNKNOWN, **params)


async def test_a_compaction_is_a_turn_of_its_own(place: Place) -> None:
    async with open_app_server(place, [Reply(parts=say("plum")), Reply(parts=say("a summary"))]) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        await client.turn(thread_id, "go")
        start = len(client.heard)
        assert await client.call("thread/compact/start", threadId=thread_id) == {}
        completed = await client.until("turn/completed")
        assert completed["turn"]["status"] == "completed"
        assert told(client.heard[start:]) == [
            "answer",
            "turn/started",
            "item/started contextCompaction",
            "item/completed contextCompaction",
            "thread/compacted",
            "warning",
            "turn/completed",
        ]
        assert statuses(client.heard[start:]) == ["active", "idle"]
        compacted = next(message for message in client.heard if message.get("method") == "thread/compacted")
        assert compacted["params"] == {"threadId": thread_id, "turnId": completed["turn"]["id"]}
        read = await client.call("thread/read", threadId=thread_id, includeTurns=True)
        assert [[item["type"] for item in turn["items"]] for turn in read["thread"]["turns"]] == [
            ["userMessage", "agentMessage"],
            ["contextCompaction"],
        ]


async def test_a_compaction_takes_no_input_but_an_interrupt(place: Place) -> None:
    async with open_app_server(place, [Reply(parts=[*say("summ"), Hold()]), Reply(parts=say("ok"))]) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        await client.call("thread/compact/start", threadId=thread_id)
        turn_id = (await client.until("item/started"))["turnId"]
        with pytest.raises(Refused, match=exactly("cannot steer a compact turn")) as refused:
            await client.call("turn/steer", threadId=thread_id, expectedTurnId=turn_id, input=[text_input("more")])
        assert refused.value.data == {
            "message": "cannot steer a compact turn",
            "codexErrorInfo": {"activeTurnNotSteerable": {"turnKind": "compact"}},
            "additionalDetails": None,
        }
        next_turn = await client.call("turn/start", threadId=thread_id, input=[text_input("then this")])
        await client.call("turn/interrupt", threadId=thread_id, turnId=turn_id)
        ended = [await client.until("turn/completed") for _ in range(2)]
        assert [(each["turn"]["id"], each["turn"]["status"]) for each in ended] == [
            (turn_id, "interrupted"),
            (next_turn["turn"]["id"], "completed"),
        ]
