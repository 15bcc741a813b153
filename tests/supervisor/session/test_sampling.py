"""One request and its answer: when tools start, what is told, what is tried again."""

import os
from typing import Any

import pytest
import trio

from pycodex.protocol.events.error import ErrorEvent, StreamError, WarningEvent
from pycodex.protocol.events.exec import ExecCommandBegin, ExecCommandEnd
from pycodex.protocol.events.message import AgentMessage
from pycodex.protocol.events.turn import ModelReroute, TaskComplete, TokenCount
from pycodex.supervisor.model.scripted import Hold, Part, Reply, Until, call, custom, done, reason, refuse, say
from support.engine import Place, kinds, line_kinds, of_kind, open_engine, outputs, run, said
from support.marked import Mark
from support.waiting import eventually_async


async def test_tools_start_while_the_stream_goes_on_and_are_answered_after_it_in_order(place: Place) -> None:
    both_over = trio.Event()
    parts: list[Part] = [
        *run("sleep 0.2; echo slow", "slow"),
        *run("echo quick", "quick"),
        Until(both_over),
        *say("that was it"),
    ]
    async with open_engine(place, [Reply(parts=parts)]) as engine:
        talk = await engine.start()
        await talk.say("go")
        assert [(await talk.until(ExecCommandEnd)).call_id for _ in range(2)] == ["quick", "slow"]
        assert line_kinds(place.lines())[-2:] == ["function_call", "function_call"]
        both_over.set()
        await talk.ended()
        types = [item["type"] for item in engine.inputs[1]]
        assert types[-5:] == ["function_call", "function_call", "message", *["function_call_output"] * 2]
        assert [text[-6:] for text in outputs(engine.inputs[1]).values()] == ["\nslow\n", "quick\n"]
        assert list(outputs(engine.inputs[1])) == ["slow", "quick"]


@pytest.mark.parametrize(
    ("parts", "answer"),
    [
        (call("no_such_tool", {}, "c"), "unsupported call: no_such_tool"),
        (custom("no_such_tool", "x", "c"), "unsupported custom tool call: no_such_tool"),
        (custom("update_plan", "x", "c"), "aborted"),
        (call("update_plan", "{", "c"), "failed to parse function arguments: "),
        (call("exec_command", {"cmd": 1}, "c"), "failed to parse function arguments: invalid type: integer `1`"),
    ],
    ids=["unknown", "unknown custom", "wrong kind", "no JSON", "wrong type"],
)
async def test_call_that_makes_no_sense_is_answered(place: Place, parts: list[Any], answer: str) -> None:
    async with open_engine(place, [Reply(parts=parts)]) as engine:
        events = await (await engine.start()).turn("go")
        assert engine.inputs[1][-1]["call_id"] == "c"
        assert engine.inputs[1][-1]["output"].startswith(answer)
        assert events[-1].last_agent_message == "done"


async def test_broken_stream_is_asked_again_with_the_same_words(place: Place) -> None:
    script = [
        Reply(parts=say("half"), is_complete=False),
        refuse(502, "gone"),
        Reply(parts=say("whole")),
        Reply(parts=say("next")),
    ]
    async with open_engine(place, script, stream_max_retries=5) as engine:
        talk = await engine.start()
        events = await talk.turn("go")
        notices = of_kind(events, StreamError)
        assert [notice.message for notice in notices] == ["Reconnecting... 1/5", "Reconnecting... 2/5"]
        assert notices[0].additional_details == (
            "stream disconnected before completion: stream closed before response.completed"
        )
        assert "502 Bad Gateway: gone" in notices[1].additional_details
        assert engine.inputs[0] == engine.inputs[1] == engine.inputs[2]
        # What the broken answer had said is history all the same.
        await talk.turn("more")
        assert said(engine.inputs[3], "assistant") == ["half", "whole"]
        assert of_kind(events, ErrorEvent) == []


async def test_budget_of_retries_is_per_request(place: Place) -> None:
    cut = Reply(parts=[], is_complete=False)
    script = [cut, Reply(parts=run("true", "c")), cut, Reply(parts=say("ok")), cut, cut]
    async with open_engine(place, script, stream_max_retries=1) as engine:
        talk = await engine.start()
        assert (await talk.turn("go"))[-1].last_agent_message == "ok"
        events = await talk.turn("again")
        assert [notice.message for notice in of_kind(events, StreamError)] == ["Reconnecting... 1/1"]
        (error,) = of_kind(events, ErrorEvent)
        assert error.message == "stream disconnected before completion: stream closed before response.completed"


