"""Interrupting, steering, joining and ending: what a person can do to a thread at work."""

import os
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from pycodex.protocol.errors import UserFacing
from pycodex.protocol.events.approval import ExecApprovalRequest
from pycodex.protocol.events.error import ErrorEvent, StreamError
from pycodex.protocol.events.exec import ExecCommandBegin, ExecCommandEnd
from pycodex.protocol.events.message import AgentMessage, AgentMessageContentDelta
from pycodex.protocol.events.patch import PatchApplyEnd
from pycodex.protocol.events.turn import ShutdownComplete, TaskComplete, TaskStarted, TokenCount, TurnAborted
from pycodex.protocol.ops import Answer, CleanBackgroundTerminals, Shutdown, UserTurn
from pycodex.protocol.user_input import Text
from pycodex.supervisor.context.environment import user_shell
from pycodex.supervisor.model.scripted import Hold, Reply, Until, call, custom, say
from support.approvals import Person
from support.engine import Place, Talk, kinds, line_kinds, lines_of, of_kind, open_engine, outputs, plan, run, said
from support.full_disk import no_room_behind
from support.marked import Mark
from support.waiting import eventually_async

MARKER = "<turn_aborted>\n"
# Nothing that a front-end may give.
ODD: Any = object()


def make_fifo(place: Place, name: str) -> Path:
    """`cat NAME` lasts until the test lets it go."""
    path = place.workspace / name
    os.mkfifo(path)
    return path


async def let_go(path: Path) -> None:
    def opened() -> list[int]:
        try:
            return [os.open(path, os.O_WRONLY | os.O_NONBLOCK)]
        except OSError:
            return []

    (descriptor,) = await eventually_async(opened, what=f"a reader of {path.name}")
    os.close(descriptor)


async def aborted(talk: Talk, turn_id: str) -> None:
    """Read to the end of an interrupted turn."""
    await talk.interrupt()
    events = await talk.ended()
    assert events[-1] == TurnAborted(turn_id=turn_id, reason="interrupted")
    assert of_kind(events, ErrorEvent) == []


async def test_interrupt_while_the_model_speaks_loses_only_the_half_sentence(place: Place) -> None:
    half = say("whole sentence")[:2]
    async with open_engine(place, [Reply(parts=[*say("before"), *half, Hold()])]) as engine:
        talk = await engine.start()
        turn_id = await talk.say("go")
        await talk.until(AgentMessageContentDelta, lambda event: event.delta.startswith("whole"))
        await aborted(talk, turn_id)
        await engine.server.hung_up.wait()
        assert line_kinds(place.lines())[-3:] == ["message:assistant", "message:user", "turn_aborted"]
        await talk.turn("go on")
        assert said(engine.inputs[1], "assistant") == ["before"]
        *_, marker, asked = said(engine.inputs[1], "user")
        assert marker.startswith(MARKER)
        assert asked == "go on"


async def test_interrupt_while_a_command_runs_leaves_it_running_and_tells_the_model(place: Place) -> None:
    mark = Mark()
    script = [Reply(parts=[*plan("x", call_id="p"), *run(f"sleep {mark}", "c"), *call("update_plan", {}, "later")])]
    async with open_engine(place, script) as engine:
        talk = await engine.start()
        turn_id = await talk.say("go")
        await talk.until(ExecCommandBegin)
        await eventually_async(mark.sleepers)
        await aborted(talk, turn_id)
        assert line_kinds(place.lines())[-5:] == [
            "function_call_output",
            "function_call_output",
            "function_call_output",
            "message:user",
            "turn_aborted",
        ]
        assert len(mark.sleepers()) == 1
        await talk.turn("go on")
        seen = outputs(engine.inputs[1])
        assert seen["p"] == "Plan updated"
        assert seen["c"].startswith("aborted by user after ")
        assert seen["c"].endswith("s")
        assert seen["later"].startswith("aborted by user after ")
    assert not mark.alive()


async def test_interrupt_while_waiting_to_ask_again_is_at_once(place: Place) -> None:
    failed = {
        "type": "response.failed",
        "response": {"error": {"code": "rate_limit_exceeded", "message": "try again in 3000s"}},
    }
    script = [Reply(parts=[failed], is_complete=False), Reply(parts=say("ok"))]
    async with open_engine(place, script, stream_max_retries=5) as engine:
        talk = await engine.start()
        turn_id = await talk.say("go")
        notice = await talk.until(StreamError)
        assert notice.message == "Reconnecting... 1/5"
        await aborted(talk, turn_id)
        assert (await talk.turn("again"))[-1].last_agent_message == "ok"
        assert len(engine.inputs) == 2


