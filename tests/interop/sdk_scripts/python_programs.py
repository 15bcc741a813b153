"""Programs that use the Python SDK of Codex as anybody would: each function is one, and gives its report.

Called as `python_programs.py PROGRAM CODEX_BIN [ARGUMENT]...` in the SDK's own environment; the report is printed as
JSON. Knows nothing of what it drives but the path.
"""

import asyncio
import json
import sys
from collections.abc import Callable, Iterable
from typing import Any

from openai_codex import (
    ApprovalMode,
    AsyncCodex,
    Codex,
    CodexConfig,
    ImageInput,
    JsonRpcError,
    LocalImageInput,
    Sandbox,
    SkillInput,
    TextInput,
)
from openai_codex.client import CodexClient
from openai_codex.models import UnknownNotification
from openai_codex.types import (
    Personality,
    ReasoningEffort,
    SortDirection,
    ThreadListCwdFilter,
    ThreadSortKey,
    ThreadSourceKind,
)

Json = dict[str, Any]


def plain_turns(codex_bin: str) -> Json:
    with _codex(codex_bin) as codex:
        thread = codex.thread_start()
        before = thread.read(include_turns=True).thread
        turns = [_told_of(thread.run(text)) for text in ("hello", "and more")]
        stored = thread.read(include_turns=True).thread
        return {
            "server": codex.metadata.serverInfo.name,
            "turns before": len(before.turns),
            "turns": turns,
            "stored": [[_item(item) for item in turn.items] for turn in stored.turns],
            "preview": stored.preview,
            "models": [model.id for model in codex.models().data],
            "account": codex.account().account,
        }


def pictures(codex_bin: str, path: str) -> Json:
    with _codex(codex_bin) as codex:
        thread = codex.thread_start()
        seen = [TextInput("what is this?"), LocalImageInput(path), ImageInput("data:image/png;base64,AAAA")]
        return _told_of(thread.run(seen))


def output_schema(codex_bin: str, schema: str) -> Json:
    with _codex(codex_bin) as codex:
        thread = codex.thread_start()
        shaped = thread.run("in this shape", output_schema=json.loads(schema))
        return {"answer": json.loads(shaped.final_response), "later": thread.run("as you like").final_response}


def skill(codex_bin: str, path: str) -> Json:
    with _codex(codex_bin) as codex:
        return _told_of(codex.thread_start().run([TextInput("use it"), SkillInput("paint", path)]))


def key_login(codex_bin: str, key: str) -> Json:
    with _codex(codex_bin) as codex:
        codex.login_api_key(key)
        account = codex.account().account
        final = codex.thread_start().run("hello").final_response
        codex.logout()
        return {"account": account.root.type, "final": final, "later": codex.account().account}


def last_words(codex_bin: str, turns: str) -> Json:
    """Which of a turn's messages the SDK takes for its result."""
    with _codex(codex_bin) as codex:
        thread = codex.thread_start()
        return {"finals": [thread.run(f"turn {number}").final_response for number in range(int(turns))]}


def streamed(codex_bin: str) -> Json:
    with _codex(codex_bin) as codex:
        thread = codex.thread_start(sandbox=Sandbox.workspace_write)
        events = list(thread.turn("work").stream())
        thread.set_name("a name")
        beside = [codex._client.next_notification()]
        while beside[-1].method != "thread/name/updated":
            beside.append(codex._client.next_notification())
        return {
            "methods": [event.method for event in events],
            "unknown": [e.method for e in (*events, *beside) if isinstance(e.payload, UnknownNotification)],
            "beside": [event.method for event in beside],
            "text": "".join(event.payload.delta for event in events if event.method == "item/agentMessage/delta"),
            "output": "".join(
                event.payload.delta for event in events if event.method == "item/commandExecution/outputDelta"
            ),
            "items": [_item(event.payload.item) for event in events if event.method == "item/completed"],
        }


