"""Starting, resuming and forking threads."""

from typing import Any

import pytest

from pycodex.supervisor.frontends.app_server.method import INTERNAL_ERROR
from pycodex.supervisor.model.scripted import Reply, say
from support.app_server import Refused, beginning, exactly, open_app_server, statuses, told
from support.engine import Place, line_kinds, lines_of, outputs, said


async def test_new_thread_is_told_after_the_answer_and_has_no_file_yet(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        started = await client.call("thread/start", cwd=str(place.workspace), sandbox="read-only")
        told_again = await client.until("thread/started")
        assert told_again["thread"] == started["thread"]
        assert started["thread"]["status"] == {"type": "idle"}
        assert started["thread"]["sessionId"] == started["thread"]["id"]
        assert started["sandbox"] == {"type": "readOnly", "access": {"type": "fullAccess"}, "networkAccess": False}
        assert started["thread"]["path"].endswith(f"{started['thread']['id']}.jsonl")
        assert place.sessions() == []
        read = await client.call("thread/read", threadId=started["thread"]["id"], includeTurns=True)
        assert read["thread"]["turns"] == []


async def test_wishes_reach_the_model(place: Place) -> None:
    async with open_app_server(place, [Reply(parts=say("ok"))]) as scratch:
        client = await scratch.connect().hello()
        config = {"model_reasoning_effort": "high", "sandbox_workspace_write": {"network_access": True}}
        thread_id = await client.start(
            model="gpt-5.2",
            config=config,
            baseInstructions="BASE",
            developerInstructions="DEV",
            sandbox="workspace-write",
        )
        await client.turn(thread_id, "hi")
        (request,) = scratch.model.requests
        assert request.body["model"] == "gpt-5.2"
        assert request.body["instructions"] == "BASE"
        assert request.body["reasoning"]["effort"] == "high"
        assert "DEV" in said(request.body["input"], "developer")[0]
        assert request.headers["originator"] == "tester"
        assert request.headers["user-agent"].startswith("tester/0.116.0 (")


async def test_threads_and_turns_have_what_newer_clients_look_for(place: Place) -> None:
    """And what only newer clients send is no reason to refuse them."""
    script = [Reply(parts=say("one")), Reply(parts=say("two"))]
    newer = {"threadSource": "user", "sessionStartSource": "startup", "historyMode": "legacy", "projectId": None}
    of_turn: dict[str, Any] = {
        **dict.fromkeys(("parentTurnId", "rootTurnId", "turnTrigger", "serviceTierForTurn", "permissions"), "x"),
        **{name: [] for name in ("disabledPluginIds", "environments", "runtimeWorkspaceRoots")},
        "additionalContext": {},
        "multiAgentMode": None,
        "serviceTier": "anything",
    }
    async with open_app_server(place, script) as scratch:
        client = await scratch.connect().hello(experimental=False)
        assert client.heard[0]["result"]["codexHome"] == str(place.home)
        thread_id = await client.start(effort="low", **newer)
        unwritten = (await client.call("thread/read", threadId=thread_id))["thread"]
        heard = await client.turn(thread_id, "go", **of_turn)
        assert all(isinstance(each["emittedAtMs"], int) for each in heard if "method" in each)
        ended = next(each["params"]["turn"] for each in heard if each.get("method") == "turn/completed")
        live = (await client.call("thread/read", threadId=thread_id, includeTurns=True))["thread"]
        (listed,) = (await client.call("thread/list"))["data"]
        for thread in (unwritten, live, listed):
            assert (thread["sessionId"], thread["parentThreadId"], thread["forkedFromId"]) == (thread_id, None, None)
            assert (thread["historyMode"], thread["originator"]) == ("legacy", "tester")
            assert thread["recencyAt"] == thread["updatedAt"]
        assert live["model"] == unwritten["model"] == "gpt-5.4"
        assert "reasoningEffort" in live
        (stored,) = live["turns"]
        assert (stored["id"], stored["itemsView"], ended["itemsView"]) == (ended["id"], "full", "full")
        for turn in (stored, ended):
            assert 0 <= turn["completedAt"] - turn["startedAt"] <= turn["durationMs"] // 1000 + 1
        for audio in ({"type": "audio", "url": "data:x"}, {"type": "localAudio", "path": "/x"}):
            with pytest.raises(Refused, match=beginning(f"Invalid request: unknown variant `{audio['type']}`")):
                await client.call("turn/start", threadId=thread_id, input=[audio])
        picture = {"type": "image", "url": "data:image/png;base64,AA==", "detail": "high"}
        await client.call("turn/start", threadId=thread_id, input=[picture])
        await client.until("turn/completed")
        fork = await client.call("thread/fork", threadId=thread_id, lastTurnId=stored["id"], excludeTurns=True)
        assert fork["thread"]["turns"] == []
        assert (fork["thread"]["forkedFromId"], fork["thread"]["sessionId"]) == (thread_id, fork["thread"]["id"])
        kept = (await client.call("thread/read", threadId=fork["thread"]["id"], includeTurns=True))["thread"]["turns"]
        assert [turn["id"] for turn in kept] == [stored["id"]]


async def test_bad_wishes_are_refused(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        with pytest.raises(Refused, match=exactly("failed to load configuration: Model provider `zzz` not found")):
            await client.call("thread/start", modelProvider="zzz")
        with pytest.raises(Refused, match=exactly("dynamic tool name is reserved: mcp")):
            await client.call("thread/start", dynamicTools=[{"name": "mcp", "description": "", "inputSchema": {}}])
        (place.home / "rules").mkdir()
        (place.home / "rules" / "default.rules").write_text("not a rule(")
        with pytest.raises(
            Refused, match=beginning("error creating thread: Fatal error: failed to load rules: ")
        ) as no:
            await client.call("thread/start")
        assert no.value.code == INTERNAL_ERROR


async def test_resumed_thread_goes_on_where_it_was(place: Place) -> None:
    async with open_app_server(place, [Reply(parts=say("plum")), Reply(parts=say("it was plum"))]) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        await client.turn(thread_id, "remember plum")
        await client.call("thread/unsubscribe", threadId=thread_id)
        await client.until("thread/closed")
        start = len(client.heard)
        resumed = await client.call("thread/resume", threadId=thread_id)
        # The status is told before the answer, and nothing is said to be new.
        assert statuses(client.heard[start:]) == ["idle"]
        assert told(client.heard[start:]) == ["answer"]
        (turn,) = resumed["thread"]["turns"]
        assert [(item["id"], item["type"]) for item in turn["items"]] == [
            ("item-1", "userMessage"),
            ("item-2", "agentMessage"),
        ]
        assert resumed["thread"]["preview"] == "remember plum"
        await client.turn(thread_id, "what was it")
        assert "remember plum" in said(scratch.inputs[1], "user")
        bare = await client.call("thread/resume", threadId=thread_id, excludeTurns=True)
        assert bare["thread"]["turns"] == []


async def test_history_of_the_client_begins_a_new_thread(place: Place) -> None:
    history = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "remember plum"}]},
        {"type": "function_call", "name": "exec_command", "arguments": "{}", "call_id": "h1"},
        {"type": "function_call_output", "call_id": "h1", "output": "plum out"},
    ]
    async with open_app_server(place, [Reply(parts=say("plum"))]) as scratch:
        client = await scratch.connect().hello()
        resumed = await client.call("thread/resume", threadId="any", history=history)
        assert resumed["thread"]["preview"] == "remember plum"
        assert resumed["thread"]["turns"] == []
        await client.turn(resumed["thread"]["id"], "what was it")
        (items,) = scratch.inputs
        assert items[:3] == history
        assert outputs(items) == {"h1": "plum out"}
        with pytest.raises(Refused, match=exactly("history must not be empty")):
            await client.call("thread/resume", threadId="any", history=[])