async def test_interrupt_before_the_model_answers(place: Place) -> None:
    async with open_engine(place, [Reply(parts=[Hold()])]) as engine:
        talk = await engine.start()
        turn_id = await talk.say("go")
        await talk.until(TokenCount)
        await aborted(talk, turn_id)
        assert (await talk.turn("again"))[-1].last_agent_message == "done"


async def test_interrupt_of_nothing_is_nothing(place: Place) -> None:
    async with open_engine(place, []) as engine:
        talk = await engine.start()
        await talk.interrupt()
        await talk.turn("go")
        await talk.interrupt()
        await talk.interrupt()
        events = await talk.turn("again")
        assert of_kind(talk.events, TurnAborted) == []
        assert kinds(events)[0] == "task_started"
        assert not any(MARKER in text for text in said(engine.inputs[1], "user"))


async def test_turn_can_be_interrupted_again_and_again(place: Place) -> None:
    async with open_engine(place, lambda _: Reply(parts=[*run("sleep 1000", None, yield_time_ms=30_000)])) as engine:
        talk = await engine.start()
        for number in range(3):
            turn_id = await talk.say(f"go {number}")
            await talk.until(ExecCommandBegin)
            await aborted(talk, turn_id)
        assert sum(text.startswith(MARKER) for text in said(engine.inputs[2], "user")) == 2
        await talk.thread.submit(Shutdown())
        assert len(of_kind(await talk.rest(), ExecCommandEnd)) == 3


async def test_turn_that_is_begun_while_one_runs_joins_it(place: Place) -> None:
    go_on = trio.Event()
    script = [Reply(parts=[*say("x"), Until(go_on)]), Reply(parts=say("both"))]
    async with open_engine(place, script) as engine:
        talk = await engine.start()
        turn_id = await talk.thread.begin(UserTurn(items=(Text(text="one"),)))
        await talk.until(AgentMessage)
        assert await talk.thread.begin(UserTurn(items=(Text(text="two"),))) == turn_id
        go_on.set()
        assert (await talk.ended())[-1].turn_id == turn_id
        assert said(engine.inputs[1], "user")[-1] == "two"
        assert await talk.thread.begin(UserTurn(items=(Text(text="three"),))) != turn_id
        await talk.ended()


async def test_turn_that_is_begun_behind_the_end_is_refused(place: Place) -> None:
    async with open_engine(place, []) as engine:
        talk = await engine.start()
        await talk.thread.submit(Shutdown())
        with pytest.raises(UserFacing, match=r"^the thread has ended$"):
            await talk.thread.begin(UserTurn(items=(Text(text="late"),)))
        with pytest.raises(UserFacing, match=r"^the thread has ended$"):
            await talk.thread.begin(UserTurn(items=(Text(text="later"),)))


async def test_said_before_an_interrupt_is_kept(place: Place) -> None:
    async with open_engine(place, [Reply(parts=[*say("x"), Hold()])]) as engine:
        talk = await engine.start()
        turn_id = await talk.say("go")
        await talk.until(AgentMessage)
        talk.thread.steer_input((Text(text="late"),))
        await aborted(talk, turn_id)
        await talk.turn("next")
        late, marker, asked = said(engine.inputs[1], "user")[-3:]
        assert (late, asked) == ("late", "next")
        assert marker.startswith(MARKER)


async def test_said_to_a_full_disk_is_there_for_the_next_turn(place: Place) -> None:
    async with open_engine(place, lambda _request: Reply(parts=say("ok"))) as engine:
        talk = await engine.start()
        await talk.turn("one")
        with no_room_behind(str(talk.thread.rollout_path)):
            assert of_kind(await talk.turn("two"), ErrorEvent)
        await talk.turn("three")
        assert said(engine.inputs[1], "user")[-3:] == ["one", "two", "three"]
    assert line_kinds(place.lines()).count("user_message") == 3


async def test_steering_needs_a_turn_and_the_right_one(place: Place) -> None:
    async with open_engine(place, [Reply(parts=[*say("x"), Hold()])]) as engine:
        talk = await engine.start()
        with pytest.raises(UserFacing, match="no active turn to steer"):
            talk.thread.steer_input((Text(text="x"),))
        turn_id = await talk.say("go")
        await talk.until(AgentMessage)
        with pytest.raises(UserFacing, match=f"expected active turn id `other` but found `{turn_id}`"):
            talk.thread.steer_input((Text(text="x"),), expected_turn_id="other")
        await aborted(talk, turn_id)
        with pytest.raises(UserFacing, match="no active turn"):
            talk.thread.steer_input((Text(text="x"),))
        await talk.turn("next")
        assert said(engine.inputs[1], "user")[-1] == "next"
        assert "x" not in said(engine.inputs[1], "user")


