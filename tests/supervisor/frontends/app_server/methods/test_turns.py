"""Turns from their start to their end, as a client sees them."""

import pytest
import trio

from pycodex.protocol.app.turns import Turn
from pycodex.supervisor.frontends.app_server.method import INVALID_PARAMS
from pycodex.supervisor.model.scripted import Hold, Reply, Until, refuse, say
from support.app_server import Refused, exactly, open_app_server, statuses, text_input, told
from support.engine import Place, plan, run, said
from support.waiting import eventually_async


async def test_plain_turn_is_told_in_order(place: Place) -> None:
    async with open_app_server(place, [Reply(parts=say("hello"))]) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        messages = await client.turn(thread_id, "hi")
        assert told(messages) == [
            "answer",
            "turn/started",
            "item/started userMessage",
            "item/completed userMessage",
            "item/started agentMessage",
            "item/agentMessage/delta",
            "item/completed agentMessage",
            "turn/completed",
        ]
        assert statuses(messages) == ["active", "idle"]
        turn = messages[-1]["params"]["turn"]
        assert Turn.model_validate(turn).status == "completed"
        started = next(message for message in messages if message.get("method") == "turn/started")
        assert started["params"]["turn"]["id"] == messages[0]["result"]["turn"]["id"] == turn["id"]


