"""Questions of a thread and its followers: asked of all, answered by one, withdrawn in time."""

from typing import Any

import pytest
import trio

from pycodex.protocol.events.turn import TokenCount
from pycodex.protocol.events.union import AnyEvent
from pycodex.supervisor.frontends.app_server import notifications
from pycodex.supervisor.frontends.app_server.telling import Telling, Told
from pycodex.supervisor.model.scripted import Hold, Reply, call, custom, say
from pycodex.supervisor.session.session import Session
from support.app_server import Client, Refused, Scratch, exactly, open_app_server, statuses, text_input, told
from support.engine import Place, outputs, run

APPROVAL = "item/commandExecution/requestApproval"
ESCALATED = {"sandbox_permissions": "require_escalated", "justification": "May I?"}
SCRIPT = [Reply(parts=run("touch made", "c1", **ESCALATED)), Reply(parts=say("done"))]
PATCH = "*** Begin Patch\n*** Add File: a.txt\n+one\n*** End Patch\n"


async def asked(scratch: Scratch) -> tuple[Client, str, dict[str, Any]]:
    """A client whose thread waits for an approval."""
    client = await scratch.connect().hello()
    thread_id = await client.start(approvalPolicy="on-request", sandbox="workspace-write")
    await client.call("turn/start", threadId=thread_id, input=[text_input("go")])
    await client.until(APPROVAL)
    return client, thread_id, client.heard[-1]


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ({"result": {"decision": "accept"}}, "completed"),
        ({"result": {"decision": "decline"}}, "declined"),
        ({"result": {}}, "declined"),
        ({"result": {"decision": {"odd": 1}}}, "declined"),
        ({"error": {"code": 1, "message": "cannot"}}, "failed"),
    ],
)
async def test_answer_decides_and_is_told(place: Place, answer: dict[str, Any], status: str) -> None:
    async with open_app_server(place, SCRIPT) as scratch:
        client, _, request = await asked(scratch)
        await client.send({"id": request["id"], **answer})
        completed = await client.until("item/completed", item__type="commandExecution")
        assert completed["item"]["status"] == status
        await client.until("turn/completed")
        words = told(client.heard)
        assert words.count("item/started commandExecution") == words.count("item/completed commandExecution") == 1
        assert words.index("serverRequest/resolved") < words.index("item/completed commandExecution")
        assert statuses(client.heard) == ["active", "active waitingOnApproval", "active", "idle"]
    assert (place.workspace / "made").exists() == (status == "completed")


async def test_cancel_ends_the_turn(place: Place) -> None:
    async with open_app_server(place, SCRIPT) as scratch:
        client, _, request = await asked(scratch)
        await client.send({"id": request["id"], "result": {"decision": "cancel"}})
        completed = await client.until("turn/completed")
        assert completed["turn"]["status"] == "interrupted"


async def test_whoever_joins_is_asked_the_same_and_the_first_answer_counts(place: Place) -> None:
    async with open_app_server(place, SCRIPT) as scratch:
        first, thread_id, request = await asked(scratch)
        second = await scratch.connect().hello()
        joined = await second.call("thread/resume", threadId=thread_id)
        assert joined["thread"]["status"] == {"type": "active", "activeFlags": ["waitingOnApproval"]}
        (turn,) = joined["thread"]["turns"]
        assert turn["status"] == "inProgress"
        assert [item["type"] for item in turn["items"]] == ["userMessage"]
        await second.until(APPROVAL)
        assert second.heard[-1] == request
        await second.send({"id": request["id"], "result": {"decision": "accept"}})
        await first.until("serverRequest/resolved", requestId=request["id"])
        # Too late: it was decided.
        await first.send({"id": request["id"], "result": {"decision": "cancel"}})
        for client in (first, second):
            completed = await client.until("turn/completed")
            assert completed["turn"]["status"] == "completed"


async def test_interrupt_withdraws_the_question_after_the_end(place: Place) -> None:
    async with open_app_server(place, SCRIPT) as scratch:
        client, thread_id, request = await asked(scratch)
        await client.call("turn/interrupt", threadId=thread_id, turnId="")
        await client.until("serverRequest/resolved", requestId=request["id"])
        words = told(client.heard)
        assert words.index("turn/completed") < words.index("serverRequest/resolved")
        # Nobody waits for it any more.
        await client.send({"id": request["id"], "result": {"decision": "accept"}})
        await client.call("thread/loaded/list")
    assert not (place.workspace / "made").exists()


async def test_patch_is_asked_about_after_it_was_begun(place: Place) -> None:
    script = [Reply(parts=custom("apply_patch", PATCH, "p1")), Reply(parts=say("done"))]
    async with open_app_server(place, script) as scratch:
        client = await scratch.connect().hello()
        client.answers["item/fileChange/requestApproval"] = lambda _: {"result": {"decision": "accept"}}
        thread_id = await client.start(approvalPolicy="untrusted", sandbox="workspace-write")
        words = told(await client.turn(thread_id, "go"))
        expected = [
            "item/started fileChange",
            "item/fileChange/requestApproval",
            "serverRequest/resolved",
            "item/fileChange/outputDelta",
            "item/completed fileChange",
            "turn/diff/updated",
        ]
        heard = [word for word in words if word in (*expected, "item/commandExecution/outputDelta")]
        assert heard[: len(expected)] == expected
        assert heard.count("item/fileChange/outputDelta") == 1
        assert "item/commandExecution/outputDelta" not in heard
    assert (place.workspace / "a.txt").read_text() == "one\n"


