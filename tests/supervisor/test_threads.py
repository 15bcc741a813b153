"""Threads of one supervisor: their first event, their files, and that none touches another."""

import json
import sys
from typing import Any

import pytest
import trio

from pycodex.protocol.errors import UserFacing
from pycodex.protocol.events.dynamic_tool import DynamicToolCallRequest, DynamicToolCallResponse
from pycodex.protocol.events.error import BackgroundEvent, ErrorEvent, WarningEvent
from pycodex.protocol.events.exec import ExecCommandBegin, ExecCommandEnd
from pycodex.protocol.events.message import AgentMessage
from pycodex.protocol.events.turn import SessionConfigured, ShutdownComplete, TaskComplete, TokenCount, TurnAborted
from pycodex.protocol.ops import Answer, UserTurn
from pycodex.protocol.user_input import Text
from pycodex.supervisor.model.scripted import Hold, Reply, Request, call, done, refuse, say
from pycodex.supervisor.policy.rule_files import load_rules
from pycodex.supervisor.rollout import long_files
from pycodex.supervisor.rollout.listing import Filters
from pycodex.supervisor.rollout.reader import RolloutUnreadable
from pycodex.supervisor.tools.dynamic_tools import BadDeclaration
from support.approvals import Person, amending, granular
from support.engine import (
    Engine,
    Place,
    Talk,
    line_kinds,
    lines_of,
    of_kind,
    open_engine,
    outputs,
    run,
    said,
)
from support.marked import Mark
from support.waiting import eventually_async

# Nothing that a front-end may give.
ODD: Any = object()
UNHASHABLE: Any = ["no", "id"]


async def test_first_event_tells_what_the_thread_is(place: Place) -> None:
    async with open_engine(place, []) as engine:
        config = engine.config('model_reasoning_effort="low"')
        thread = await engine.threads.start(config, source="exec")
        first = await thread.next_event()
        assert first == SessionConfigured(
            session_id=thread.thread_id,
            model="gpt-5.4",
            model_provider_id="mock",
            approval_policy="never",
            sandbox_policy={"type": "read-only"},
            cwd=str(place.workspace),
            reasoning_effort="low",
            rollout_path=thread.rollout_path,
        )
        assert thread.rollout_path is not None
        assert thread.rollout_path.endswith(f"-{thread.thread_id}.jsonl")
        assert place.sessions() == []


async def test_second_events_are_what_is_wrong_with_the_settings(place: Place) -> None:
    skill = place.home / "skills" / "bad" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("no frontmatter")
    async with open_engine(place, []) as engine:
        talk = await engine.start('model="mystery"')
        events = await talk.turn("go")
        assert [type(event) for event in events[:2]] == [BackgroundEvent, WarningEvent]
        assert str(skill) in events[0].message
        assert "Model metadata for `mystery` not found" in events[1].message


async def test_head_of_the_file_tells_where_it_comes_from(place: Place) -> None:
    async with open_engine(place, []) as engine:
        talk = await engine.start()
        await talk.turn("go")
        head = place.lines()[0]["payload"]
        assert head["id"] == talk.thread.thread_id
        assert (head["source"], head["originator"], head["cli_version"]) == ("exec", "codex_exec", "0.116.0")
        assert (head["cwd"], head["model_provider"]) == (str(place.workspace), "mock")
        assert head["base_instructions"]["text"] == engine.server.requests[0].body["instructions"]


async def test_ephemeral_thread_writes_no_file(place: Place) -> None:
    async with open_engine(place, []) as engine:
        talk = await engine.start(ephemeral=True)
        await talk.turn("go")
        await talk.turn("more")
        assert talk.thread.rollout_path is None
        assert not (place.home / "sessions").exists()
        assert said(engine.inputs[1], "assistant") == ["done"]