def approval_modes(codex_bin: str) -> Json:
    """The SDK itself says yes to everything; in the other mode nothing is asked."""
    with _codex(codex_bin) as codex:
        asked = codex.thread_start(sandbox=Sandbox.read_only).run("try")
        unasked = codex.thread_start(sandbox=Sandbox.read_only, approval_mode=ApprovalMode.deny_all).run("try")
        return {"asked": _told_of(asked), "unasked": _told_of(unasked)}


def approval_kept(codex_bin: str) -> Json:
    """A mode that a turn brings holds for the later ones, also through another handle; a fork has its own."""
    with _codex(codex_bin) as codex:
        thread = codex.thread_start(sandbox=Sandbox.read_only)
        thread.run("try", approval_mode=ApprovalMode.deny_all)
        thread.run("once more")
        codex.thread_resume(thread.id).run("resumed")
        asking = codex.thread_fork(thread.id, approval_mode=ApprovalMode.auto_review)
        return {"final": asking.run("forked to ask").final_response}


def approvals(codex_bin: str, decision: str) -> Json:
    asked: list[Json] = []

    def answer(method: str, params: Json) -> Json:
        asked.append({"method": method, **params})
        return {"decision": decision}

    told = _asked_turn(codex_bin, answer, approvalPolicy="on-request", sandbox="read-only")
    return {"asked": asked, **told}


def own_tool(codex_bin: str) -> Json:
    """The program answers a tool that it brings along."""
    tool = {"name": "lookup", "description": "Looks up", "inputSchema": {"type": "object", "properties": {}}}
    asked: list[Json] = []

    def answer(method: str, params: Json) -> Json:
        asked.append({"method": method, "tool": params["tool"], "arguments": params["arguments"]})
        return {"contentItems": [{"type": "inputText", "text": "found it"}], "success": True}

    return {**_asked_turn(codex_bin, answer, dynamicTools=[tool]), "asked": asked}


def _asked_turn(codex_bin: str, answer: Callable[[str, Json], Json], **thread: Any) -> Json:
    with CodexClient(CodexConfig(codex_bin=codex_bin), approval_handler=answer) as client:
        client.initialize()
        thread_id = client.thread_start(thread).thread.id
        turn_id = client.turn_start(thread_id, "try").turn.id
        client.register_turn_notifications(turn_id)
        events = [client.next_turn_notification(turn_id)]
        while events[-1].method != "turn/completed":
            events.append(client.next_turn_notification(turn_id))
        return {
            "unknown": [event.method for event in events if isinstance(event.payload, UnknownNotification)],
            "items": [_item(event.payload.item) for event in events if event.method == "item/completed"],
            "status": events[-1].payload.turn.status.value,
        }


def interrupted(codex_bin: str) -> Json:
    with _codex(codex_bin) as codex:
        thread = codex.thread_start()
        turn = thread.turn("work for ever")
        for event in turn.stream():
            if event.method == "item/started" and _kind(event.payload.item) == "commandExecution":
                turn.interrupt()
        return {"status": event.payload.turn.status.value, "later": thread.run("go on").final_response}


def steered(codex_bin: str, fifo: str) -> Json:
    """More is said while a command waits for what only then is written."""
    with _codex(codex_bin) as codex:
        turn = codex.thread_start().turn("begin")
        items, answer = [], None
        for event in turn.stream():
            if event.method == "item/started" and _kind(event.payload.item) == "commandExecution":
                answer = turn.steer("this, too")
                with open(fifo, "w", encoding="utf-8") as line:
                    line.write("go on")
            elif event.method == "item/completed":
                items.append(_item(event.payload.item))
        return {"items": items, "is same turn": answer is not None and answer.turn_id == turn.id}


def joined(codex_bin: str, fifo: str) -> Json:
    """A second turn is asked for while one runs: it is the one that runs."""
    with _codex(codex_bin) as codex:
        thread = codex.thread_start()
        turn = thread.turn("begin")
        for event in turn.stream():
            if event.method == "item/started" and _kind(event.payload.item) == "commandExecution":
                break
        second = thread.turn("this, too")
        with open(fifo, "w", encoding="utf-8") as line:
            line.write("go on")
        return {"is same turn": second.id == turn.id, "final": second.run().final_response}


