"""A full context becomes a short one: what the model is asked, what it sees afterwards, what is told and written."""

import json
from typing import Any

import pytest

from pycodex.protocol.events.error import BackgroundEvent, ErrorEvent, StreamError, WarningEvent
from pycodex.protocol.events.message import AgentMessage, ItemCompleted, ItemStarted
from pycodex.protocol.events.turn import ContextCompacted, TaskComplete, ThreadRolledBack, TokenCount
from pycodex.protocol.ops import Compact, RollBack, SetGoal
from pycodex.protocol.thread_items import ContextCompactionItem
from pycodex.protocol.user_input import Text
from pycodex.supervisor.model.scripted import SIZED, Hold, Reply, Request, call, refuse, say
from pycodex.supervisor.session.compaction import ACCURACY_WARNING
from support.engine import Engine, Place, Talk, kinds, line_kinds, of_kind, open_engine, run, said
from support.full_disk import no_room_behind

LIMIT = "model_auto_compact_token_limit=4000"
FULL = {"input_tokens": 5000, "output_tokens": 100, "total_tokens": 5100}


def overflow() -> Reply:
    error = {"code": "context_length_exceeded", "message": "too long"}
    return Reply(parts=[{"type": "response.failed", "response": {"id": "r", "error": error}}], is_complete=False)


def full(*parts: Any) -> Reply:
    return Reply(parts=[event for part in parts for event in part], usage=FULL)


async def compact(talk: Talk) -> list[Any]:
    await talk.thread.submit(Compact())
    return await talk.ended()


def own(items: list[dict[str, Any]]) -> list[str]:
    """What the model is shown in the person's name, without the settings."""
    return [text for text in said(items, "user") if not text.startswith(("<environment_context>", "# AGENTS.md"))]


def roles(items: list[dict[str, Any]]) -> list[str]:
    return [item.get("role", item["type"]) for item in items]


async def test_what_was_said_becomes_a_summary(place: Place) -> None:
    script = [Reply(parts=say("an answer")), Reply(parts=say("all about plums")), Reply(parts=say("ok"))]
    async with open_engine(place, script) as engine:
        talk = await engine.start()
        await talk.turn("first plum")
        events = await compact(talk)
        assert kinds(events) == [
            "task_started",
            "item_started",
            "token_count",
            "token_count",
            "token_count",
            "item_completed",
            "context_compacted",
            "warning",
            "task_complete",
        ]
        begun, ended = of_kind(events, ItemStarted)[0].item, of_kind(events, ItemCompleted)[0].item
        assert begun == ended
        assert of_kind(events, WarningEvent)[0].message == ACCURACY_WARNING
        # Nobody hears what the model says meanwhile.
        assert not of_kind(events, AgentMessage)
        asked = engine.server.requests[1].body
        assert asked["tools"] == []
        assert asked["parallel_tool_calls"] is False
        await talk.turn("second")
        after = engine.inputs[2]
        assert own(after)[0] == "first plum"
        assert own(after)[1].endswith("\nall about plums")
        assert own(after)[2:] == ["second"]
        assert roles(after) == ["user", "user", "developer", "user", "user"]
    written = line_kinds(place.lines())
    place_of_it = written.index("compacted")
    assert written[place_of_it - 3 : place_of_it] == ["task_started", "token_count", "token_count"]
    assert written[place_of_it + 1 : place_of_it + 4] == ["token_count", "context_compacted", "task_complete"]


async def test_a_resumed_thread_goes_on_from_the_summary_and_keeps_only_one(place: Place) -> None:
    replies = iter(["answer", "first summary", "more", "second summary", "end"])
    async with open_engine(place, lambda _request: Reply(parts=say(next(replies)))) as engine:
        talk = await engine.start()
        await talk.turn("one")
        await compact(talk)
        await talk.thread.shut_down()
        talk = await engine.resume(place.sessions()[0])
        await talk.turn("two")
        assert [text.rpartition("\n")[2] for text in own(engine.inputs[2])] == ["one", "first summary", "two"]
        await compact(talk)
        await talk.turn("three")
        texts = [text.rpartition("\n")[2] for text in own(engine.inputs[4])]
        assert texts == ["one", "two", "second summary", "three"]