async def test_turn_that_comes_while_one_runs_joins_it(place: Place) -> None:
    joined = trio.Event()
    script = [Reply(parts=[*say("x"), Until(joined)]), Reply(parts=say("both"))]
    async with open_engine(place, script) as engine:
        talk = await engine.start()
        first = await talk.say("one")
        await talk.until(AgentMessage)
        second = await talk.say("two", effort="high")
        await trio.testing.wait_all_tasks_blocked()
        joined.set()
        events = await talk.ended()
        assert second != first
        assert of_kind(talk.events, TaskStarted)[0].turn_id == events[-1].turn_id == first
        assert said(engine.inputs[1], "user")[-2:] == ["one", "two"]
        # Its settings hold for the turns to come, not for the one that runs.
        assert engine.server.requests[1].body["reasoning"]["effort"] == "medium"
        await talk.turn("three")
        assert engine.server.requests[2].body["reasoning"]["effort"] == "high"


async def test_mistake_of_ours_in_a_turn_does_not_end_the_thread(place: Place) -> None:
    async with open_engine(place, []) as engine:
        talk = await engine.start()
        await talk.thread.submit(UserTurn(items=(Text(text="x"), ODD)))
        events = await talk.ended()
        assert kinds(events)[-2:] == ["error", "task_complete"]
        assert of_kind(events, ErrorEvent)[0].message.startswith("unexpected AttributeError: ")
        assert (await talk.turn("again"))[-1].last_agent_message == "done"


async def test_shutdown_ends_the_turn_and_what_it_left_running(place: Place) -> None:
    mark = Mark()
    script = [
        Reply(parts=run(f"sleep {mark}", "a", yield_time_ms=250)),
        Reply(parts=[*run(f"sleep {mark}", "b"), Hold()]),
    ]
    async with open_engine(place, script) as engine:
        talk = await engine.start()
        await talk.say("go")
        await talk.until(ExecCommandBegin, lambda event: event.call_id == "b")
        await eventually_async(lambda: len(mark.sleepers()) == 2)
        await talk.thread.shut_down()
        assert not mark.alive()
        rest = await talk.rest()
        assert [type(event) for event in rest if not isinstance(event, ExecCommandEnd)] == [
            TurnAborted,
            ShutdownComplete,
        ]
        assert len(of_kind(rest, ExecCommandEnd)) == 2
        assert isinstance(rest[-1], ShutdownComplete)
        assert line_kinds(place.lines())[-3:] == ["function_call_output", "message:user", "turn_aborted"]
        # Whoever comes too late is not kept waiting.
        await talk.thread.shut_down()


async def test_background_commands_are_ended_on_request_and_the_thread_goes_on(place: Place) -> None:
    mark = Mark()
    async with open_engine(place, [Reply(parts=run(f"sleep {mark}", "a", yield_time_ms=250))]) as engine:
        talk = await engine.start()
        await talk.turn("go")
        assert mark.alive()
        await talk.thread.submit(CleanBackgroundTerminals())
        ended = await talk.until(ExecCommandEnd)
        assert (ended.call_id, ended.exit_code, ended.status) == ("a", -1, "failed")
        assert not mark.alive()
        assert (await talk.turn("again"))[-1].last_agent_message == "done"


async def test_process_that_was_left_running_is_told_about_after_its_turn(place: Place) -> None:
    fifo = make_fifo(place, "f")
    async with open_engine(place, [Reply(parts=run("cat f; echo end", "c", yield_time_ms=250))]) as engine:
        talk = await engine.start()
        events = await talk.turn("go")
        assert isinstance(events[-1], TaskComplete)
        assert "Process running with session ID" in outputs(engine.inputs[1])["c"]
        assert of_kind(events, ExecCommandEnd) == []
        await let_go(fifo)
        ended = await talk.until(ExecCommandEnd)
        assert (ended.call_id, ended.exit_code, ended.aggregated_output) == ("c", 0, "end\n")


async def test_answer_to_nobody_is_nothing(place: Place) -> None:
    async with open_engine(place, []) as engine:
        talk = await engine.start()
        await talk.thread.submit(Answer(request_id="x", value=1))
        assert (await talk.turn("go"))[-1].last_agent_message == "done"