def compacted(codex_bin: str) -> Json:
    with _codex(codex_bin) as codex:
        thread = codex.thread_start()
        thread.run("a long story")
        thread.compact()
        idle = 0
        while idle < 2:
            event = codex._client.next_notification()
            idle += event.method == "thread/status/changed" and event.payload.status.root.type == "idle"
        later = thread.run("and now?")
        turns = thread.read(include_turns=True).thread.turns
        return {
            "stored": [[_kind(item) for item in turn.items] for turn in turns],
            "statuses": [_status(turn) for turn in turns],
            "final": later.final_response,
        }


def goal(codex_bin: str) -> Json:
    """The turns that the server starts by itself, up to the end of the goal."""
    with CodexClient(CodexConfig(codex_bin=codex_bin)) as client:
        client.initialize()
        thread_id = client.thread_start().thread.id
        state, first = client.start_goal_operation(thread_id, "win")
        events: list[Any] = []
        is_reached = False
        while not (is_reached and events[-1].method == "turn/completed"):
            events.append(client.next_goal_notification(state))
            is_reached |= events[-1].method == "thread/goal/updated" and _status(events[-1].payload.goal) == "complete"
        client.unregister_goal_operation(state)
        started = [event.payload.turn.id for event in events if event.method == "turn/started"]
        return {
            "unknown": [event.method for event in events if isinstance(event.payload, UnknownNotification)],
            "begins with it": started[:1] == [first],
            "turns": len(started),
            "later": _turn(client, thread_id, "thanks"),
        }


def given_up_goal(codex_bin: str) -> Json:
    with CodexClient(CodexConfig(codex_bin=codex_bin)) as client:
        client.initialize()
        thread_id = client.thread_start().thread.id
        state, _ = client.start_goal_operation(thread_id, "win")
        events = [client.next_goal_notification(state)]
        while events[-1].method != "item/agentMessage/delta":
            events.append(client.next_goal_notification(state))
        client.cancel_goal_operation(state)
        while events[-1].method != "turn/completed":
            events.append(client.next_goal_notification(state))
        client.unregister_goal_operation(state)
        updates = [event.payload.goal for event in events if event.method == "thread/goal/updated"]
        return {
            "turn": _status(events[-1].payload.turn),
            "goal": _status(updates[-1]),
            "later": _turn(client, thread_id, "something else"),
        }


def _turn(client: CodexClient, thread_id: str, text: str) -> str:
    turn_id = client.turn_start(thread_id, text).turn.id
    return _status(client.wait_for_turn_completed(turn_id).turn)


def _status(told: Any) -> str:
    return str(told.status.value)


def begun(codex_bin: str) -> Json:
    with _codex(codex_bin) as codex:
        thread = codex.thread_start(ephemeral=False)
        thread.run("remember me")
        thread.set_name("remembered")
        return {"id": thread.id}


def gone_on(codex_bin: str, thread_id: str) -> Json:
    """In another process than the thread was begun in."""
    with _codex(codex_bin) as codex:
        listed = [[each.id, each.name] for each in codex.thread_list().data]
        thread = codex.thread_resume(thread_id)
        resumed = thread.run("and now?")
        fork = codex.thread_fork(thread_id)
        forked = fork.run("elsewhere")
        codex.thread_archive(fork.id)
        archived = [each.id for each in codex.thread_list(archived=True).data]
        back = codex.thread_unarchive(fork.id)
        return {
            "listed": listed,
            "resumed": [thread.id, resumed.final_response],
            "forked": forked.final_response,
            "is another": fork.id != thread_id,
            "is archived": archived == [fork.id],
            "is back": back.id == fork.id,
            "turns": [len(each.read(include_turns=True).thread.turns) for each in (thread, back)],
        }