async def test_a_full_context_is_compacted_before_the_next_turn(place: Place) -> None:
    script = [full(say("one")), Reply(parts=say("SUMMARY")), Reply(parts=say("two"))]
    async with open_engine(place, script) as engine:
        talk = await engine.start(LIMIT)
        await talk.turn("first")
        events = await talk.turn("second")
        assert kinds(events).index("context_compacted") < kinds(events).index("user_message")
        assert events[-1].last_agent_message == "two"
        assert own(engine.inputs[1])[:-1] == ["first"]
        assert [text.rpartition("\n")[2] for text in own(engine.inputs[2])] == ["first", "SUMMARY", "second"]


async def test_the_model_goes_on_with_its_turn_in_a_new_context(place: Place) -> None:
    script = [full(run("echo out", "c")), Reply(parts=say("SUMMARY")), Reply(parts=say("finished"))]
    async with open_engine(place, script) as engine:
        talk = await engine.start(LIMIT)
        events = await talk.turn("go")
        assert events[-1] == TaskComplete(turn_id=events[0].turn_id, last_agent_message="finished")
        after = engine.inputs[2]
        assert roles(after) == ["developer", "user", "user", "user"]
        assert [text.rpartition("\n")[2] for text in own(after)] == ["go", "SUMMARY"]
        await talk.turn("next")
        # It was told its settings in the middle of the turn: nothing of them is told again.
        assert roles(engine.inputs[3]) == [*roles(after), "assistant", "user"]
    written = line_kinds(place.lines())
    assert written[written.index("compacted") + 1] == "turn_context"


async def test_a_last_answer_is_not_followed_by_a_compaction(place: Place) -> None:
    async with open_engine(place, [full(say("done"))]) as engine:
        talk = await engine.start(LIMIT)
        assert "context_compacted" not in kinds(await talk.turn("go"))
        assert len(engine.server.requests) == 1


async def test_what_is_said_meanwhile_comes_after_the_summary(place: Place) -> None:
    def script(request: Request) -> Reply:
        number = len(engine.server.requests)
        if number == 1:
            return full(run("true", "c"))
        return Reply(parts=say("SUMMARY" if number == 2 else "end"))

    async with open_engine(place, script) as engine:
        talk = await engine.start(LIMIT)
        turn_id = await talk.say("go")
        await talk.until(ItemStarted, lambda event: event.item._tag == "ContextCompaction")
        assert talk.thread.steer_input((Text(text="and more"),), expected_turn_id=turn_id) == turn_id
        await talk.ended()
        assert [text.rpartition("\n")[2] for text in own(engine.inputs[2])] == ["go", "SUMMARY", "and more"]


async def test_a_goal_is_not_forgotten(place: Place) -> None:
    def script(request: Request) -> Reply:
        number = len(engine.server.requests)
        if number == 1:
            return full(run("true", "c"))
        if number == 2:
            return Reply(parts=say("SUMMARY"))
        return Reply(parts=call("update_goal", {"status": "complete"}) if number == 3 else say("reached"))

    async with open_engine(place, script) as engine:
        talk = await engine.start(LIMIT)
        await talk.thread.submit(SetGoal(request_id="r", objective="pick plums"))
        await talk.ended()
        assert any("<objective>\npick plums\n" in text for text in said(engine.inputs[2], "user"))


async def test_a_smaller_model_gets_what_the_larger_one_has_summarised(place: Place) -> None:
    facts = {
        "truncation_policy": {"mode": "tokens", "limit": 10_000},
        "shell_type": "default",
        "supports_reasoning_summaries": False,
    }
    catalogue = {
        "models": [
            {"slug": slug, "display_name": slug, "context_window": window, **facts}
            for slug, window in (("large", 200_000), ("small", 5_000))
        ]
    }
    (place.home / "catalogue.json").write_text(json.dumps(catalogue), encoding="utf-8")
    names = f"model_catalog_json={json.dumps(str(place.home / 'catalogue.json'))}"
    script = [full(say("one")), Reply(parts=say("SUMMARY")), Reply(parts=say("two"))]
    async with open_engine(place, script) as engine:
        talk = await engine.start(names, 'model="large"')
        await talk.turn("first")
        await talk.turn("second", model="small")
        assert [request.body["model"] for request in engine.server.requests] == ["large", "large", "small"]