async def test_calls_of_a_broken_stream_are_dropped_and_later_told_as_aborted(place: Place) -> None:
    mark = Mark()
    begun = trio.Event()
    script = [
        Reply(parts=[*run(f"sleep {mark}", "lost"), Until(begun)], is_complete=False),
        Reply(parts=say("whole")),
        Reply(parts=say("next")),
    ]
    async with open_engine(place, script, stream_max_retries=1) as engine:
        talk = await engine.start()
        await talk.say("go")
        await talk.until(ExecCommandBegin)
        await eventually_async(mark.sleepers)
        begun.set()
        events = await talk.ended()
        assert events[-1].last_agent_message == "whole"
        assert outputs(engine.inputs[1]) == {}
        assert "function_call_output" not in line_kinds(place.lines())
        await talk.turn("more")
        assert outputs(engine.inputs[2]) == {"lost": "aborted"}
    assert not mark.alive()


async def test_server_that_falls_silent_is_a_broken_stream(place: Place) -> None:
    script = [Reply(parts=[*say("x"), Hold()])]
    async with open_engine(place, script, stream_idle_timeout_ms=50) as engine:
        events = await (await engine.start()).turn("go")
        (error,) = of_kind(events, ErrorEvent)
        assert error.message == "stream disconnected before completion: idle timeout waiting for SSE"


async def test_usage_adds_up_and_is_told_with_every_answer(place: Place) -> None:
    async with open_engine(place, [Reply(parts=run("true", "c")), Reply(parts=say("x"), usage=None)]) as engine:
        talk = await engine.start()
        events = await talk.turn("go")
        infos = [event.info for event in of_kind(events, TokenCount)]
        assert infos[0] is None
        assert [info and info["total_token_usage"]["total_tokens"] for info in infos] == [None, 120, 120, 120]
        await talk.turn("more")
        last = of_kind(talk.events, TokenCount)[-1].info
        assert last["total_token_usage"] == {
            "input_tokens": 200,
            "cached_input_tokens": 20,
            "output_tokens": 40,
            "reasoning_output_tokens": 10,
            "total_tokens": 240,
        }
        assert last["last_token_usage"]["total_tokens"] == 120
        assert last["model_context_window"] == 258_400


async def test_rate_limits_are_told_and_credits_outlast_answers_without_them(place: Place) -> None:
    with_credits = {
        "x-codex-primary-used-percent": "12.5",
        "x-codex-primary-window-minutes": "300",
        "x-codex-credits-has-credits": "true",
        "x-codex-credits-unlimited": "false",
        "x-codex-credits-balance": "7",
    }
    script = [
        Reply(parts=say("one"), headers=with_credits),
        Reply(parts=say("two"), headers={"x-codex-primary-used-percent": "20"}),
    ]
    async with open_engine(place, script) as engine:
        talk = await engine.start()
        first = of_kind(await talk.turn("one"), TokenCount)[-1].rate_limits
        second = of_kind(await talk.turn("two"), TokenCount)[-1].rate_limits
        assert first["primary"] == {"used_percent": 12.5, "window_minutes": 300, "resets_at": None}
        assert second["primary"] == {"used_percent": 20.0, "window_minutes": None, "resets_at": None}
        assert first["credits"] == second["credits"] == {"has_credits": True, "unlimited": False, "balance": "7"}


async def test_limits_that_come_with_a_refusal_are_told(place: Place) -> None:
    refusal = refuse(429, "stop", type="usage_limit_reached", plan_type="plus")
    refusal.headers = {"x-codex-primary-used-percent": "100"}
    async with open_engine(place, [refusal]) as engine:
        events = await (await engine.start()).turn("go")
        (error,) = of_kind(events, ErrorEvent)
        assert error.message.startswith("You've hit your usage limit. Upgrade to Pro")
        assert error.codex_error_info == "usage_limit_exceeded"
        assert of_kind(events, TokenCount)[-1].rate_limits["primary"]["used_percent"] == 100


