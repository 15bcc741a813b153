"""The official TypeScript SDK, unchanged, drives `exec`."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pycodex.supervisor.model.scripted import Reply, refuse, say
from support.engine import Place, outputs, run, said
from support.sdk_talks import PICTURE, SCHEMA, check_work, escalated, rendezvous, working
from support.sdks import run_typescript, skip_without, typescript_sdk

Json = dict[str, Any]


@pytest.fixture(scope="module", autouse=True)
def sdk() -> None:
    skip_without(typescript_sdk)


def of_kind(items: Sequence[Json], kind: str) -> list[Json]:
    return [item for item in items if item["type"] == kind]


async def test_turns_of_text(place: Place) -> None:
    seen = await run_typescript(place, [Reply(parts=say("hi")), Reply(parts=say("again"))], "plainTurns")
    assert (seen.report["before"], seen.report["isSameThread"]) == (None, True)
    first, second = seen.report["turns"]
    assert (first["finalResponse"], second["finalResponse"]) == ("hi", "again")
    assert first["usage"] == {
        "input_tokens": 100,
        "cached_input_tokens": 10,
        "cache_write_input_tokens": 0,
        "output_tokens": 20,
        "reasoning_output_tokens": 5,
    }
    assert [item["type"] for item in first["items"]] == ["agent_message"]
    assert said(seen.inputs[1], "assistant") == ["hi"]
    assert [request.headers["originator"] for request in seen.requests] == ["codex_sdk_ts"] * 2


async def test_pictures(place: Place, tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(PICTURE)
    seen = await run_typescript(place, [Reply(parts=say("a dot"))], "pictures", str(path))
    assert seen.report["finalResponse"] == "a dot"
    content = [part for item in seen.inputs[0] if item["role"] == "user" for part in item["content"]]
    (picture,) = of_kind(content, "input_image")
    assert picture["image_url"].startswith("data:image/png;base64,")
    assert content[-1]["text"] == "look\n\nwhat is this?"


async def test_output_schema_holds_for_one_turn(place: Place) -> None:
    replies = [Reply(parts=say('{"answer": "yes"}')), Reply(parts=say("plain"))]
    seen = await run_typescript(place, replies, "outputSchema", json.dumps(SCHEMA))
    assert seen.report == {"answer": {"answer": "yes"}, "later": "plain"}
    shaped, plain = (request.body.get("text", {}) for request in seen.requests)
    assert (shaped["format"]["schema"], shaped["format"]["strict"]) == (SCHEMA, True)
    assert "format" not in plain


async def test_events_of_a_working_turn(place: Place) -> None:
    events = (await run_typescript(place, [working(), Reply(parts=say("done"))], "streamed")).report
    assert [event["type"] for event in events[:2]] == ["thread.started", "turn.started"]
    assert events[-1]["type"] == "turn.completed"
    items = [event["item"] for event in events if event["type"] == "item.completed"]
    commands = of_kind(items, "command_execution")
    assert sorted((each["exit_code"], each["status"]) for each in commands) == [(0, "completed"), (3, "failed")]
    assert "out\n" in {each["aggregated_output"] for each in commands}
    (change,) = of_kind(items, "file_change")
    assert (change["status"], [each["kind"] for each in change["changes"]]) == ("completed", ["add"])
    (todo,) = of_kind(items, "todo_list")
    assert todo["items"] == [{"text": "do it", "completed": False}]
    assert [item["text"] for item in of_kind(items, "reasoning")] == ["thinking"]
    assert [item["text"] for item in of_kind(items, "agent_message")] == ["done"]
    check_work(place)


async def test_nobody_is_asked(place: Place) -> None:
    seen = await run_typescript(place, [escalated("touch made"), Reply(parts=say("too bad"))], "unasked")
    assert seen.report["finalResponse"] == "too bad"
    assert "escalated" in outputs(seen.inputs[1])
    assert os.listdir(place.workspace) == [".git"]


async def test_every_option(place: Place, tmp_path: Path) -> None:
    directory, extra = tmp_path / "elsewhere", tmp_path / "extra"
    directory.mkdir()
    extra.mkdir()
    replies = [Reply(parts=run(f"pwd; touch here {extra}/there", "work")), Reply(parts=say("done"))]
    seen = await run_typescript(place, replies, "everyOption", str(directory), str(extra))
    assert [turn["finalResponse"] for turn in seen.report] == ["done", "done"]
    assert str(directory) in outputs(seen.inputs[1])["work"]
    assert (directory / "here").exists()
    assert (extra / "there").exists()
    for request in seen.requests:
        assert request.headers["authorization"] == "Bearer a-key"
        assert (request.body["model"], request.body["reasoning"]["effort"]) == ("gpt-5.2", "high")
        assert request.body["text"]["verbosity"] == "low"


async def test_permissions_of_the_programs_own(place: Place, tmp_path: Path) -> None:
    """The path of a raw override has dots, which must not split it."""
    directory = tmp_path / "may.be" / "written"
    directory.mkdir(parents=True)
    replies = [Reply(parts=run(f"touch {directory}/there; touch here", "work")), Reply(parts=say("done"))]
    seen = await run_typescript(place, replies, "ownPermissions", str(directory))
    assert seen.report["finalResponse"] == "done"
    assert (directory / "there").exists()
    assert os.listdir(place.workspace) == [".git"]


async def test_environment_without_path_and_home(place: Place) -> None:
    replies = [Reply(parts=run("cat /etc/passwd | head -n 1", "work")), Reply(parts=say("done"))]
    seen = await run_typescript(place, replies, "bareEnvironment")
    assert seen.report["finalResponse"] == "done"
    (command,) = of_kind(seen.report["items"], "command_execution")
    assert (command["exit_code"], command["status"]) == (0, "completed")


async def test_abort(place: Place) -> None:
    replies = [Reply(parts=run("sleep 600", "long")), Reply(parts=say("here again"))]
    seen = await run_typescript(place, replies, "aborted")
    assert seen.report == {"error": "AbortError", "later": "here again"}
    assert outputs(seen.inputs[1])["long"] == "aborted"


async def test_resumed_in_another_process(place: Place) -> None:
    begun = await run_typescript(place, [Reply(parts=say("I will"))], "begun")
    seen = await run_typescript(place, [Reply(parts=say("I remember"))], "resumed", begun.report["id"])
    assert seen.report == {"isSameThread": True, "final": "I remember"}
    assert said(seen.inputs[0], "assistant") == ["I will"]
    assert said(seen.inputs[0], "user")[-1] == "and now?"


async def test_two_threads_at_once(place: Place) -> None:
    """Each command waits for the other."""
    turns = (await run_typescript(place, rendezvous(place), "twoAtOnce")).report
    assert [turn["finalResponse"] for turn in turns] == ["left done", "right done"]
    (command,) = of_kind(turns[1]["items"], "command_execution")
    assert command["aggregated_output"] == "we met\n"


async def test_failure_of_the_model(place: Place) -> None:
    replies = [refuse(400, "no such thing"), Reply(parts=say("better"))]
    report = (await run_typescript(place, replies, "failed")).report
    assert "no such thing" in report["error"]
    assert report["later"] == "better"


async def test_refusals_say_why(place: Place, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    report = (await run_typescript(place, [], "refused", str(outside))).report
    assert "exited with code 1" in report["outside"]
    assert "--skip-git-repo-check" in report["outside"]
    assert "Model provider `nobody` not found" in report["provider"]