@pytest.mark.parametrize("answer", [refuse(400, "cannot"), Reply(), Reply(parts=say(" "))])
async def test_a_failure_leaves_everything_as_it_was(place: Place, answer: Reply) -> None:
    script = [Reply(parts=say("one")), answer, Reply(parts=say("two"))]
    async with open_engine(place, script) as engine:
        talk = await engine.start()
        await talk.turn("first")
        events = await compact(talk)
        assert of_kind(events, ErrorEvent)
        assert not of_kind(events, ContextCompacted)
        await talk.turn("second")
        assert own(engine.inputs[2]) == ["first", "second"]
        assert said(engine.inputs[2], "assistant") == ["one"]
    assert "compacted" not in line_kinds(place.lines())


async def test_a_turn_whose_context_cannot_be_made_smaller_ends_before_anything_is_said(place: Place) -> None:
    async with open_engine(place, [full(say("one")), refuse(400, "cannot")]) as engine:
        talk = await engine.start(LIMIT)
        await talk.turn("first")
        events = await talk.turn("second")
        assert kinds(events) == ["task_started", "item_started", "error", "task_complete"]
    assert line_kinds(place.lines())[-2:] == ["task_started", "task_complete"]


async def test_an_interrupt_leaves_everything_as_it_was(place: Place) -> None:
    script = [Reply(parts=say("one")), Reply(parts=[*say("SUMM"), Hold()]), Reply(parts=say("two"))]
    async with open_engine(place, script) as engine:
        talk = await engine.start()
        await talk.turn("first")
        await talk.thread.submit(Compact())
        await talk.until(ItemStarted)
        await talk.interrupt()
        assert (await talk.ended())[-1].reason == "interrupted"
        await talk.turn("second")
        assert said(engine.inputs[2], "assistant") == ["one"]


@pytest.mark.parametrize("ends", [False, True])
async def test_what_was_said_is_kept_when_the_turn_is_interrupted_before_it_begins(place: Place, ends: bool) -> None:
    script = [full(say("one")), Reply(parts=[*say("SUMM"), Hold()]), Reply(parts=say("SUMMARY")), Reply()]
    async with open_engine(place, script) as engine:
        talk = await engine.start(LIMIT)
        await talk.turn("first")
        await talk.say("second")
        await talk.until(ItemStarted, lambda event: isinstance(event.item, ContextCompactionItem))
        if ends:
            await talk.thread.shut_down()
            talk = await engine.resume(place.sessions()[0], LIMIT)
        else:
            await talk.interrupt()
            await talk.ended()
        await talk.turn("third")
        assert [text.startswith("<turn_aborted>") or text for text in own(engine.inputs[2])][:3] == [
            "first",
            "second",
            True,
        ]
        kept = own(engine.inputs[3])
        assert (kept[:2], kept[3]) == (["first", "second"], "third")


async def test_a_summary_that_the_file_cannot_take_is_known_as_one(place: Place) -> None:
    words = ("one", "SUMMARY 1", "two", "SUMMARY 2", "three")
    async with open_engine(place, [full(say(text)) for text in words]) as engine:
        talk = await engine.start()
        await talk.turn("first")
        with no_room_behind(str(talk.thread.rollout_path)):
            events = await compact(talk)
        assert of_kind(events, ErrorEvent)
        # What is left of the context was estimated: it is not taken for full.
        assert of_kind(events, TokenCount)[-1].info["last_token_usage"]["total_tokens"] < FULL["total_tokens"]
        await talk.turn("second")
        await compact(talk)
        await talk.turn("third")
        assert [text.rpartition("\n")[2] for text in own(engine.inputs[4])] == ["first", "second", "SUMMARY 2", "third"]


async def test_what_does_not_fit_is_left_out_of_the_request(place: Place) -> None:
    script = [
        Reply(parts=run("true", "c")),
        Reply(parts=say("one")),
        overflow(),
        overflow(),
        Reply(parts=say("SUMMARY")),
    ]
    async with open_engine(place, script) as engine:
        talk = await engine.start()
        await talk.turn("first")
        events = await compact(talk)
        assert of_kind(events, ContextCompacted)
        assert [len(items) for items in engine.inputs[2:]] == [7, 6, 5]
        assert of_kind(events, BackgroundEvent)[0].message.startswith("Trimmed 2 older thread item(s)")
        await talk.turn("second")
        # What was left out of the request is not lost for it.
        assert own(engine.inputs[5])[0] == "first"