@pytest.mark.parametrize("long_file_bytes", [0, 1 << 30])
async def test_resumed_thread_goes_on_where_it_ended(
    place: Place, long_file_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_files, "LONG_FILE_BYTES", long_file_bytes)
    async with open_engine(place, [Reply(parts=run("echo hi", "c"))]) as engine:
        talk = await engine.start()
        await talk.turn("one")
        before, thread_id = [request.body for request in engine.server.requests], talk.thread.thread_id
    (path,) = place.sessions()
    size = path.stat().st_size
    async with open_engine(place, []) as engine:
        talk = await engine.resume(path, 'model_verbosity="low"')
        assert talk.thread.thread_id == thread_id
        assert path.stat().st_size == size
        await talk.turn("two")
        body = engine.server.requests[0].body
        assert body["instructions"] == before[0]["instructions"]
        assert body["prompt_cache_key"] == thread_id
        kept = before[-1]["input"]
        assert body["input"][: len(kept)] == kept
        assert [item["type"] for item in body["input"][len(kept) :]] == ["message", "message"]
        assert said(body["input"], "user")[-1] == "two"
        assert of_kind(talk.events, TokenCount)[-1].info["total_token_usage"]["total_tokens"] == 360
        assert of_kind(talk.events, TokenCount)[0].info["total_token_usage"]["total_tokens"] == 240
        assert line_kinds(place.lines()).count("session_meta") == 1


async def test_resumed_thread_keeps_its_instructions_unless_the_settings_name_others(place: Place) -> None:
    own = place.home / "own.md"
    own.write_text("Be brief.")
    named = f"model_instructions_file={json.dumps(str(own))}"
    async with open_engine(place, []) as engine:
        await (await engine.start(named)).turn("one")
    (path,) = place.sessions()
    async with open_engine(place, []) as engine:
        talk = await engine.resume(path)
        await talk.turn("two")
        await talk.thread.shut_down()
        own.write_text("Be long.")
        await (await engine.resume(path, named)).turn("three")
        assert [request.body["instructions"] for request in engine.server.requests] == ["Be brief.", "Be long."]


async def test_resumed_with_another_model_says_so(place: Place) -> None:
    async with open_engine(place, []) as engine:
        await (await engine.start()).turn("one")
    (path,) = place.sessions()
    async with open_engine(place, []) as engine:
        talk = await engine.resume(path, 'model="gpt-5.2"')
        events = await talk.turn("two")
        (warning,) = of_kind(events, WarningEvent)
        assert "recorded with model `gpt-5.4` but is resuming with `gpt-5.2`" in warning.message
        assert any("<model_switch>" in text for text in said(engine.inputs[0], "developer"))


async def test_thread_that_runs_is_not_resumed_twice(place: Place) -> None:
    async with open_engine(place, []) as engine:
        talk = await engine.start()
        await talk.turn("one")
        (path,) = place.sessions()
        found: list[Any] = []

        async def resume() -> None:
            found.append(await engine.threads.resume(engine.config(), str(path)))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(resume)
            nursery.start_soon(resume)
        assert found == [talk.thread, talk.thread]
        await talk.thread.shut_down()
        found.clear()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(resume)
            nursery.start_soon(resume)
        assert found[0] is found[1]
        assert found[0] is not talk.thread


async def test_files_that_cannot_be_resumed_are_refused_in_words(place: Place) -> None:
    empty = place.home / "empty.jsonl"
    empty.write_text("")
    async with open_engine(place, []) as engine:
        with pytest.raises(RolloutUnreadable, match="empty session file"):
            await engine.resume(empty)
        with pytest.raises(RolloutUnreadable, match="No such file"):
            await engine.resume(place.home / "none.jsonl")
        # The engine is none the worse for it.
        assert (await (await engine.start()).turn("go"))[-1].last_agent_message == "done"


async def test_settings_that_cannot_be_used_are_refused_in_words(place: Place) -> None:
    catalog = place.home / "models.json"
    catalog.write_text("{")
    async with open_engine(place, []) as engine:
        with pytest.raises(UserFacing, match=r"models\.json"):
            await engine.start(f"model_catalog_json={json.dumps(str(catalog))}")