async def test_file_anywhere_can_be_gone_on_with(place: Place) -> None:
    async with open_app_server(place, [Reply(parts=say("plum")), Reply(parts=say("again"))]) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        await client.turn(thread_id, "remember plum")
        await client.call("thread/unsubscribe", threadId=thread_id)
        await client.until("thread/closed")
        (path,) = place.sessions()
        elsewhere = path.rename(place.workspace / "mine.jsonl")
        with pytest.raises(Refused, match=exactly(f"no rollout found for thread id {thread_id}")):
            await client.call("thread/resume", threadId=thread_id)
        with pytest.raises(Refused, match=beginning("failed to load rollout `/none`: No such file")):
            await client.call("thread/resume", threadId=thread_id, path="/none")
        resumed = await client.call("thread/resume", threadId="ignored", path=str(elsewhere))
        assert resumed["thread"]["id"] == thread_id
        before = len(lines_of(elsewhere))
        await client.turn(thread_id, "more")
        assert len(lines_of(elsewhere)) > before


async def test_fork_has_an_id_and_a_file_of_its_own(place: Place) -> None:
    async with open_app_server(place, [Reply(parts=say("plum")), Reply(parts=say("it was"))]) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        await client.turn(thread_id, "remember plum")
        forked = await client.call("thread/fork", threadId=thread_id)
        started = await client.until("thread/started")
        assert started["thread"] == forked["thread"]
        assert forked["thread"]["id"] != thread_id
        assert forked["thread"]["forkedFromId"] == thread_id
        assert len(forked["thread"]["turns"]) == 1
        await client.turn(forked["thread"]["id"], "what was it")
        assert len(place.sessions()) == 2
        assert "remember plum" in said(scratch.inputs[1], "user")
        assert await client.call("thread/loaded/list") == {
            "data": sorted((thread_id, forked["thread"]["id"])),
            "nextCursor": None,
        }