async def test_tool_of_the_client_is_called_without_further_words(place: Place) -> None:
    tool = {"name": "lookup", "description": "looks up", "inputSchema": {"type": "object"}}
    script = [Reply(parts=call("lookup", {"k": 1}, "d1")), Reply(parts=say("done"))]
    async with open_app_server(place, script) as scratch:
        client = await scratch.connect().hello()
        given = {"contentItems": [{"type": "inputText", "text": "plum"}], "success": True}
        client.answers["item/tool/call"] = lambda _: {"result": given}
        messages = await client.turn(await client.start(dynamicTools=[tool]), "go")
        assert told(messages)[4:7] == [
            "item/started dynamicToolCall",
            "item/tool/call",
            "item/completed dynamicToolCall",
        ]
        assert statuses(messages) == ["active", "idle"]
        assert outputs(scratch.inputs[1]) == {"d1": "plum"}


async def test_tools_of_newer_clients_have_a_type_and_may_be_grouped(place: Place) -> None:
    schema = {"type": "object"}
    tools = [
        {"type": "function", "name": "alone", "description": "alone", "inputSchema": schema},
        {
            "type": "namespace",
            "name": "shop",
            "description": "a group",
            "tools": [{"type": "function", "name": "buy", "description": "buys", "inputSchema": schema}],
        },
    ]
    script = [Reply(parts=[*call("alone", {}, "d1"), *call("shop__buy", {}, "d2")]), Reply(parts=say("done"))]
    async with open_app_server(place, script) as scratch:
        client = await scratch.connect().hello()

        def answer(params: dict[str, Any]) -> dict[str, Any]:
            text = f"{params.get('namespace')} {params['tool']}"
            return {"result": {"contentItems": [{"type": "inputText", "text": text}], "success": True}}

        client.answers["item/tool/call"] = answer
        messages = await client.turn(await client.start(dynamicTools=tools), "go")
        assert outputs(scratch.inputs[1]) == {"d1": "None alone", "d2": "shop buy"}
        items = [each["params"]["item"] for each in messages if each.get("method") == "item/completed"]
        called = [(item.get("namespace"), item["tool"]) for item in items if item["type"] == "dynamicToolCall"]
        assert called == [(None, "alone"), ("shop", "buy")]


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ({"name": "a"}, "Invalid request: missing field `inputSchema`"),
        (
            {"name": "a", "type": "other"},
            "Invalid request: unknown variant `other`, expected `function` or `namespace`",
        ),
        ({"name": " ", "type": "namespace"}, "dynamic tool namespace must not be empty"),
    ],
)
async def test_tools_that_cannot_be_read_are_refused(place: Place, tool: dict[str, str], text: str) -> None:
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        with pytest.raises(Refused, match=exactly(text)):
            await client.start(dynamicTools=[{"description": "", **tool}])


async def test_client_that_cannot_run_its_tool_says_so_to_the_model(place: Place) -> None:
    tool = {"name": "lookup", "description": "looks up", "inputSchema": {"type": "object"}}
    script = [Reply(parts=call("lookup", {"k": 1}, "d1")), Reply(parts=say("done"))]
    async with open_app_server(place, script) as scratch:
        client = await scratch.connect().hello()
        client.answers["item/tool/call"] = lambda _: {"error": {"code": 1, "message": "no"}}
        await client.turn(await client.start(dynamicTools=[tool]), "go")
        assert outputs(scratch.inputs[1]) == {"d1": "dynamic tool request failed"}


async def test_threads_of_one_connection_do_not_wait_for_each_other(place: Place) -> None:
    async with open_app_server(place, lambda _request: Reply(parts=say("done"))) as scratch:
        client = await scratch.connect().hello()
        threads = [await client.start() for _ in range(8)]
        for thread_id in threads:
            await client.call("turn/start", threadId=thread_id, input=[text_input("go")])
        with trio.fail_after(30):
            for thread_id in threads:
                while not any(
                    message.get("method") == "turn/completed" and message["params"]["threadId"] == thread_id
                    for message in client.heard
                ):
                    await client.hear()
        words = told(client.heard)
        assert words.count("item/completed agentMessage") == words.count("turn/completed") == len(threads)


async def test_thread_that_breaks_is_told_as_ended(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(_session: object) -> None:
        raise ZeroDivisionError("by nought")

    script = [Reply(parts=[*say("half"), Hold()], is_complete=False)]
    async with open_app_server(place, script) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        await client.call("turn/start", threadId=thread_id, input=[text_input("go")])
        await client.until("item/completed", item__type="agentMessage")
        monkeypatch.setattr(Session, "_interrupt", fail)
        assert await client.call("turn/interrupt", threadId=thread_id, turnId="") == {}
        error = await client.until("error")
        assert "by nought" in error["error"]["message"]
        await client.until("turn/completed", threadId=thread_id)
        await client.until("thread/closed", threadId=thread_id)
        # The others go on.
        monkeypatch.undo()
        await client.start()


async def test_event_that_cannot_be_told_ends_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    tell = notifications.tell

    def failing(telling: Telling, event: AnyEvent) -> list[Told]:
        if isinstance(event, TokenCount):
            raise ZeroDivisionError
        return tell(telling, event)

    monkeypatch.setattr(notifications, "tell", failing)
    async with open_app_server(place, [Reply(parts=say("one")), Reply(parts=say("two"))]) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        for text in ("hi", "again"):
            assert "item/completed agentMessage" in told(await client.turn(thread_id, text))