def two_at_once(codex_bin: str) -> Json:
    async def talk() -> list[Json]:
        async with AsyncCodex(CodexConfig(codex_bin=codex_bin)) as codex:
            threads = [await codex.thread_start(sandbox=Sandbox.workspace_write) for _ in range(2)]
            results = await asyncio.gather(threads[0].run("left"), threads[1].run("right"))
            return [_told_of(result) for result in results]

    return {"results": asyncio.run(talk())}


def every_option(codex_bin: str, directory: str) -> Json:
    with _codex(codex_bin, "model_verbosity='low'") as codex:
        thread = codex.thread_start(
            approval_mode=ApprovalMode.deny_all,
            base_instructions="the base",
            config={"model_reasoning_summary": "concise", "features": {"unheard_of": True}},
            cwd=directory,
            developer_instructions="for developers",
            ephemeral=False,
            model="gpt-5.2",
            model_provider="mock",
            personality=Personality.friendly,
            sandbox=Sandbox.read_only,
            service_name="a service",
            service_tier="flex",
        )
        changed = thread.run(
            "work",
            approval_mode=ApprovalMode.auto_review,
            cwd=directory,
            effort=ReasoningEffort.max,
            model="gpt-5.4",
            personality=Personality.pragmatic,
            sandbox=Sandbox.workspace_write,
            service_tier="fast",
        )
        found = codex.thread_list(
            archived=False,
            cwd=ThreadListCwdFilter([directory, "/nowhere"]),
            limit=10,
            model_providers=["mock"],
            search_term="work",
            sort_direction=SortDirection.desc,
            sort_key=ThreadSortKey.recency_at,
            source_kinds=[ThreadSourceKind.vscode],
            use_state_db_only=False,
        )
        return {"result": _told_of(changed), "is found": [each.id for each in found.data] == [thread.id]}


def failed(codex_bin: str) -> Json:
    with _codex(codex_bin) as codex:
        thread = codex.thread_start()
        try:
            thread.run("fail")
        except RuntimeError as error:
            return {"error": str(error), "later": thread.run("again").final_response}
        raise AssertionError("the turn has not failed")


def refused(codex_bin: str) -> Json:
    with _codex(codex_bin) as codex:
        attempts: list[Callable[[], Any]] = [
            lambda: codex.thread_resume("00000000-0000-7000-8000-000000000000"),
            lambda: codex.thread_start(model_provider="nobody"),
            lambda: codex.thread_start().set_name(" "),
        ]
        return {"errors": [_error_of(attempt) for attempt in attempts]}


def _error_of(attempt: Callable[[], Any]) -> list[Any]:
    try:
        attempt()
    except JsonRpcError as error:
        return [type(error).__name__, error.code]
    return []


# What is told


def _codex(codex_bin: str, *overrides: str) -> Any:
    return Codex(CodexConfig(codex_bin=codex_bin, config_overrides=overrides))


def _told_of(result: Any) -> Json:
    return {
        "status": result.status.value,
        "final": result.final_response,
        "items": [_item(item) for item in result.items],
        "total tokens": result.usage.total.total_tokens if result.usage is not None else None,
        "has times": None not in (result.started_at, result.completed_at, result.duration_ms),
    }


def _item(item: Any) -> Json:
    told: Json = item.root.model_dump(mode="json", by_alias=True)
    return told


def _kind(item: Any) -> str:
    return str(item.root.type)


PROGRAMS: Iterable[Callable[..., Json]] = (
    *(plain_turns, pictures, output_schema, streamed, every_option, two_at_once, begun, gone_on),
    *(approval_modes, approval_kept, approvals, own_tool, interrupted, steered, joined, failed, refused),
    *(skill, key_login, last_words, compacted, goal, given_up_goal),
)


if __name__ == "__main__":
    named = {program.__name__: program for program in PROGRAMS}
    print(json.dumps(named[sys.argv[1]](*sys.argv[2:]), default=str))
