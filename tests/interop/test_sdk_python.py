"""The official Python SDK, unchanged, drives the app-server."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pycodex.supervisor.model.scripted import Hold, Reply, call, custom, done, refuse, say
from support.engine import Place, outputs, run, said
from support.sdk_talks import PATCH, PICTURE, SCHEMA, check_work, escalated, rendezvous, working
from support.sdks import python_sdk, run_python, skip_without

Json = dict[str, Any]


@pytest.fixture(scope="module", autouse=True)
def sdk() -> None:
    skip_without(python_sdk)


def kinds(items: Sequence[Json]) -> list[str]:
    return [item["type"] for item in items]


def of_kind(items: Sequence[Json], kind: str) -> list[Json]:
    return [item for item in items if item["type"] == kind]


async def test_turns_of_text(place: Place) -> None:
    seen = await run_python(place, [Reply(parts=say("hi")), Reply(parts=say("again"))], "plain_turns")
    report = seen.report
    assert report["server"] == "codex_python_sdk"
    assert (report["turns before"], report["preview"], report["account"]) == (0, "hello", None)
    assert [turn["final"] for turn in report["turns"]] == ["hi", "again"]
    assert [turn["status"] for turn in report["turns"]] == ["completed", "completed"]
    assert [turn["total tokens"] for turn in report["turns"]] == [120, 240]
    assert all(turn["has times"] for turn in report["turns"])
    assert [kinds(turn["items"]) for turn in report["turns"]] == [["userMessage", "agentMessage"]] * 2
    assert [kinds(items) for items in report["stored"]] == [["userMessage", "agentMessage"]] * 2
    assert "gpt-5.4" in report["models"]
    assert said(seen.inputs[1], "assistant") == ["hi"]
    assert [request.headers["originator"] for request in seen.requests] == ["codex_python_sdk"] * 2


async def test_pictures(place: Place, tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(PICTURE)
    seen = await run_python(place, [Reply(parts=say("a dot"))], "pictures", str(path))
    assert seen.report["final"] == "a dot"
    (shown,) = of_kind(seen.report["items"], "userMessage")
    assert kinds(shown["content"]) == ["text", "localImage", "image"]
    urls = [part["image_url"] for part in seen.inputs[0][-1]["content"] if part["type"] == "input_image"]
    assert len(urls) == 2
    assert urls[0].startswith("data:image/png;base64,")
    assert urls[1] == "data:image/png;base64,AAAA"


async def test_skill_that_is_named(place: Place) -> None:
    path = place.workspace / ".agents" / "skills" / "paint" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nname: paint\ndescription: Paints\n---\n\nMix the blue first.\n")
    seen = await run_python(place, [Reply(parts=say("mixed"))], "skill", str(path))
    assert seen.report["final"] == "mixed"
    (block,) = [text for text in said(seen.inputs[0], "user") if text.startswith("<skill>")]
    assert f"<path>{path}</path>" in block
    assert "Mix the blue first." in block


async def test_key_login(place: Place) -> None:
    replies = [Reply(parts=say("hi"))]
    seen = await run_python(place, replies, "key_login", "sk-of-the-person", requires_openai_auth=True)
    assert seen.report == {"account": "apiKey", "final": "hi", "later": None}
    assert seen.requests[0].headers["authorization"] == "Bearer sk-of-the-person"


async def test_which_message_is_the_result(place: Place) -> None:
    """The last one that is not marked as a comment, even if it is empty."""
    replies = [
        Reply(parts=[message("first"), message("second")]),
        Reply(parts=[message("first"), message("")]),
        Reply(parts=[message("a comment", "commentary")]),
        Reply(parts=[message("the answer", "final_answer"), message("a comment", "commentary")]),
    ]
    seen = await run_python(place, replies, "last_words", str(len(replies)))
    assert seen.report == {"finals": ["second", "", None, "the answer"]}


def message(text: str, phase: str | None = None) -> Json:
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    return done(item if phase is None else {**item, "phase": phase})


async def test_output_schema_holds_for_one_turn(place: Place) -> None:
    replies = [Reply(parts=say('{"answer": "yes"}')), Reply(parts=say("plain"))]
    seen = await run_python(place, replies, "output_schema", json.dumps(SCHEMA))
    assert seen.report == {"answer": {"answer": "yes"}, "later": "plain"}
    shaped, plain = (request.body.get("text", {}) for request in seen.requests)
    assert (shaped["format"]["schema"], shaped["format"]["strict"]) == (SCHEMA, True)
    assert "format" not in plain


async def test_every_event_of_a_working_turn_is_understood(place: Place) -> None:
    replies = [working(), Reply(parts=say("all done", pieces=4))]
    report = (await run_python(place, replies, "streamed")).report
    assert report["unknown"] == []
    assert (report["methods"][0], report["methods"][-1]) == ("turn/started", "turn/completed")
    assert {"thread/started", "thread/status/changed"} < set(report["beside"])
    assert {"turn/plan/updated", "turn/diff/updated", "item/reasoning/summaryTextDelta"} < set(report["methods"])
    assert report["text"] == "all done"
    assert "out\n" in report["output"]
    items = report["items"]
    commands = of_kind(items, "commandExecution")
    assert sorted((each["exitCode"], each["status"]) for each in commands) == [(0, "completed"), (3, "failed")]
    (change,) = of_kind(items, "fileChange")
    assert (change["status"], kinds([each["kind"] for each in change["changes"]])) == ("completed", ["add"])
    assert kinds(items)[0] == "userMessage"
    assert kinds(items)[-1] == "agentMessage"
    assert len(of_kind(items, "reasoning")) == 1
    check_work(place)


async def test_approval_modes(place: Place) -> None:
    replies = [escalated("touch asked"), Reply(parts=say("done")), escalated("touch unasked"), Reply(parts=say("no"))]
    seen = await run_python(place, replies, "approval_modes")
    (command,) = of_kind(seen.report["asked"]["items"], "commandExecution")
    assert command["status"] == "completed"
    assert (seen.report["asked"]["final"], seen.report["unasked"]["final"]) == ("done", "no")
    assert (place.workspace / "asked").exists()
    assert not (place.workspace / "unasked").exists()


async def test_approval_mode_is_kept(place: Place) -> None:
    names = ("first", "second", "resumed", "asked")
    replies = [reply for name in names for reply in (escalated(f"touch {name}"), Reply(parts=say("done")))]
    seen = await run_python(place, replies, "approval_kept")
    assert seen.report == {"final": "done"}
    assert sorted(os.listdir(place.workspace)) == [".git", "asked"]


async def test_accepted(place: Place) -> None:
    replies = [escalated("touch made"), Reply(parts=custom("apply_patch", PATCH)), Reply(parts=say("done"))]
    report = (await run_python(place, replies, "approvals", "accept")).report
    command, change = report["asked"]
    assert command["method"] == "item/commandExecution/requestApproval"
    assert (command["itemId"], command["reason"]) == ("escalated", "I need it")
    assert change["method"] == "item/fileChange/requestApproval"
    assert (report["unknown"], report["status"]) == ([], "completed")
    worked = [item for item in report["items"] if "status" in item]
    assert [(item["type"], item["status"]) for item in worked] == [
        ("commandExecution", "completed"),
        ("fileChange", "completed"),
    ]
    assert (place.workspace / "made").exists()
    assert (place.workspace / "patched.txt").exists()


async def test_declined(place: Place) -> None:
    replies = [escalated("touch made"), Reply(parts=custom("apply_patch", PATCH)), Reply(parts=say("too bad"))]
    seen = await run_python(place, replies, "approvals", "decline")
    report = seen.report
    assert len(report["asked"]) == 2
    assert (report["unknown"], report["status"]) == ([], "completed")
    assert [item["status"] for item in report["items"] if "status" in item] == ["declined", "declined"]
    assert "rejected" in outputs(seen.inputs[1])["escalated"]
    assert os.listdir(place.workspace) == [".git"]


async def test_tool_of_the_program(place: Place) -> None:
    seen = await run_python(
        place, [Reply(parts=call("lookup", {"what": "it"}, "own")), Reply(parts=say("ok"))], "own_tool"
    )
    assert seen.report["asked"] == [{"method": "item/tool/call", "tool": "lookup", "arguments": {"what": "it"}}]
    assert (seen.report["unknown"], seen.report["status"]) == ([], "completed")
    (item,) = of_kind(seen.report["items"], "dynamicToolCall")
    assert (item["tool"], item["status"], item["success"]) == ("lookup", "completed", True)
    assert "found it" in json.dumps(seen.inputs[1][-1]["output"])


async def test_interrupt(place: Place) -> None:
    replies = [Reply(parts=run("sleep 600", "long")), Reply(parts=say("here again"))]
    seen = await run_python(place, replies, "interrupted")
    assert seen.report == {"status": "interrupted", "later": "here again"}
    assert "aborted by user" in outputs(seen.inputs[1])["long"]
    assert any("<turn_aborted>" in text for text in said(seen.inputs[1], "user"))


async def test_steer(place: Place) -> None:
    fifo = place.workspace / "line"
    os.mkfifo(fifo)
    replies = [Reply(parts=run(f"cat {fifo}", "waits")), Reply(parts=say("both done"))]
    seen = await run_python(place, replies, "steered", str(fifo))
    assert seen.report["is same turn"]
    assert kinds(seen.report["items"]) == ["userMessage", "commandExecution", "userMessage", "agentMessage"]
    assert "go on" in outputs(seen.inputs[1])["waits"]
    assert said(seen.inputs[1], "user")[-1] == "this, too"


async def test_turn_that_is_asked_for_while_one_runs_joins_it(place: Place) -> None:
    fifo = place.workspace / "line"
    os.mkfifo(fifo)
    replies = [Reply(parts=run(f"cat {fifo}", "waits")), Reply(parts=say("both done"))]
    seen = await run_python(place, replies, "joined", str(fifo))
    assert seen.report == {"is same turn": True, "final": "both done"}
    assert said(seen.inputs[1], "user")[-1] == "this, too"


async def test_compaction(place: Place) -> None:
    replies = [Reply(parts=say(text)) for text in ("once upon a time", "a summary", "the end")]
    seen = await run_python(place, replies, "compacted")
    assert seen.report == {
        "stored": [["userMessage", "agentMessage"], ["contextCompaction"], ["userMessage", "agentMessage"]],
        "statuses": ["completed"] * 3,
        "final": "the end",
    }
    assert said(seen.inputs[2], "assistant") == []
    user = said(seen.inputs[2], "user")
    assert "a long story" in user
    assert any(text.endswith("a summary") for text in user)
    assert user[-1] == "and now?"


async def test_goal_is_pursued_over_turns(place: Place) -> None:
    reached = call("update_goal", {"status": "complete"})
    replies = [Reply(parts=parts) for parts in (say("a first step"), reached, say("reached"), say("welcome"))]
    seen = await run_python(place, replies, "goal")
    assert seen.report == {"unknown": [], "begins with it": True, "turns": 2, "later": "completed"}
    assert any("<objective>\nwin\n</objective>" in text for text in said(seen.inputs[0], "user"))


async def test_goal_is_given_up(place: Place) -> None:
    replies = [Reply(parts=[*say("half a sentence")[:2], Hold()]), Reply(parts=say("as you like"))]
    seen = await run_python(place, replies, "given_up_goal")
    assert seen.report == {"turn": "interrupted", "goal": "paused", "later": "completed"}
    assert len(seen.requests) == 2


async def test_resumed_in_another_process(place: Place) -> None:
    begun = await run_python(place, [Reply(parts=say("I will"))], "begun")
    thread_id = begun.report["id"]
    replies = [Reply(parts=say("I remember")), Reply(parts=say("forked"))]
    seen = await run_python(place, replies, "gone_on", thread_id)
    assert seen.report == {
        "listed": [[thread_id, "remembered"]],
        "resumed": [thread_id, "I remember"],
        "forked": "forked",
        "is another": True,
        "is archived": True,
        "is back": True,
        "turns": [2, 3],
    }
    assert said(seen.inputs[0], "user")[-1] == "and now?"
    assert said(seen.inputs[0], "assistant") == ["I will"]
    assert said(seen.inputs[1], "assistant") == ["I will", "I remember"]


async def test_two_threads_at_once(place: Place) -> None:
    """Each command waits for the other."""
    seen = await run_python(place, rendezvous(place), "two_at_once")
    assert [result["final"] for result in seen.report["results"]] == ["left done", "right done"]
    right = of_kind(seen.report["results"][1]["items"], "commandExecution")
    assert [command["aggregatedOutput"] for command in right] == ["we met\n"]


async def test_every_option(place: Place, tmp_path: Path) -> None:
    directory = tmp_path / "elsewhere"
    directory.mkdir()
    replies = [Reply(parts=run("touch here; pwd", "work")), Reply(parts=say("done"))]
    seen = await run_python(place, replies, "every_option", str(directory))
    assert seen.report["result"]["final"] == "done"
    assert seen.report["is found"]
    assert str(directory) in outputs(seen.inputs[1])["work"]
    assert (directory / "here").exists()
    body = seen.requests[0].body
    assert (body["model"], body["instructions"], body["service_tier"]) == ("gpt-5.4", "the base", "priority")
    assert (body["reasoning"]["effort"], body["reasoning"]["summary"]) == ("max", "concise")
    assert body["text"]["verbosity"] == "low"
    assert "for developers" in said(body["input"], "developer")[0]


async def test_failure_of_the_model(place: Place) -> None:
    replies = [refuse(400, "no such thing"), Reply(parts=say("better"))]
    report = (await run_python(place, replies, "failed")).report
    assert "no such thing" in report["error"]
    assert report["later"] == "better"


async def test_refusals_have_types(place: Place) -> None:
    report = (await run_python(place, [], "refused")).report
    assert report == {"errors": [["InvalidRequestError", -32600]] * 3}