async def test_tools_that_may_run_beside_each_other_do_and_others_wait(place: Place) -> None:
    fifos = [make_fifo(place, name) for name in ("f", "g")]
    parts = [*run("cat f", "a"), *run("cat g", "b"), *plan("x", call_id="p"), *run("echo last", "z")]
    async with open_engine(place, [Reply(parts=parts)]) as engine:
        talk = await engine.start()
        await talk.say("go")
        begun = {(await talk.until(ExecCommandBegin)).call_id for _ in range(2)}
        assert begun == {"a", "b"}
        await let_go(fifos[1])
        assert (await talk.until(ExecCommandEnd)).call_id == "b"
        assert "plan_update" not in kinds(talk.events)
        await let_go(fifos[0])
        events = await talk.ended()
        order = [kind for kind in kinds(events) if kind in ("exec_command_end", "plan_update", "exec_command_begin")]
        assert order == ["exec_command_end", "plan_update", "exec_command_begin", "exec_command_end"]
        assert list(outputs(engine.inputs[1])) == ["a", "b", "p", "z"]


async def test_queue_of_wishes_is_taken_in_order(place: Place) -> None:
    async with open_engine(place, lambda _: Reply(parts=[*say("x"), Hold()])) as engine:
        talk = await engine.start()
        ids = []
        for number in range(20):
            ids.append(await talk.say(str(number)))
            await talk.interrupt()
        ends: list[Any] = []
        while len(ends) < 20:
            ends.append(await talk.until(TurnAborted))
        assert [end.turn_id for end in ends] == ids
        (path,) = place.sessions()
        assert len([line for line in lines_of(path) if line["payload"].get("type") == "turn_aborted"]) == 20


# Questions to the person

TOUCH = {"a": "touch a", "b": "touch b"}
UNTRUSTED = {"sandbox_mode": "workspace-write", "approval_policy": "untrusted"}


def asking(*names: str) -> Reply:
    """One response in which the model runs these, all of which are asked about."""
    return Reply(parts=[event for name in names for event in run(TOUCH[name], name)])


def made(place: Place) -> set[str]:
    return {name for name in TOUCH if (place.workspace / name).exists()}


@pytest.mark.parametrize(
    ("decision", "output", "effect"),
    [
        ("approved", "Process exited with code 0", {"a"}),
        (
            "denied",
            (
                f"exec_command failed for `{user_shell().path} -c 'touch a'`: "
                'CreateProcess { message: "Rejected(\\"rejected by user\\")" }'
            ),
            set[str](),
        ),
    ],
    ids=["yes", "no"],
)
async def test_turn_goes_on_after_an_answer(place: Place, decision: str, output: str, effect: set[str]) -> None:
    async with open_engine(place, [asking("a")]) as engine:
        person = Person(await engine.start(**UNTRUSTED), [decision])
        events = await person.turn("go")
        assert events[-1].last_agent_message == "done"
        told = [kind for kind in kinds(events) if kind.startswith("exec_") and not kind.endswith("_delta")]
        assert told == ["exec_approval_request", "exec_command_begin", "exec_command_end"]
        assert output in outputs(engine.inputs[1])["a"]
    assert made(place) == effect
    assert [request.call_id for request in person.asked] == ["a"]


async def test_cancel_ends_the_turn_and_the_model_learns_of_it_with_the_next(place: Place) -> None:
    patch = "*** Begin Patch\n*** Add File: b\n+x\n*** End Patch\n"
    script = [
        asking("a"),
        Reply(parts=call("shell", {"command": ["touch", "a"]}, "s")),
        Reply(parts=custom("apply_patch", patch, "p")),
    ]
    async with open_engine(place, script) as engine:
        person = Person(await engine.start(**UNTRUSTED), ["abort"] * 3)
        for text in ("one", "two", "three"):
            events = await person.turn(text)
            assert isinstance(events[-1], TurnAborted)
            assert events[-1].reason == "interrupted"
            (end,) = of_kind(events, ExecCommandEnd | PatchApplyEnd)
            assert end.status == "declined"
        assert line_kinds(place.lines())[-3:] == ["custom_tool_call_output", "message:user", "turn_aborted"]
        events = await person.turn("four")
        assert events[-1].last_agent_message == "done"
        items = engine.inputs[3]
        answers = {item["call_id"]: item["output"] for item in items if item["type"].endswith("_output")}
        assert list(answers) == ["a", "s", "p"]
        assert answers["a"].startswith("aborted by user after ")
        assert answers["s"].startswith("Wall time: ")
        assert answers["s"].endswith(" seconds\naborted by user")
        assert answers["p"].startswith("aborted by user after ")
        assert sum(text.startswith(MARKER) for text in said(items, "user")) == 3
    assert made(place) == set()