async def test_items_are_told_as_the_model_sees_them_to_who_asks_for_it(place: Place) -> None:
    async with open_app_server(place, lambda _request: Reply(parts=say("ok"))) as scratch:
        client = await scratch.connect().hello()
        told_of: dict[bool, list[dict[str, Any]]] = {}
        for raw in (True, False):
            thread_id = await client.start(experimentalRawEvents=raw)
            heard = await client.turn(thread_id, "one")
            told_of[raw] = [
                message["params"]["item"] for message in heard if message.get("method") == "rawResponseItem/completed"
            ]
        assert told_of[False] == []
        *given, answer = told_of[True]
        assert given == scratch.inputs[0]
        assert (answer["role"], answer["content"][0]["text"]) == ("assistant", "ok")


async def test_work_is_kept_for_who_asks_for_it(place: Place) -> None:
    from support.engine import run

    script = [Reply(parts=run("echo plum", "c1")), Reply(parts=say("done"))]
    async with open_app_server(place, script) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start(persistExtendedHistory=True, sandbox="danger-full-access")
        await client.turn(thread_id, "go")
        read = await client.call("thread/read", threadId=thread_id, includeTurns=True)
        (turn,) = read["thread"]["turns"]
        assert [item["type"] for item in turn["items"]] == ["userMessage", "commandExecution", "agentMessage"]
        assert turn["items"][1]["aggregatedOutput"] == "plum\n"
    assert "exec_command_end" in line_kinds(place.lines())


async def test_fork_may_end_at_an_earlier_turn(place: Place) -> None:
    async with open_app_server(place, lambda _request: Reply(parts=say("ok"))) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        for text in ("one", "two", "three"):
            await client.turn(thread_id, text)
        read = await client.call("thread/read", threadId=thread_id, includeTurns=True)
        first = read["thread"]["turns"][0]["id"]
        forked = await client.call("thread/fork", threadId=thread_id, lastTurnId=first)
        assert [turn["id"] for turn in forked["thread"]["turns"]] == [first]
        await client.turn(forked["thread"]["id"], "other")
        words = said(scratch.inputs[3], "user")
        assert "one" in words
        assert not {"two", "three"} & set(words)
        with pytest.raises(Refused, match=exactly("turn not found: nope")):
            await client.call("thread/fork", threadId=thread_id, lastTurnId="nope")


async def test_resumed_at_once_after_it_was_let_go(place: Place) -> None:
    async with open_app_server(place, [Reply(parts=say("one")), Reply(parts=say("two"))]) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        await client.turn(thread_id, "hi")
        await client.ask("thread/unsubscribe", threadId=thread_id)
        resumed = await client.call("thread/resume", threadId=thread_id)
        assert resumed["thread"]["status"] == {"type": "idle"}
        messages = await client.turn(thread_id, "again")
        assert "item/completed agentMessage" in told(messages)


async def test_two_clients_resume_one_thread_at_once(place: Place) -> None:
    async with open_app_server(place, [Reply(parts=say("one")), Reply(parts=say("two"))]) as scratch:
        first = await scratch.connect().hello()
        thread_id = await first.start()
        await first.turn(thread_id, "hi")
        await first.call("thread/unsubscribe", threadId=thread_id)
        await first.until("thread/closed", threadId=thread_id)
        second = await scratch.connect().hello()
        asked = [await each.ask("thread/resume", threadId=thread_id) for each in (first, second)]
        for each, request_id in zip((first, second), asked, strict=True):
            assert (await each.answer_to(request_id))["thread"]["id"] == thread_id
        await first.turn(thread_id, "again")
        await second.until("turn/completed", threadId=thread_id)
        for each in (first, second):
            ended = [message for message in each.heard if message.get("method") == "turn/completed"]
            assert ended[-1]["params"]["turn"]["status"] == "completed"
        assert len(scratch.model.requests) == 2