async def test_call_without_an_output_is_told_as_aborted_and_not_run_again(place: Place) -> None:
    async with open_engine(place, [Reply(parts=[*say("x"), *run(f"touch {place.workspace}/ran", "c")])]) as engine:
        await (await engine.start("sandbox_mode=danger-full-access")).turn("one")
    (path,) = place.sessions()
    (place.workspace / "ran").unlink()
    kept = path.read_text().splitlines(keepends=True)
    path.write_text("".join(kept[: [json.loads(line)["payload"].get("call_id") for line in kept].index("c") + 1]))
    async with open_engine(place, []) as engine:
        await (await engine.resume(path, "sandbox_mode=danger-full-access")).turn("two")
        assert outputs(engine.inputs[0]) == {"c": "aborted"}
    assert not (place.workspace / "ran").exists()


async def test_fork_goes_its_own_way(place: Place) -> None:
    async with open_engine(place, []) as engine:
        talk = await engine.start()
        await talk.turn("one")
        (path,) = place.sessions()
        thread = await engine.threads.fork(engine.config(), str(path), source="exec")
        configured = await thread.next_event()
        assert isinstance(configured, SessionConfigured)
        assert configured.forked_from_id == talk.thread.thread_id != thread.thread_id
        assert thread.rollout_path is not None
        # It is there at once, with all that was.
        copied = lines_of(thread.rollout_path)
        # The model is told the settings of this thread before anything else happens in it.
        context = ["message:developer", "message:user"]
        assert line_kinds(copied) == ["session_meta", *line_kinds(lines_of(path)), *context]
        assert copied[0]["payload"]["forked_from_id"] == talk.thread.thread_id
        fork = Talk(thread)
        await fork.turn("here")
        await talk.turn("there")
        here, there = engine.inputs[1:]
        assert said(here, "user")[-1] == "here"
        assert said(there, "user")[-1] == "there"
        assert "here" not in said(there, "user")
        assert here[: len(engine.inputs[0])] == engine.inputs[0]
        # It is told everything again: what the origin was told was about the origin.
        assert len(said(here, "developer")) == 2
        assert len(said(there, "developer")) == 1


async def test_ephemeral_fork_leaves_no_file(place: Place) -> None:
    async with open_engine(place, []) as engine:
        await (await engine.start()).turn("one")
        (path,) = place.sessions()
        fork = await engine.threads.fork(engine.config(ephemeral=True), str(path), source="exec")
        talk = await engine.talk_with(fork)
        await talk.turn("two")
        assert said(engine.inputs[1], "user")[-1] == "two"
        assert "one" in said(engine.inputs[1], "user")
        assert place.sessions() == [path]


async def test_archiving_a_running_thread_ends_it_first(place: Place) -> None:
    home = str(place.home)
    mark = Mark()
    async with open_engine(place, [Reply(parts=[*run(f"sleep {mark}", "c"), Hold()])]) as engine:
        talk = await engine.start()
        await talk.say("go")
        await talk.until(ExecCommandBegin)
        archived = await engine.threads.archive(home, talk.thread.thread_id)
        assert not mark.alive()
        assert place.sessions() == []
        assert line_kinds(lines_of(archived))[-1] == "turn_aborted"
        rest = await talk.rest()
        assert (of_kind(rest, TurnAborted) != [], rest[-1]) == (True, ShutdownComplete())
        with pytest.raises(UserFacing, match="no rollout found for thread id"):
            await engine.threads.archive(home, talk.thread.thread_id)
        path = engine.threads.unarchive(home, talk.thread.thread_id)
        assert [str(found) for found in place.sessions()] == [path] == [talk.thread.rollout_path]
        again = await engine.resume(path)
        await again.turn("more")
        assert outputs(engine.inputs[1])["c"].startswith("aborted by user")
        with pytest.raises(UserFacing, match="no archived rollout found for thread id"):
            engine.threads.unarchive(home, talk.thread.thread_id)


