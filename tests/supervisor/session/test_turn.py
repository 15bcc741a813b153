"""A turn from the person's words to the last answer: what is told, what is written, what the model sees."""

from typing import Any

import pytest
import trio

from pycodex.protocol.events.error import ErrorEvent
from pycodex.protocol.events.exec import ExecCommandBegin, ExecCommandEnd
from pycodex.protocol.events.message import AgentMessage, ItemCompleted, ItemStarted
from pycodex.protocol.events.plan import PlanUpdate
from pycodex.protocol.events.turn import TaskComplete, TaskStarted, TokenCount
from pycodex.protocol.permissions import Permissions
from pycodex.protocol.user_input import Text
from pycodex.supervisor.model.scripted import Reply, Until, refuse, say
from support.engine import Place, kinds, line_kinds, of_kind, open_engine, outputs, plan, run, said


async def test_events_and_lines_of_a_turn_have_one_order(place: Place) -> None:
    planned, ran = trio.Event(), trio.Event()
    first = Reply(
        parts=[*plan("look", call_id="p"), Until(planned), *run("echo hi", "c"), Until(ran), *say("looking", pieces=2)]
    )
    async with open_engine(place, [first, Reply(parts=say("done"))]) as engine:
        talk = await engine.start()
        turn_id = await talk.say("go")
        start = len(talk.events)
        await talk.until(PlanUpdate)
        planned.set()
        await talk.until(ExecCommandEnd)
        ran.set()
        await talk.ended()
        assert kinds(talk.events[start:]) == [
            "task_started",
            "item_started",
            "item_completed",
            "user_message",
            "token_count",
            "plan_update",
            "exec_command_begin",
            "exec_command_output_delta",
            "exec_command_end",
            "item_started",
            "agent_message_content_delta",
            "agent_message_content_delta",
            "item_completed",
            "agent_message",
            "token_count",
            "token_count",
            "item_started",
            "agent_message_content_delta",
            "item_completed",
            "agent_message",
            "token_count",
            "task_complete",
        ]
        assert of_kind(talk.events, TaskStarted)[0].turn_id == turn_id
        assert talk.events[-1] == TaskComplete(turn_id=turn_id, last_agent_message="done")
        assert line_kinds(place.lines()) == [
            "session_meta",
            "task_started",
            "message:developer",
            "message:user",
            "turn_context",
            "message:user",
            "user_message",
            "token_count",
            "function_call",
            "function_call",
            "agent_message",
            "message:assistant",
            "token_count",
            "function_call_output",
            "function_call_output",
            "token_count",
            "agent_message",
            "message:assistant",
            "token_count",
            "task_complete",
        ]


async def test_what_is_written_is_what_the_model_is_sent(place: Place) -> None:
    script = [Reply(parts=[*run("echo hi", "c"), *say("looking")]), Reply(parts=say("done"))]
    async with open_engine(place, script) as engine:
        await (await engine.start()).turn("go")
        written = [line["payload"] for line in place.lines() if line["type"] == "response_item"]
        assert engine.inputs == [written[:3], written[:-1]]
        assert said(engine.inputs[1], "assistant") == ["looking"]
        assert outputs(engine.inputs[1])["c"].endswith("Output:\nhi\n")


async def test_items_of_an_answer_keep_their_ids_from_begin_to_end(place: Place) -> None:
    async with open_engine(place, [Reply(parts=say("a", pieces=1))]) as engine:
        events = await (await engine.start()).turn("go")
        begun, ended = of_kind(events, ItemStarted), of_kind(events, ItemCompleted)
        assert [event.item.id for event in begun] == [event.item.id for event in ended]
        assert len({event.item.id for event in begun}) == 2


async def test_second_turn_says_nothing_about_settings_that_stay(place: Place) -> None:
    async with open_engine(place, []) as engine:
        talk = await engine.start()
        await talk.turn("one")
        await talk.turn("two")
        before, after = engine.inputs
        assert after[: len(before)] == before
        assert after[len(before) :] == [_said("assistant", "done"), _said("user", "two")]
        assert line_kinds(place.lines()).count("turn_context") == 2


def _said(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        ({"cwd": "/"}, [("user", "<environment_context>\n  <cwd>/</cwd>")]),
        (
            {"permissions": Permissions(mode="workspace-write")},
            [("developer", "<permissions instructions>\nFile access is limited by a sandbox. `sandbox_mode` is `work")],
        ),
        ({"approval_policy": "on-request"}, [("developer", "<permissions instructions>\n")]),
        ({"model": "gpt-5.2"}, [("developer", "<model_switch>\n")]),
        ({"effort": "high"}, []),
    ],
)
async def test_second_turn_tells_the_model_what_changed(
    place: Place, wish: dict[str, Any], told: list[tuple[str, str]]
) -> None:
    async with open_engine(place, []) as engine:
        talk = await engine.start()
        await talk.turn("one")
        await talk.turn("two", **wish)
        await talk.turn("three")
        first, second, third = engine.inputs
        *changes, asked = second[len(first) + 1 :]
        assert asked == _said("user", "two")
        assert len(changes) == len(told)
        for item, (role, text) in zip(changes, told, strict=True):
            assert item["role"] == role
            assert item["content"][0]["text"].startswith(text)
        # What was wished for one turn holds from then on, and is not told again.
        assert third[len(second) + 1 :] == [_said("user", "three")]
        if "model" in wish:
            assert [request.body["model"] for request in engine.server.requests] == ["gpt-5.4", "gpt-5.2", "gpt-5.2"]
        if "effort" in wish:
            assert [request.body["reasoning"]["effort"] for request in engine.server.requests] == [
                "medium",
                "high",
                "high",
            ]


