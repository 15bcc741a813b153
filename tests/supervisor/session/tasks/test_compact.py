"""A compaction that the person asks for: a turn of its own, which takes no input."""

import pytest

from pycodex.protocol.events.exec import ExecCommandBegin
from pycodex.protocol.events.message import AgentMessageContentDelta, ItemStarted
from pycodex.protocol.events.turn import TaskComplete, TaskStarted, TurnAborted
from pycodex.protocol.items import input_text, message
from pycodex.protocol.ops import Compact, InjectItems, Interrupt, SetGoal, UserTurn
from pycodex.protocol.user_input import Text
from pycodex.supervisor.model.scripted import Hold, Reply, Request, say
from pycodex.supervisor.session.session import NotSteerable
from support.engine import Place, line_kinds, open_engine, run, said


async def test_a_running_turn_ends_for_it_without_a_word_to_the_model(place: Place) -> None:
    script = [Reply(parts=run("sleep 600", "c")), Reply(parts=say("SUMMARY")), Reply(parts=say("ok"))]
    async with open_engine(place, script) as engine:
        talk = await engine.start()
        first = await talk.say("go")
        await talk.until(ExecCommandBegin)
        second = await talk.thread.submit(Compact())
        assert await talk.until(TurnAborted) == TurnAborted(turn_id=first, reason="replaced")
        assert (await talk.until(TaskStarted)).turn_id == second
        await talk.ended()
        assert not any("turn_aborted" in text for text in said(engine.inputs[1], "user"))
    assert "turn_aborted" in line_kinds(place.lines())


async def test_it_takes_no_input_and_what_is_said_meanwhile_is_the_next_turn(place: Place) -> None:
    def script(request: Request) -> Reply:
        is_compaction = not request.body["tools"]
        return Reply(parts=[*say("SUMM"), Hold()]) if is_compaction else Reply(parts=say("ok"))

    async with open_engine(place, script) as engine:
        talk = await engine.start()
        first = await talk.thread.submit(Compact())
        await talk.until(ItemStarted)
        with pytest.raises(NotSteerable, match="cannot steer a compact turn"):
            talk.thread.steer_input((Text(text="x"),))
        second = await talk.thread.begin(UserTurn(items=(Text(text="said meanwhile"),)))
        third = await talk.thread.begin(UserTurn(items=(Text(text="and more"),)))
        assert len({first, second, third}) == 3
        await talk.thread.submit(InjectItems(items=(message("developer", [input_text("injected")]),)))
        await talk.thread.submit(Interrupt())
        assert (await talk.until(TurnAborted)).turn_id == first
        for turn_id in (second, third):
            assert (await talk.until(TaskStarted)).turn_id == turn_id
            assert (await talk.until(TaskComplete)).turn_id == turn_id
        asked = [request.body["input"] for request in engine.server.requests if request.body["tools"]]
        assert [said(items, "user")[-1] for items in asked] == ["said meanwhile", "and more"]
        assert "injected" in said(asked[0], "developer")


async def test_a_second_one_waits_for_the_first(place: Place) -> None:
    async with open_engine(place, lambda _request: Reply(parts=say("ok"))) as engine:
        talk = await engine.start()
        turns = [await talk.thread.submit(Compact()) for _ in range(2)]
        for turn_id in turns:
            assert (await talk.until(TaskStarted)).turn_id == turn_id
            await talk.until(TaskComplete)


async def test_a_thread_that_ends_meanwhile_asks_nothing_more_and_loses_nothing_that_was_said(place: Place) -> None:
    def script(request: Request) -> Reply:
        return Reply(parts=say("ok") if request.body["tools"] else [*say("SUMM"), Hold()])

    async with open_engine(place, script) as engine:
        talk = await engine.start()
        await talk.thread.submit(Compact())
        await talk.until(ItemStarted)
        await talk.thread.submit(Compact())
        second = await talk.thread.begin(UserTurn(items=(Text(text="too late"),)))
        await talk.thread.shut_down()
        assert TurnAborted(turn_id=second, reason="interrupted") in await talk.rest()
        assert not any(b"too late" in request.raw for request in engine.server.requests)
        (path,) = place.sessions()
        resumed = await engine.resume(path)
        await resumed.turn("and now")
        assert [text for text in said(engine.inputs[-1], "user") if text[0] != "<"] == ["too late", "and now"]


async def test_nobody_overtakes_what_waits(place: Place) -> None:
    def script(request: Request) -> Reply:
        is_held = b'"three"' not in request.raw and b'"two"' not in request.raw
        return Reply(parts=[*say("ok"), Hold()]) if is_held else Reply(parts=say("ok"))

    async with open_engine(place, script) as engine:
        talk = await engine.start()
        await talk.thread.submit(Compact())
        await talk.until(ItemStarted)
        turns = [await talk.thread.begin(UserTurn(items=(Text(text=text),))) for text in ("one", "two")]
        await talk.thread.submit(Interrupt())
        await talk.until(TaskStarted, lambda event: event.turn_id == turns[0])
        # The turn that runs now takes input, but something was said before this.
        turns.append(await talk.thread.begin(UserTurn(items=(Text(text="three"),))))
        turns.append(await talk.thread.submit(Compact()))
        await talk.until(AgentMessageContentDelta)
        await talk.thread.submit(Interrupt())
        assert (await talk.until(TurnAborted)).reason == "interrupted"
        for turn_id in turns[1:]:
            assert (await talk.until(TaskStarted)).turn_id == turn_id
            await talk.until(TaskComplete)
        asked = [request.body["input"] for request in engine.server.requests if request.body["tools"]]
        assert [said(items, "user")[-1] for items in asked] == ["one", "two", "three"]


async def test_a_goal_goes_on_after_it(place: Place) -> None:
    def script(request: Request) -> Reply:
        is_compaction = not request.body["tools"]
        return Reply(parts=say("SUMMARY")) if is_compaction else Reply(parts=[*say("at work"), Hold()])

    async with open_engine(place, script) as engine:
        talk = await engine.start()
        await talk.thread.submit(SetGoal(request_id="r", objective="pick plums"))
        await talk.until(TaskStarted)
        compaction = await talk.thread.submit(Compact())
        assert (await talk.until(TaskStarted)).turn_id == compaction
        await talk.until(TaskComplete)
        await talk.until(TaskStarted)
        await talk.interrupt()
        await talk.until(TurnAborted)