async def test_threads_are_listed_by_their_files(place: Place) -> None:
    async with open_engine(place, []) as engine:
        ids = []
        for text in ("one", "two"):
            talk = await engine.start()
            await talk.turn(text)
            ids.append(talk.thread.thread_id)
        await engine.start()
        page = engine.threads.list(str(place.home), Filters(default_provider="mock"))
        assert {thread.thread_id: thread.preview for thread in page.threads} == dict(
            zip(ids, ("one", "two"), strict=True)
        )


def scripted_by_thread(request: Request) -> Reply:
    """Each thread is told what it said itself; some providers are bad, some answers are."""
    body = request.body
    said_last = said(body["input"], "user")[-1]
    number = int(said_last.split()[1])
    if body["input"][-1]["type"] == "function_call_output":
        return Reply(parts=say(f"thread {number} ran {body['input'][-1]['output'].splitlines()[-1]}"))
    if number % 5 == 1:
        return refuse(400, f"no {number}")
    if number % 5 == 2:
        return Reply(parts=[b"\x00garbage\xff\n\n"], is_complete=False)
    return Reply(parts=run(f"echo {number}", f"c{number}"))


async def test_fifty_threads_at_once_know_nothing_of_each_other(place: Place) -> None:
    ends: dict[int, list[Any]] = {}
    async with open_engine(place, scripted_by_thread) as engine:

        async def live(number: int) -> None:
            talk = await engine.start()
            wrong: tuple[Any, ...] = (ODD,) if number % 5 == 3 else ()
            await talk.thread.submit(UserTurn(items=(Text(text=f"thread {number}"), *wrong)))
            await talk.ended()
            if number % 5 == 4:
                # A wish that makes no sense at all ends the thread, and only that.
                await talk.thread.submit(Answer(request_id=UNHASHABLE, value=None))
                await talk.rest()
            ends[number] = talk.events

        async with trio.open_nursery() as nursery:
            for number in range(50):
                nursery.start_soon(live, number)
        assert len(engine.server.requests) == 20 * 2 + 20
    for number, events in ends.items():
        errors = [event.message for event in of_kind(events, ErrorEvent)]
        answers = [event.message for event in of_kind(events, AgentMessage)]
        match number % 5:
            case 0:
                assert (errors, answers) == ([], [f"thread {number} ran {number}"])
            case 1:
                assert [f'"no {number}"' in error for error in errors] == [True]
            case 2:
                assert errors == ["stream disconnected before completion: stream closed before response.completed"]
            case 3:
                assert [error.startswith("unexpected AttributeError") for error in errors] == [True]
            case _:
                assert answers == [f"thread {number} ran {number}"]
                assert [error.startswith("the thread ended unexpectedly") for error in errors] == [True]
        assert all(event.thread_id == events[0].session_id for event in events if hasattr(event, "thread_id"))
    # Those whose first words made no sense never came to have a file.
    files = [lines_of(path) for path in place.sessions()]
    told = [
        [line["payload"]["message"] for line in lines if "user_message" in line["payload"].values()] for lines in files
    ]
    assert sorted(told) == sorted([f"thread {number}"] for number in range(50) if number % 5 != 3)


async def test_turn_that_cannot_be_made_ends_alone(place: Place) -> None:
    async with open_engine(place, []) as engine:
        talk = await engine.start()
        await talk.thread.submit(UserTurn(items=(), model=ODD))
        (error,) = of_kind(await talk.ended(), ErrorEvent)
        assert error.message.startswith("unexpected ")
        await talk.thread.submit(UserTurn(items=(Text(text="go"),), model="gpt-5.4"))
        assert [event.message for event in of_kind(await talk.ended(), AgentMessage)] == ["done"]


async def test_thread_that_has_ended_takes_no_more_wishes(place: Place) -> None:
    async with open_engine(place, []) as engine:
        talk = await engine.start()
        await talk.thread.shut_down()
        await talk.thread.shut_down()
        with pytest.raises(UserFacing, match="the thread has ended"):
            await talk.thread.submit(UserTurn(items=(Text(text="go"),)))