async def test_a_context_that_never_fits_is_told_as_full(place: Place) -> None:
    replies = iter([Reply(parts=say("one"))])
    async with open_engine(place, lambda _request: next(replies, None) or overflow()) as engine:
        talk = await engine.start()
        await talk.turn("first")
        events = await compact(talk)
        assert of_kind(events, ErrorEvent)[0].codex_error_info == "context_window_exceeded"
        info = of_kind(events, TokenCount)[-1].info
        assert info["total_token_usage"]["total_tokens"] == info["model_context_window"]
        assert [len(items) for items in engine.inputs[1:]] == [5, 4, 3, 2, 1]


async def test_a_broken_stream_is_asked_again(place: Place) -> None:
    script = [
        Reply(parts=say("one")),
        Reply(parts=say("SUMM"), is_complete=False),
        Reply(parts=say("SUMMARY")),
        Reply(parts=say("two")),
    ]
    async with open_engine(place, script, stream_max_retries=1) as engine:
        talk = await engine.start()
        await talk.turn("first")
        events = await compact(talk)
        assert of_kind(events, StreamError)[0].message == "Reconnecting... 1/1"
        await talk.turn("second")
        assert own(engine.inputs[3])[1].endswith("\nSUMMARY")


async def test_ones_own_words_ask_for_the_summary(place: Place) -> None:
    async with open_engine(place, []) as engine:
        talk = await engine.start('compact_prompt="MY WORDS"')
        await talk.turn("first")
        await compact(talk)
        assert own(engine.inputs[1]) == ["first", "MY WORDS"]


async def test_turns_that_are_taken_back_are_whole_again_before(place: Place) -> None:
    script = [Reply(parts=say("one")), full(run("true", "c")), Reply(parts=say("SUMMARY")), Reply(parts=say("two"))]
    async with open_engine(place, script) as engine:
        talk = await engine.start(LIMIT)
        await talk.turn("first")
        assert "context_compacted" in kinds(await talk.turn("second"))
        await talk.thread.submit(RollBack(turns=1))
        await talk.until(ThreadRolledBack)
        await talk.turn("third")
        assert own(engine.inputs[4]) == ["first", "third"]
        assert said(engine.inputs[4], "assistant") == ["one"]


# A provider that does it itself


def remotely(engine: Engine, answer: Reply) -> Reply:
    request = engine.server.requests[-1]
    return answer if request.path.endswith("/responses/compact") else Reply(parts=say("ok"))


def compacted(*items: Any) -> Reply:
    return Reply(body=json.dumps({"output": items}).encode(), framing=SIZED)


async def test_openai_is_asked_to_shorten_the_history_itself(place: Place) -> None:
    user = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "first"}]}
    answer = compacted(
        user, {"type": "compaction", "encrypted_content": "sealed"}, {"type": "reasoning", "summary": []}
    )
    async with open_engine(place, lambda _request: remotely(engine, answer), name="OpenAI") as engine:
        talk = await engine.start()
        await talk.turn("first")
        events = await compact(talk)
        assert of_kind(events, ContextCompacted)
        assert not of_kind(events, WarningEvent)
        request = engine.server.requests[1]
        assert set(request.body) == {
            *("model", "input", "instructions", "tools", "parallel_tool_calls", "reasoning", "text"),
        }
        assert request.body["tools"]
        assert request.headers["session_id"] == talk.thread.thread_id
        await talk.turn("second")
        assert [item["type"] for item in engine.inputs[2]] == ["message", "compaction", *["message"] * 3]
        assert engine.inputs[2][1]["encrypted_content"] == "sealed"
    (line,) = (line for line in place.lines() if line["type"] == "compacted")
    assert line["payload"]["message"] == ""


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (refuse(400, "cannot"), "cannot"),
        (Reply(body=b"[]", framing=SIZED), "holds no items"),
        (Reply(body=b'{"output": 1}', framing=SIZED), "holds no items"),
        (Reply(body=b"\xff{", framing=SIZED), "holds no items"),
        (Reply(body=b'{"output": []}', framing=SIZED, cut_at=5), "stream disconnected"),
    ],
)
async def test_a_wrong_answer_of_openai_leaves_everything_as_it_was(place: Place, answer: Reply, reason: str) -> None:
    async with open_engine(place, lambda _request: remotely(engine, answer), name="OpenAI") as engine:
        talk = await engine.start()
        await talk.turn("first")
        (error,) = of_kind(await compact(talk), ErrorEvent)
        assert error.message.startswith("Error running remote compact task: ")
        assert reason in error.message
        await talk.turn("second")
        assert own(engine.inputs[2]) == ["first", "second"]
        assert said(engine.inputs[2], "assistant") == ["ok"]