async def test_interrupt_while_asked_ends_the_turn_and_a_late_answer_is_nothing(place: Place) -> None:
    async with open_engine(place, [asking("a"), asking("b")]) as engine:
        talk = await engine.start(**UNTRUSTED)
        person = Person(talk, ["approved"])
        turn_id = await talk.say("go")
        (request,) = await person.questions(1)
        await aborted(talk, turn_id)
        await person.answer(request.call_id, "approved")
        events = await person.turn("again")
        assert events[-1].last_agent_message == "done"
        assert outputs(engine.inputs[1])["a"].startswith("aborted by user after ")
        assert of_kind(talk.events, ExecCommandBegin)[0].call_id == "b"
    assert made(place) == {"b"}


async def test_questions_are_open_beside_each_other_and_answered_in_any_order(place: Place) -> None:
    async with open_engine(place, [asking("a", "b")]) as engine:
        talk = await engine.start(**UNTRUSTED)
        person = Person(talk)
        await talk.say("go")
        assert {request.call_id for request in await person.questions(2)} == {"a", "b"}
        await person.answer("b", "approved")
        end = await talk.until(ExecCommandEnd)
        assert (end.call_id, end.status, made(place)) == ("b", "completed", {"b"})
        await person.answer("a", "denied")
        end = await talk.until(ExecCommandEnd)
        assert (end.call_id, end.status) == ("a", "declined")
        await talk.ended()
        told = outputs(engine.inputs[1])
        assert list(told) == ["a", "b"]
        assert "rejected by user" in told["a"]
        assert "Process exited with code 0" in told["b"]
    assert made(place) == {"b"}


async def test_cancel_takes_back_the_other_questions(place: Place) -> None:
    async with open_engine(place, [asking("a", "b")]) as engine:
        talk = await engine.start(**UNTRUSTED)
        person = Person(talk)
        await talk.say("go")
        await person.questions(2)
        await person.answer("b", "abort")
        assert isinstance((await talk.ended())[-1], TurnAborted)
        await person.answer("a", "approved")
        await talk.turn("again")
        told = outputs(engine.inputs[1])
        assert [text.startswith("aborted by user after ") for text in told.values()] == [True, True]
        assert [end.call_id for end in of_kind(talk.events, ExecCommandEnd)] == ["b"]
    assert made(place) == set()


async def test_second_answer_to_the_same_question_is_nothing(place: Place) -> None:
    async with open_engine(place, [asking("a"), asking("b")]) as engine:
        talk = await engine.start(**UNTRUSTED)
        person = Person(talk)
        await talk.say("go")
        await person.questions(1)
        for decision in ("denied", "approved", "abort"):
            await person.answer("a", decision)
        await person.questions(1)
        await person.answer("b", "approved")
        assert isinstance((await talk.ended())[-1], TaskComplete)
    assert made(place) == {"b"}


async def test_shutdown_while_asked_ends_in_good_order(place: Place) -> None:
    async with open_engine(place, [asking("a")]) as engine:
        talk = await engine.start(**UNTRUSTED)
        await talk.say("go")
        await Person(talk).questions(1)
        await talk.thread.shut_down()
        rest = await talk.rest()
        assert [kind for kind in kinds(rest) if kind != "token_count"] == ["turn_aborted", "shutdown_complete"]
        assert line_kinds(place.lines())[-3:] == ["function_call_output", "message:user", "turn_aborted"]
    assert made(place) == set()


async def test_turn_that_is_wished_right_after_a_cancel_is_a_turn(place: Place) -> None:
    async with open_engine(place, [asking("a")]) as engine:
        talk = await engine.start(**UNTRUSTED)
        await talk.say("go")
        await Person(talk).questions(1)
        await talk.thread.submit(Answer(request_id="a", value="abort"))
        next_id = await talk.say("next")
        await talk.until(TurnAborted)
        await trio.testing.wait_all_tasks_blocked()
        await talk.thread.submit(Shutdown())
        rest = await talk.rest()
        assert [event.turn_id for event in of_kind(rest, TaskStarted)] == [next_id]


async def test_no_two_open_questions_have_the_same_id(place: Place) -> None:
    async with open_engine(place, [Reply(parts=[*run("touch a", "same"), *run("touch b", "same")])]) as engine:
        person = Person(await engine.start(**UNTRUSTED), ["approved"] * 2)
        await person.turn("go")
        open_questions = 0
        for event in person.talk.events:
            open_questions += isinstance(event, ExecApprovalRequest)
            open_questions -= isinstance(event, ExecCommandEnd)
            assert open_questions <= 1