async def test_thread_that_dies_takes_its_processes_along_and_no_others(place: Place) -> None:
    mine, other = Mark(), Mark()

    def script(request: Request) -> Reply:
        number = said(request.body["input"], "user")[-1]
        return Reply(parts=[*run(f"sleep {mine if number == 'dies' else other}"), Hold()])

    async with open_engine(place, script) as engine:
        dies, lives = await engine.start(), await engine.start()
        for talk, text in ((dies, "dies"), (lives, "lives")):
            await talk.say(text)
            await talk.until(ExecCommandBegin)
        await eventually_async(lambda: mine.sleepers() and other.sleepers())
        await dies.thread.submit(Answer(request_id=UNHASHABLE, value=None))
        (error,) = of_kind(await dies.rest(), ErrorEvent)
        assert error.message == "the thread ended unexpectedly: unhashable type: 'list'"
        await eventually_async(lambda: not mine.alive())
        assert other.sleepers()
        await lives.interrupt()
        assert isinstance((await lives.ended())[-1], TurnAborted)
    assert not other.alive()


async def test_reading_of_commands_is_loaded_while_the_model_thinks(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "pycodex.supervisor.policy.summaries"
    monkeypatch.delitem(sys.modules, name, raising=False)
    async with open_engine(place, [Reply(parts=[Hold()])]) as engine:
        talk = await engine.start()
        assert name not in sys.modules
        await talk.say("go")
        await eventually_async(lambda: name in sys.modules)


async def test_end_of_the_engine_ends_every_thread_in_good_order(place: Place) -> None:
    mark = Mark()
    async with open_engine(place, lambda _: Reply(parts=[*run(f"sleep {mark}"), Hold()])) as engine:
        talks = [await engine.start() for _ in range(3)]
        for talk in talks:
            await talk.say("go")
            await talk.until(ExecCommandBegin)
    assert not mark.alive()
    for talk in talks:
        rest = await talk.rest()
        assert rest[-1] == ShutdownComplete()
        assert len(of_kind(rest, TurnAborted)) == 1
        assert len(of_kind(rest, ExecCommandEnd)) == 1
    for path in place.sessions():
        assert line_kinds(lines_of(path))[-1] == "turn_aborted"


async def test_error_of_whoever_uses_the_engine_is_not_wrapped(place: Place) -> None:
    mark = Mark()

    async def use() -> None:
        async with open_engine(place, lambda _: Reply(parts=[*run(f"sleep {mark}"), Hold()])) as engine:
            talk = await engine.start()
            await talk.say("go")
            await talk.until(ExecCommandBegin)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await use()
    assert not mark.alive()


async def test_thread_started_with_an_unreadable_home_works_without_it(place: Place) -> None:
    """A file where a folder should be costs the bundled skills their copy, and nothing else."""
    (place.home / "skills").write_text("in the way")
    async with open_engine(place, []) as engine:
        events = await (await engine.start()).turn("go")
        assert isinstance(events[-1], TaskComplete)
        assert events[-1].last_agent_message == "done"
        assert (place.home / "skills").is_file()


LOOKUP = {
    "name": "lookup",
    "description": "Looks it up.",
    "inputSchema": {"type": "object", "properties": {"k": {"type": "string"}}},
    "deferLoading": False,
}
PLUM = {"contentItems": [{"type": "inputText", "text": "plum"}], "success": True}


async def looked_up(talk: Talk, text: str) -> list[Any]:
    """A turn in which the client's tool is called once, and answers."""
    await talk.say(text)
    request = await talk.until(DynamicToolCallRequest)
    await talk.thread.submit(Answer(request_id=request.call_id, value=PLUM))
    return [request, *of_kind(await talk.ended(), DynamicToolCallResponse)]


def offered_names(request: Request) -> list[str]:
    return [tool.get("name") or tool["type"] for tool in request.body["tools"]]


async def test_client_runs_its_own_tools(place: Place) -> None:
    script = [Reply(parts=call("lookup", {"k": "a"}, "c1")), Reply(parts=say("one"))]
    async with open_engine(place, script) as engine:
        thread = await engine.threads.start(engine.config(), source="exec", dynamic_tools=[{**LOOKUP, "more": 1}])
        talk = await engine.talk_with(thread)
        request, response = await looked_up(talk, "go")
        assert (request.tool, request.arguments) == ("lookup", {"k": "a"})
        assert (response.content_items, response.success) == (tuple(PLUM["contentItems"]), True)  # type: ignore[arg-type]
        assert outputs(engine.inputs[1]) == {"c1": "plum"}
        assert offered_names(engine.server.requests[0])[-1] == "lookup"
        assert place.lines()[0]["payload"]["dynamic_tools"] == [LOOKUP]


async def test_tools_of_the_client_go_on_with_the_thread_and_with_its_forks(place: Place) -> None:
    script = [Reply(parts=say("one"))]
    async with open_engine(place, script) as engine:
        thread = await engine.threads.start(engine.config(), source="exec", dynamic_tools=[LOOKUP])
        await (await engine.talk_with(thread)).turn("go")
    (path,) = place.sessions()
    script = [Reply(parts=part) for id_ in ("r", "f") for part in (call("lookup", {}, id_), say(id_))]
    async with open_engine(place, script) as engine:
        await looked_up(await engine.resume(path), "again")
        fork = await engine.threads.fork(engine.config(), str(path), source="exec")
        await looked_up(await engine.talk_with(fork), "elsewhere")
        assert [outputs(sent) for sent in engine.inputs[1::2]] == [{"r": "plum"}, {"r": "plum", "f": "plum"}]
    assert [lines_of(file)[0]["payload"]["dynamic_tools"] for file in place.sessions()] == [[LOOKUP]] * 2


async def test_thread_without_tools_of_its_own_has_none_in_its_file(place: Place) -> None:
    async with open_engine(place, []) as engine:
        await (await engine.start()).turn("go")
    assert "dynamic_tools" not in place.lines()[0]["payload"]


async def test_tool_that_cannot_be_taken_is_refused_in_words(place: Place) -> None:
    async with open_engine(place, []) as engine:
        with pytest.raises(BadDeclaration, match="duplicate dynamic tool name: lookup"):
            await engine.threads.start(engine.config(), source="exec", dynamic_tools=[LOOKUP, LOOKUP])


async def test_deferred_tool_is_found_and_then_called(place: Place) -> None:
    model = {
        "slug": "searcher",
        "display_name": "Searcher",
        "truncation_policy": {"mode": "bytes", "limit": 10_000},
        "shell_type": "default",
        "supports_reasoning_summaries": False,
        "supports_search_tool": True,
    }
    file = place.home / "models.json"
    file.write_text(json.dumps({"models": [model]}))
    search = {"type": "tool_search_call", "call_id": "s", "execution": "client", "arguments": {"query": "look up"}}
    script = [Reply(parts=[done(search)]), Reply(parts=call("lookup", {}, "c")), Reply(parts=say("one"))]
    async with open_engine(place, script) as engine:
        config = engine.config(f'model_catalog_json="{file}"', 'model="searcher"')
        tools = [{**LOOKUP, "deferLoading": True}]
        talk = await engine.talk_with(await engine.threads.start(config, source="exec", dynamic_tools=tools))
        await looked_up(talk, "go")
        names = offered_names(engine.server.requests[0])
        assert "tool_search" in names
        assert "lookup" not in names
        (found,) = [item for item in engine.inputs[1] if item["type"] == "tool_search_output"]
        assert [tool["name"] for tool in found["tools"]] == ["lookup"]
        assert outputs(engine.inputs[2]) == {"c": "plum"}


@pytest.mark.parametrize(
    ("overrides", "flags", "entries"),
    [
        ((), {}, [{"external_web_access": False}]),
        (('web_search="disabled"',), {"bypass": True}, []),
        ((), {"bypass": True}, [{"external_web_access": True}]),
        (
            ('tools.web_search={context_size="low"}',),
            {},
            [{"external_web_access": False, "search_context_size": "low"}],
        ),
    ],
)
async def test_provider_is_told_how_to_search(
    place: Place, overrides: tuple[str, ...], flags: dict[str, Any], entries: list[dict[str, Any]]
) -> None:
    async with open_engine(place, []) as engine:
        await (await engine.start(*overrides, **flags)).turn("go")
        (request,) = engine.server.requests
        found = [tool for tool in request.body["tools"] if tool["type"] == "web_search"]
        assert found == [{"type": "web_search", **entry} for entry in entries]


# What a person has allowed

UNTRUSTED = {"sandbox_mode": "workspace-write", "approval_policy": "untrusted"}
SAVED = 'Approved command prefix saved:\n- ["touch"]'


def touching(*names: str) -> list[Reply]:
    """A response for each; all are asked about unless something is allowed."""
    return [Reply(parts=run(f"touch {name}", name)) for name in names]


def made(place: Place) -> set[str]:
    """All that was touched, in the workspace or beside it."""
    return {path.name for folder in (place.workspace, place.workspace.parent) for path in folder.glob("made-*")}


async def started_with_rules(engine: Engine, **flags: Any) -> Talk:
    """A thread that is given the rules of the home, as a front-end does."""
    config = engine.config(**flags)
    rules = load_rules(config, system_dir=str(engine.place.home / "no-system"))
    return await engine.talk_with(await engine.threads.start(config, source="exec", rules=rules))


async def test_prefix_allowed_for_good_holds_at_once_and_for_threads_to_come(place: Place) -> None:
    script = touching("made-1", "../made-2")
    async with open_engine(place, [*script, Reply(parts=say("one")), *touching("../made-3")]) as engine:
        person = Person(await engine.start(**UNTRUSTED), [amending("touch")])
        await person.turn("go")
        assert [request.call_id for request in person.asked] == ["made-1"]
        # Once, where it happened, and from then on.
        first, second, third = (said(sent, "developer") for sent in engine.inputs)
        assert (first.count(SAVED), second.count(SAVED), third.count(SAVED)) == (0, 1, 1)
        assert (place.home / "rules" / "default.rules").read_text() == (
            'prefix_rule(pattern=["touch"], decision="allow")\n'
        )
        await Person(await started_with_rules(engine, **UNTRUSTED)).turn("go")
    assert made(place) == {"made-1", "made-2", "made-3"}
    assert line_kinds(lines_of(place.sessions()[0])).count("message:developer") == 2


async def test_prefix_allowed_in_one_thread_is_asked_about_in_another_that_runs(place: Place) -> None:
    async with open_engine(place, by_turn) as engine:
        one, other = Person(await engine.start(**UNTRUSTED)), Person(await engine.start(**UNTRUSTED))
        one.answers += [amending("touch")]
        other.answers += ["denied"]
        await one.turn("touch made-1")
        await other.turn("touch made-2")
        assert (len(one.asked), len(other.asked)) == (1, 1)
    assert made(place) == {"made-1"}


def by_turn(request: Request) -> Reply:
    """Run what the person says, and then say so."""
    items = request.body["input"]
    if items[-1]["type"] == "function_call_output" or said(items[-1:], "developer"):
        return Reply(parts=say("done"))
    return Reply(parts=run(said(items, "user")[-1]))


async def test_what_is_allowed_for_the_session_is_not_for_other_threads_nor_for_later(place: Place) -> None:
    async with open_engine(place, by_turn) as engine:
        first = Person(await engine.start(**UNTRUSTED), ["approved_for_session"])
        await first.turn("touch made-1")
        await first.turn("touch made-1")
        assert len(first.asked) == 1
        second = Person(await engine.start(**UNTRUSTED), ["denied"])
        await second.turn("touch made-1")
        assert len(second.asked) == 1
        path, thread_id = first.talk.thread.rollout_path, first.talk.thread.thread_id
    assert path is not None
    async with open_engine(place, by_turn) as engine:
        again = Person(await engine.resume(path, **UNTRUSTED), ["denied"])
        assert again.talk.thread.thread_id == thread_id
        await again.turn("touch made-1")
        assert len(again.asked) == 1


async def test_thread_resumes_after_a_declined_call(place: Place) -> None:
    async with open_engine(place, touching("made-1")) as engine:
        await Person(await engine.start(**UNTRUSTED), ["denied"]).turn("go")
        told = outputs(engine.inputs[1])
        assert "rejected by user" in told["made-1"]
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
        "token_count",
        "function_call_output",
        "token_count",
        "agent_message",
        "message:assistant",
        "token_count",
        "task_complete",
    ]
    (path,) = place.sessions()
    async with open_engine(place, touching("made-2")) as engine:
        person = Person(await engine.resume(path, **UNTRUSTED), ["approved"])
        events = await person.turn("more")
        assert events[-1].last_agent_message == "done"
        assert outputs(engine.inputs[0]) == told
        assert [request.call_id for request in person.asked] == ["made-2"]
    calls = [line["payload"] for line in place.lines() if line["payload"].get("type", "").startswith("function_call")]
    assert [(item["type"], item["call_id"]) for item in calls] == [
        ("function_call", "made-1"),
        ("function_call_output", "made-1"),
        ("function_call", "made-2"),
        ("function_call_output", "made-2"),
    ]
    assert made(place) == {"made-2"}