async def test_command_runs_where_the_turn_is(place: Place) -> None:
    below = place.workspace / "below"
    below.mkdir()
    async with open_engine(place, [Reply(parts=run("pwd", "c"))]) as engine:
        talk = await engine.start()
        events = await talk.turn("go", cwd=str(below))
        assert of_kind(events, ExecCommandBegin)[0].cwd == str(below)
        assert outputs(engine.inputs[1])["c"].endswith(f"Output:\n{below}\n")


async def test_failed_request_ends_the_turn_and_the_next_one_works(place: Place) -> None:
    script = [refuse(400, "no such thing"), Reply(parts=say("better"))]
    async with open_engine(place, script) as engine:
        talk = await engine.start()
        events = await talk.turn("one")
        (error,) = of_kind(events, ErrorEvent)
        assert "no such thing" in error.message
        assert kinds(events)[-2:] == ["error", "task_complete"]
        assert events[-1].last_agent_message is None
        events = await talk.turn("two")
        assert events[-1].last_agent_message == "better"
        assert said(engine.inputs[1], "user")[-2:] == ["one", "two"]
        assert "error" not in line_kinds(place.lines())


async def test_full_context_counts_as_full(place: Place) -> None:
    failed = {"type": "response.failed", "response": {"error": {"code": "context_length_exceeded", "message": "x"}}}
    async with open_engine(place, [Reply(parts=[failed], is_complete=False)]) as engine:
        events = await (await engine.start()).turn("go")
        usage = of_kind(events, TokenCount)[-1].info
        assert usage["total_token_usage"]["total_tokens"] == usage["model_context_window"] == 258_400
        assert of_kind(events, ErrorEvent)[0].codex_error_info == "context_window_exceeded"


async def test_what_was_said_during_the_final_answer_gets_one_of_its_own(place: Place) -> None:
    steered = trio.Event()
    script = [Reply(parts=[*say("first"), Until(steered)]), Reply(parts=say("second"))]
    async with open_engine(place, script) as engine:
        talk = await engine.start()
        turn_id = await talk.say("go")
        await talk.until(AgentMessage)
        assert talk.thread.steer_input((Text(text="and this"),), expected_turn_id=turn_id) == turn_id
        steered.set()
        events = await talk.ended()
        assert events[-1] == TaskComplete(turn_id=turn_id, last_agent_message="second")
        assert [item["role"] for item in engine.inputs[1][-2:]] == ["assistant", "user"]
        assert said(engine.inputs[1], "user")[-1] == "and this"
        kinds_of_lines = line_kinds(place.lines())
        assert kinds_of_lines.count("user_message") == 2
        assert kinds_of_lines.count("task_started") == 1


async def test_what_was_said_while_a_tool_ran_comes_behind_its_output(place: Place) -> None:
    async with open_engine(place, [Reply(parts=run("sleep 0.2; echo hi", "c"))]) as engine:
        talk = await engine.start()
        await talk.say("go")
        await talk.until(ExecCommandBegin)
        talk.thread.steer_input((Text(text="hurry"),))
        await talk.ended()
        assert len(engine.inputs) == 2
        assert [item["type"] for item in engine.inputs[1][-3:]] == ["function_call", "function_call_output", "message"]
        assert said(engine.inputs[1], "user")[-1] == "hurry"


async def test_input_of_a_turn_that_failed_is_there_for_the_next(place: Place) -> None:
    steered = trio.Event()
    script = [Reply(parts=[*say("x"), Until(steered)], is_complete=False), Reply(parts=say("ok"))]
    async with open_engine(place, script) as engine:
        talk = await engine.start()
        await talk.say("go")
        await talk.until(AgentMessage)
        talk.thread.steer_input((Text(text="late"),))
        steered.set()
        assert kinds(await talk.ended()).count("error") == 1
        await talk.turn("next")
        assert said(engine.inputs[1], "user")[-3:] == ["go", "late", "next"]


async def test_output_schema_is_for_one_turn(place: Place) -> None:
    schema = {"type": "object"}
    async with open_engine(place, []) as engine:
        talk = await engine.start()
        await talk.turn("one", output_schema=schema)
        await talk.turn("two")
        first, second = (request.body.get("text", {}) for request in engine.server.requests)
        assert first["format"]["schema"] == schema
        assert "format" not in second


async def test_session_file_that_cannot_be_made_ends_the_turn_before_any_request(place: Place) -> None:
    (place.home / "sessions").write_text("in the way")
    async with open_engine(place, []) as engine:
        talk = await engine.start()
        events = await talk.turn("one")
        (error,) = of_kind(events, ErrorEvent)
        assert error.message.startswith("cannot write the session file ")
        assert "unexpected" not in error.message
        assert engine.server.requests == []
        (place.home / "sessions").unlink()
        events = await talk.turn("two")
        assert of_kind(events, ErrorEvent) == []
        assert said(engine.inputs[0], "user")[-2:] == ["one", "two"]
        written = [line["payload"] for line in place.lines() if line["type"] == "response_item"]
        assert written[:-1] == engine.inputs[0]
