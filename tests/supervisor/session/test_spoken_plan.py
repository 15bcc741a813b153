"""In plan mode the plan is an item of its own."""

from typing import Any

from pycodex.protocol.events.message import AgentMessage, ItemCompleted, ItemStarted
from pycodex.protocol.events.turn import TaskComplete
from pycodex.supervisor.model.scripted import Reply, done, say
from support.engine import Place, of_kind, open_engine, said

PLAN = "<proposed_plan>\n# Plan\n- one\n</proposed_plan>"


def items(events: list[Any], kind: type) -> list[dict[str, Any]]:
    wires = [event.item.to_wire() for event in of_kind(events, kind)]
    return [wire for wire in wires if wire["type"] in ("Plan", "AgentMessage")]


async def test_plan_is_shown_apart_and_the_model_keeps_its_words(place: Place) -> None:
    text = f"Before.\n{PLAN}\nAfter."
    async with open_engine(place, [Reply(parts=say(text, pieces=7)), Reply(parts=say("ok"))]) as engine:
        talk = await engine.start()
        events = await talk.turn("plan it", mode="plan")
        assert [item["type"] for item in items(events, ItemStarted)] == ["AgentMessage", "Plan"]
        plan, message = items(events, ItemCompleted)
        assert plan["text"] == "# Plan\n- one\n"
        assert plan["id"].endswith("-plan")
        assert message["content"] == [{"type": "Text", "text": "Before.\nAfter."}]
        (plain,) = of_kind(events, AgentMessage)
        assert plain.message == "Before.\nAfter."
        (ended,) = of_kind(events, TaskComplete)
        assert ended.last_agent_message == "Before.\nAfter."
        await talk.turn("go on", mode="default")
        assert said(engine.inputs[1], "assistant") == [text]
    stored = [line["payload"] for line in place.lines() if line["payload"].get("type") == "item_completed"]
    assert [payload["item"] for payload in stored] == [plan]


async def test_message_of_nothing_but_a_plan_is_none(place: Place) -> None:
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": f"\n{PLAN}\n"}]}
    async with open_engine(place, [Reply(parts=[done(item)])]) as engine:
        talk = await engine.start()
        events = await talk.turn("plan it", mode="plan")
        assert [item["type"] for item in items(events, ItemCompleted)] == ["Plan"]
        assert of_kind(events, AgentMessage) == []


async def test_in_default_mode_it_is_text(place: Place) -> None:
    async with open_engine(place, [Reply(parts=say(PLAN))]) as engine:
        talk = await engine.start()
        events = await talk.turn("plan it")
        (message,) = items(events, ItemCompleted)
        assert message["content"] == [{"type": "Text", "text": PLAN}]