async def test_thread_that_ended_while_it_asked_is_resumed_with_an_aborted_call(place: Place) -> None:
    async with open_engine(place, touching("made-1")) as engine:
        talk = await engine.start(**UNTRUSTED)
        await talk.say("go")
        await Person(talk).questions(1)
    (path,) = place.sessions()
    async with open_engine(place, []) as engine:
        await (await engine.resume(path, **UNTRUSTED)).turn("more")
        assert outputs(engine.inputs[0])["made-1"].startswith("aborted by user after ")
    assert made(place) == set()


async def test_policy_of_a_turn_decides_what_is_asked(place: Place) -> None:
    """As it is recorded of others: safe, opaque, plain; then nothing; then what may not be asked."""
    commands = ("ls", "cat a | head -1 && pwd >/dev/null", "touch made-1", "touch made-2", "rm -rf made-1")
    script = [Reply(parts=run(command, command)) for command in commands[:3]] + [Reply(parts=say("x"))]
    script += [Reply(parts=run(commands[3], commands[3])), Reply(parts=say("y"))]
    script += [Reply(parts=run(commands[4], commands[4])), Reply(parts=say("z"))]
    async with open_engine(place, script) as engine:
        person = Person(await engine.start(**UNTRUSTED), ["approved", "approved"])
        await person.turn("one")
        assert [request.call_id for request in person.asked] == list(commands[1:3])
        await person.turn("two", approval_policy="on-request")
        await person.turn("three", approval_policy=granular(rules=True))
        assert len(person.asked) == 2
        assert "Granular.sandbox_approval is false" in outputs(engine.inputs[-1])[commands[4]]
    assert made(place) == {"made-1", "made-2"}


async def test_rules_of_the_home_hold_in_every_policy(place: Place) -> None:
    rules = place.home / "rules"
    rules.mkdir()
    (rules / "a.rules").write_text(
        'prefix_rule(pattern=["touch"])\nprefix_rule(pattern=["cp"], decision="forbidden", justification="no copies")\n'
    )
    (place.workspace / "a").touch()
    for policy in ("untrusted", "never"):
        script = [Reply(parts=run(f"touch ../made-{policy}")), Reply(parts=run("cp a made-copy", "cp"))]
        async with open_engine(place, script) as engine:
            person = Person(await started_with_rules(engine, sandbox_mode="read-only", approval_policy=policy))
            await person.turn("go")
            assert "rejected: no copies" in outputs(engine.inputs[2])["cp"]
    assert made(place) == {"made-untrusted", "made-never"}