async def test_other_model_than_asked_for_is_told_once_a_turn(place: Place) -> None:
    elsewhere = {"openai-model": "gpt-5.2"}
    script = [Reply(parts=run("true", "c"), headers=elsewhere), Reply(parts=say("x"), headers=elsewhere)]
    async with open_engine(place, script) as engine:
        talk = await engine.start()
        events = await talk.turn("go")
        (reroute,) = of_kind(events, ModelReroute)
        assert (reroute.from_model, reroute.to_model) == ("gpt-5.4", "gpt-5.2")
        (warning,) = of_kind(events, WarningEvent)
        assert f"Warning: {warning.message}" in said(engine.inputs[1], "user")


async def test_same_model_in_other_letters_is_no_other_model(place: Place) -> None:
    async with open_engine(place, [Reply(parts=say("x"), headers={"openai-model": "GPT-5.4"})]) as engine:
        assert of_kind(await (await engine.start()).turn("go"), ModelReroute | WarningEvent) == []


async def test_reasoning_is_told_kept_and_sent_back(place: Place) -> None:
    async with open_engine(place, [Reply(parts=[*reason("thinking"), *say("x")])]) as engine:
        talk = await engine.start()
        events = await talk.turn("go")
        assert [kind for kind in kinds(events) if "reasoning" in kind] == [
            "agent_reasoning_section_break",
            "reasoning_content_delta",
            "agent_reasoning",
        ]
        await talk.turn("more")
        (kept,) = [item for item in engine.inputs[1] if item["type"] == "reasoning"]
        assert kept == {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "thinking"}],
            "content": None,
            "encrypted_content": "c2VhbGVk",
        }


async def test_search_of_the_model_is_told_and_kept(place: Place) -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    found = {**search, "action": {"type": "search", "query": "weather"}}
    async with open_engine(place, [Reply(parts=[done(found), *say("x")])]) as engine:
        talk = await engine.start()
        events = await talk.turn("go")
        assert kinds(events)[5:9] == ["item_started", "web_search_begin", "item_completed", "web_search_end"]
        assert events[8].query == "weather"
        await talk.turn("more")
        assert {"type": "web_search_call", "status": "completed", "action": found["action"]} in engine.inputs[1]


async def test_items_of_no_known_kind_change_nothing(place: Place) -> None:
    parts: list[Part] = [done({"type": "future"}), done({"type": "message"}), b"data: {]\n\n", b": ping\n\n", *say("x")]
    async with open_engine(place, [Reply(parts=parts)]) as engine:
        events = await (await engine.start()).turn("go")
        assert [event.message for event in of_kind(events, AgentMessage)] == ["x"]
        assert of_kind(events, ErrorEvent) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
async def test_file_that_fails_in_the_midst_of_an_answer_ends_the_turn_before_the_call_runs(place: Place) -> None:
    """The file becomes one that takes no byte, as a full disk does, and later one that does again."""
    called = trio.Event()
    script = [
        Reply(parts=[*say("x"), Until(called), *run(f"touch {place.workspace}/ran", "c"), *say("y")]),
        Reply(parts=say("ok")),
    ]
    async with open_engine(place, script) as engine:
        talk = await engine.start("sandbox_mode=danger-full-access")
        await talk.say("go")
        await talk.until(AgentMessage)
        (path,) = place.sessions()
        descriptor = descriptor_of(str(path))
        kept = os.dup(descriptor)
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, descriptor)
        called.set()
        events = await talk.ended()
        (error,) = of_kind(events, ErrorEvent)
        assert error.message.startswith(f"cannot write the session file {path}: No space left on device.")
        assert isinstance(events[-1], TaskComplete)
        assert not (place.workspace / "ran").exists()
        assert len(engine.inputs) == 1
        os.dup2(kept, descriptor)
        events = await talk.turn("again")
        assert of_kind(events, ErrorEvent) == []
        assert not (place.workspace / "ran").exists()
        assert outputs(engine.inputs[1]) == {"c": "aborted"}
        # The file has caught up with what the model knows.
        written = [line["payload"] for line in place.lines() if line["type"] == "response_item"]
        assert [item for item in engine.inputs[1] if item["type"] != "function_call_output"] == written[:-1]
        for each in (kept, full):
            os.close(each)


def descriptor_of(path: str) -> int:
    """Of this process, the one that is open on the file."""
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}") == path:
                return int(name)
        except FileNotFoundError:
            continue
    raise AssertionError(f"{path} is not open")
