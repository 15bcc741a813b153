"""Questions get one answer, or learn that none will come."""

import json
from typing import Any

import pytest
import trio
import trio.testing

from pycodex.protocol.events.question import RequestUserInput
from pycodex.protocol.events.turn import TaskStarted, TurnAborted
from pycodex.protocol.ops import Answer
from pycodex.supervisor.model.scripted import Event, Reply, call, say
from pycodex.supervisor.session.pending import Pending
from pycodex.supervisor.tools.tool import Unanswered
from support.engine import Place, of_kind, open_engine, outputs, plan, said


class Asked:
    """Who asks, and what became of it."""

    def __init__(self, pending: Pending, nursery: trio.Nursery, request_id: str) -> None:
        self.result: object = None
        self.scope = trio.CancelScope()
        nursery.start_soon(self._wait, pending, request_id)

    async def _wait(self, pending: Pending, request_id: str) -> None:
        with self.scope:
            try:
                self.result = await pending.answer_to(request_id, lambda: None)
            except Unanswered as error:
                self.result = error


async def test_each_question_gets_its_own_answer() -> None:
    pending = Pending()
    async with trio.open_nursery() as nursery:
        first, second = Asked(pending, nursery, "1"), Asked(pending, nursery, "2")
        await trio.testing.wait_all_tasks_blocked()
        assert pending.answer("2", "b")
        assert pending.answer("1", None)
    assert (first.result, second.result) == (None, "b")


async def test_only_the_first_answer_counts_and_only_while_somebody_waits() -> None:
    pending = Pending()
    assert not pending.answer("1", "early")
    async with trio.open_nursery() as nursery:
        asked = Asked(pending, nursery, "1")
        await trio.testing.wait_all_tasks_blocked()
        assert pending.answer("1", "a")
        assert not pending.answer("1", "b")
    assert asked.result == "a"
    assert not pending.answer("1", "late")


async def test_given_up_questions_learn_that_nobody_answered() -> None:
    pending = Pending()
    async with trio.open_nursery() as nursery:
        answered, open_still = Asked(pending, nursery, "1"), Asked(pending, nursery, "2")
        await trio.testing.wait_all_tasks_blocked()
        assert pending.answer("1", "a")
        pending.give_up()
        assert not pending.answer("2", "late")
    assert answered.result == "a"
    assert isinstance(open_still.result, Unanswered)
    assert str(open_still.result) == "nobody answered"


async def test_who_stops_waiting_is_forgotten() -> None:
    pending = Pending()
    async with trio.open_nursery() as nursery:
        asked = Asked(pending, nursery, "1")
        await trio.testing.wait_all_tasks_blocked()
        asked.scope.cancel()
        await trio.testing.wait_all_tasks_blocked()
        assert not pending.answer("1", "late")
        again = Asked(pending, nursery, "1")
        await trio.testing.wait_all_tasks_blocked()
        assert pending.answer("1", "again")
    assert (asked.result, again.result) == (None, "again")


async def test_question_under_an_id_that_waits_already_is_not_even_asked() -> None:
    """Its answer could not be told from that to the other one."""
    pending = Pending()
    asked_again: list[str] = []
    async with trio.open_nursery() as nursery:
        asked = Asked(pending, nursery, "1")
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(Unanswered, match="another question of the call 1 is open"):
            await pending.answer_to("1", lambda: asked_again.append("1"))
        pending.answer("1", "a")
    assert (asked.result, asked_again) == ("a", [])


# Through the whole engine: a tool asks, a front-end answers.

QUESTION = {
    "id": "fruit",
    "header": "Fruit",
    "question": "Which?",
    "options": [{"label": "Plum", "description": "A plum."}],
}


def ask(call_id: str = "q") -> list[Event]:
    return call("request_user_input", {"questions": [QUESTION]}, call_id)


def answer(*texts: str) -> dict[str, Any]:
    return {"answers": {"fruit": {"answers": list(texts)}}}


async def test_model_hears_what_the_person_answers(place: Place) -> None:
    async with open_engine(place, [Reply(parts=ask()), Reply(parts=say("thanks"))]) as engine:
        talk = await engine.start()
        turn_id = await talk.say("go", mode="plan")
        question = await talk.until(RequestUserInput)
        assert (question.call_id, question.turn_id) == ("q", turn_id)
        assert [asked["id"] for asked in question.questions] == ["fruit"]
        await talk.thread.submit(Answer(request_id="other", value=answer("Pear")))
        await talk.thread.submit(Answer(request_id="q", value=answer("Plum")))
        await talk.ended()
        assert outputs(engine.inputs[1]) == {"q": json.dumps(answer("Plum"), separators=(",", ":"))}


async def test_interrupt_ends_the_question(place: Place) -> None:
    script = [Reply(parts=ask()), Reply(parts=ask("again")), Reply(parts=say("thanks"))]
    async with open_engine(place, script) as engine:
        talk = await engine.start()
        turn_id = await talk.say("go", mode="plan")
        await talk.until(RequestUserInput)
        await talk.interrupt()
        assert (await talk.ended())[-1] == TurnAborted(turn_id=turn_id, reason="interrupted")
        # Too late; and the next question is another one.
        await talk.thread.submit(Answer(request_id="q", value=answer("Plum")))
        await talk.say("go on")
        await talk.until(RequestUserInput)
        await talk.thread.submit(Answer(request_id="again", value=answer("Pear")))
        await talk.ended()
        heard = outputs(engine.inputs[-1])
        assert heard["q"].startswith("aborted by user after ")
        assert heard["again"] == json.dumps(answer("Pear"), separators=(",", ":"))


async def test_mode_lasts_until_another_is_wished_for(place: Place) -> None:
    both = [*ask("q"), *plan("x", call_id="p")]
    script = [Reply(parts=both), Reply(parts=say("1")), Reply(parts=both), Reply(parts=say("2"))]
    async with open_engine(place, script) as engine:
        talk = await engine.start()
        await talk.say("go", mode="plan", mode_instructions="PLAN TEXT")
        started = await talk.until(TaskStarted)
        await talk.until(RequestUserInput)
        await talk.thread.submit(Answer(request_id="q", value=answer("Plum")))
        await talk.ended()
        assert started.collaboration_mode_kind == "plan"
        assert outputs(engine.inputs[1])["p"].endswith("is not allowed in Plan mode")
        assert "<collaboration_mode>PLAN TEXT</collaboration_mode>" in said(engine.inputs[1], "developer")[0]
        modes = [line["payload"] for line in place.lines() if line["type"] == "turn_context"]
        assert [mode["collaboration_mode"]["mode"] for mode in modes] == ["plan"]
        events = await talk.turn("go on", mode="default")
        assert of_kind(events, RequestUserInput) == []
        assert of_kind(events, TaskStarted)[0].collaboration_mode_kind == "default"
        assert outputs(engine.inputs[3]) == {
            "q": "request_user_input is unavailable in Default mode",
            "p": "Plan updated",
        }