async def test_settings_of_a_turn_hold_for_the_next(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        policy = {"type": "workspaceWrite", "writableRoots": [str(place.home)], "networkAccess": True}
        await client.turn(thread_id, "one", model="gpt-5.2", effort="high", sandboxPolicy=policy, cwd=str(place.home))
        schema = {"type": "object"}
        await client.turn(thread_id, "two", outputSchema=schema)
        await client.turn(thread_id, "three")
        bodies = [request.body for request in scratch.model.requests]
        assert [body["model"] for body in bodies] == ["gpt-5.2"] * 3
        assert [body["reasoning"]["effort"] for body in bodies] == ["high"] * 3
        formats = [body.get("text", {}).get("format") for body in bodies]
        assert [each and each["schema"] for each in formats] == [None, schema, None]
        joined = await client.call("thread/resume", threadId=thread_id)
        assert joined["model"] == "gpt-5.2"
        assert joined["cwd"] == str(place.home)
        assert joined["sandbox"]["networkAccess"] is True


async def test_no_input_starts_nothing(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        answer = await client.call("turn/start", threadId=thread_id, input=[])
        assert answer["turn"]["status"] == "inProgress"
        with pytest.raises(Refused, match=exactly("no active turn to interrupt")):
            await client.call("turn/interrupt", threadId=thread_id, turnId=answer["turn"]["id"])


async def test_input_that_is_too_long_is_refused(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        with pytest.raises(
            Refused, match=exactly("Input exceeds the maximum length of 1048576 characters.")
        ) as refused:
            await client.call("turn/start", threadId=thread_id, input=[text_input("x" * (1 << 20)), text_input("y")])
        assert refused.value.code == INVALID_PARAMS
        assert refused.value.data == {
            "input_error_code": "input_too_large",
            "max_chars": 1 << 20,
            "actual_chars": (1 << 20) + 1,
        }


async def test_interrupt_is_answered_before_the_end_is_told(place: Place) -> None:
    script = [Reply(parts=[*say("half"), Hold()], is_complete=False)]
    async with open_app_server(place, script) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        turn_id = (await client.call("turn/start", threadId=thread_id, input=[text_input("go")]))["turn"]["id"]
        await client.until("item/completed", item__type="agentMessage")
        with pytest.raises(Refused, match=exactly(f"expected active turn id wrong but found {turn_id}")):
            await client.call("turn/interrupt", threadId=thread_id, turnId="wrong")
        assert await client.call("turn/interrupt", threadId=thread_id, turnId=turn_id) == {}
        place_of_answer = len(client.heard)
        ended = await client.until("turn/completed")
        assert ended["turn"]["status"] == "interrupted"
        assert "turn/completed" in told(client.heard[place_of_answer:])
        assert statuses(client.heard)[-1] == "idle"


async def test_interrupt_does_not_hit_the_turn_that_waited(place: Place) -> None:
    ends = [trio.Event(), trio.Event()]
    script = [Reply(parts=[Until(end), *say("ok")]) for end in ends]
    async with open_app_server(place, script) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        await client.call("thread/compact/start", threadId=thread_id)
        compaction = (await client.until("turn/started"))["turn"]["id"]
        turn_id = (await client.call("turn/start", threadId=thread_id, input=[text_input("go")]))["turn"]["id"]
        live = scratch.server.live.get(thread_id)
        assert live is not None
        # The client has not heard yet that the first has ended.
        held = live.gate.hold()
        ends[0].set()
        await eventually_async(lambda: len(scratch.model.requests) == 2)
        request = await client.ask("turn/interrupt", threadId=thread_id, turnId=compaction)
        await eventually_async(lambda: live._awaited, what="the interrupt is on its way")
        held.release()
        assert await client.answer_to(request) == {}
        ends[1].set()
        ended = await client.until("turn/completed", turn__id=turn_id)
        assert ended["turn"]["status"] == "completed"


async def test_steered_input_joins_the_turn(place: Place) -> None:
    go_on = trio.Event()
    script = [Reply(parts=[*run("true"), Until(go_on)]), Reply(parts=say("both"))]
    async with open_app_server(place, script) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        turn_id = (await client.call("turn/start", threadId=thread_id, input=[text_input("go")]))["turn"]["id"]
        await client.until("item/completed", item__type="commandExecution")
        with pytest.raises(Refused, match=exactly(f"expected active turn id `wrong` but found `{turn_id}`")):
            await client.call("turn/steer", threadId=thread_id, expectedTurnId="wrong", input=[text_input("pears")])
        with pytest.raises(Refused, match=exactly("input must not be empty")):
            await client.call("turn/steer", threadId=thread_id, expectedTurnId=turn_id, input=[])
        steered = await client.call(
            "turn/steer", threadId=thread_id, expectedTurnId=turn_id, input=[text_input("pears")]
        )
        assert steered == {"turnId": turn_id}
        other = await client.call("turn/start", threadId=thread_id, input=[text_input("plums")])
        assert other["turn"]["id"] == turn_id
        go_on.set()
        ended = await client.until("turn/completed")
        assert ended["turn"]["id"] == turn_id
        assert said(scratch.inputs[1], "user")[-2:] == ["pears", "plums"]
        with pytest.raises(Refused, match=exactly("no active turn to steer")):
            await client.call("turn/steer", threadId=thread_id, expectedTurnId=turn_id, input=[text_input("late")])


async def test_client_finds_its_messages_by_its_own_ids(place: Place) -> None:
    go_on = trio.Event()
    script = [Reply(parts=[*plan("a"), Until(go_on)]), Reply(parts=say("both"))]
    async with open_app_server(place, script) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        begun = await client.call(
            "turn/start", threadId=thread_id, input=[text_input("go")], clientUserMessageId="mine-1"
        )
        await client.until("item/completed", item__clientId="mine-1")
        await client.until("turn/plan/updated")
        await client.call(
            "turn/steer",
            threadId=thread_id,
            expectedTurnId=begun["turn"]["id"],
            input=[text_input("pears")],
            clientUserMessageId="mine-2",
        )
        await client.call("turn/start", threadId=thread_id, input=[text_input("plums")])
        go_on.set()
        await client.until("turn/completed")
        (turn,) = (await client.call("thread/read", threadId=thread_id, includeTurns=True))["thread"]["turns"]
        said_by_person = [item for item in turn["items"] if item["type"] == "userMessage"]
        assert [item.get("clientId") for item in said_by_person] == ["mine-1", "mine-2", None]


async def test_failed_turn_says_why_and_the_next_goes_on(place: Place) -> None:
    async with open_app_server(place, [refuse(400, "bad thing"), Reply(parts=say("fine"))]) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        messages = await client.turn(thread_id, "one")
        assert told(messages)[-2:] == ["error", "turn/completed"]
        failure, turn = messages[-2]["params"], messages[-1]["params"]["turn"]
        assert failure["willRetry"] is False
        assert turn["status"] == "failed"
        assert turn["error"] == failure["error"]
        assert statuses(messages) == ["active", "systemError"]
        again = await client.turn(thread_id, "two")
        assert statuses(again) == ["active", "idle"]


async def test_tier_of_the_service_holds_until_it_is_cleared(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        await client.turn(thread_id, "one", serviceTier="flex")
        await client.turn(thread_id, "two")
        await client.turn(thread_id, "three", serviceTier=None)
        assert [request.body.get("service_tier") for request in scratch.model.requests] == ["flex", "flex", None]
