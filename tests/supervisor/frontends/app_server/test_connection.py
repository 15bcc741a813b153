"""One client: what it may send, what it hears, and that nobody else suffers from it."""

import json
import math
from collections.abc import Sequence

import pytest
import trio
import trio.testing

from pycodex.supervisor.frontends.app_server import connection, server
from pycodex.supervisor.frontends.app_server.connection import MAX_UNDER_WAY, MAX_WAITING_REQUESTS
from pycodex.supervisor.frontends.app_server.method import INTERNAL_ERROR, OVERLOADED, Caller, Json, Method
from pycodex.supervisor.frontends.app_server.methods import table
from pycodex.supervisor.frontends.app_server.outgoing import Outgoing
from pycodex.supervisor.model.scripted import Hold, Reply, say
from support.app_server import Refused, exactly, open_app_server, text_input, told
from support.engine import Place


async def test_garbage_is_passed_over(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        client = scratch.connect()
        for line in ("", "no json", "[]", '{"id":1}', '{"id":7,"result":{}}', '{"method":"no/such"}'):
            await client.line(line)
        await client.hello()
        assert told(client.heard) == ["answer"]


async def test_ids_come_back_as_they_were_given(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        await client.line('{"jsonrpc":"2.0","id":"s-1","method":"thread/loaded/list","params":{}}')
        assert await client.answer_to("s-1") == {"data": [], "nextCursor": None}
        assert "jsonrpc" not in client.heard[-1]


async def test_requests_are_answered_in_their_order(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        for number in range(20):
            await client.send({"id": f"n{number}", "method": "thread/loaded/list", "params": {}})
        await client.answer_to("n19")
        assert [message["id"] for message in client.heard[-20:]] == [f"n{number}" for number in range(20)]


async def test_what_takes_long_does_not_hold_up_the_rest(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = trio.Event()

    async def wait(_caller: Caller, _params: object) -> Json:
        await go_on.wait()
        return {"waited": True}

    methods = {"slow": Method(name="slow", params=None, run=wait, may_wait=True)}
    find = table.find
    monkeypatch.setattr(table, "find", lambda name: methods.get(name) or find(name))
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        await client.send({"id": "slow", "method": "slow"})
        await client.call("thread/loaded/list")
        go_on.set()
        assert await client.answer_to("slow") == {"waited": True}


async def test_bug_in_a_method_is_an_answer(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(_caller: Caller, _params: object) -> Json:
        raise ZeroDivisionError("by nought")

    find = table.find
    broken = Method(name="broken", params=None, run=fail)
    monkeypatch.setattr(table, "find", lambda name: broken if name == "broken" else find(name))
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        await client.send({"id": "b", "method": "broken"})
        with pytest.raises(Refused, match="unexpected ZeroDivisionError: by nought") as refused:
            await client.answer_to("b")
        assert refused.value.code == INTERNAL_ERROR
        await client.call("thread/loaded/list")


async def test_more_requests_than_can_wait_are_refused(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = trio.Event()

    async def wait(_caller: Caller, _params: object) -> Json:
        await go_on.wait()
        return {}

    find = table.find
    slow = Method(name="slow", params=None, run=wait)
    monkeypatch.setattr(table, "find", lambda name: slow if name == "slow" else find(name))
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        await client.send({"id": "first", "method": "slow"})
        await trio.testing.wait_all_tasks_blocked()
        for number in range(MAX_WAITING_REQUESTS + 1):
            await client.send({"id": number, "method": "thread/loaded/list", "params": {}})
        with pytest.raises(Refused, match=exactly("Server overloaded; retry later.")) as refused:
            await client.answer_to(MAX_WAITING_REQUESTS)
        assert refused.value.code == OVERLOADED
        go_on.set()
        assert await client.answer_to("first") == {}
        await client.answer_to(MAX_WAITING_REQUESTS - 1)


async def test_more_that_takes_long_than_can_be_under_way_is_refused(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = trio.Event()

    async def wait(_caller: Caller, _params: object) -> Json:
        await go_on.wait()
        return {}

    find = table.find
    slow = Method(name="slow", params=None, run=wait, may_wait=True)
    monkeypatch.setattr(table, "find", lambda name: slow if name == "slow" else find(name))
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        for number in range(MAX_UNDER_WAY + 1):
            await client.send({"id": f"n{number}", "method": "slow"})
            await client.call("thread/loaded/list")
        with pytest.raises(Refused, match=exactly("Server overloaded; retry later.")):
            await client.answer_to(f"n{MAX_UNDER_WAY}")
        go_on.set()
        await client.answer_to(f"n{MAX_UNDER_WAY - 1}")
        await client.send({"id": "again", "method": "slow"})
        assert await client.answer_to("again") == {}


async def test_answer_that_cannot_be_written_is_a_failure_of_its_request(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def answer(_caller: Caller, _params: object) -> Json:
        return {"no": object()}

    find = table.find
    odd = Method(name="odd", params=None, run=answer)
    monkeypatch.setattr(table, "find", lambda name: odd if name == "odd" else find(name))
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        await client.send({"id": "o", "method": "odd"})
        with pytest.raises(Refused, match="unexpected TypeError"):
            await client.answer_to("o")
        await client.call("thread/loaded/list")


async def test_connection_that_fails_fails_alone(place: Place) -> None:
    class BrokenWire(DeafWire):
        async def receive(self) -> bytes:
            await trio.lowlevel.checkpoint()
            raise ZeroDivisionError

    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        await scratch.server.serve(BrokenWire([]))
        await client.call("thread/loaded/list")


async def test_opted_out_notices_are_left_out(place: Place) -> None:
    unwanted = ["item/agentMessage/delta", "thread/started", "no/such"]
    async with open_app_server(place, [Reply(parts=say("hello"))]) as scratch:
        client = await scratch.connect().hello(optOutNotificationMethods=unwanted)
        messages = await client.turn(await client.start(), "hi")
        assert not {message.get("method") for message in client.heard} & set(unwanted)
        assert "item/completed agentMessage" in told(messages)


class DeafWire:
    """Says hello, and never reads."""

    waits_for_reader = False

    def __init__(self, lines: list[bytes]) -> None:
        self._lines = lines

    async def receive(self) -> bytes:
        await trio.lowlevel.checkpoint()
        if not self._lines:
            await trio.sleep(math.inf)
        return self._lines.pop(0)

    async def send(self, _messages: Sequence[bytes]) -> None:
        await trio.sleep_forever()

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()


async def test_client_that_does_not_read_is_dropped_and_nobody_waits_for_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def impatient(*, waits_for_reader: bool) -> Outgoing:
        return Outgoing(waits_for_reader=waits_for_reader, limit=5, patience_s=60)

    async with open_app_server(place, [Reply(parts=say("x" * 200, pieces=200))]) as scratch:
        client = await scratch.connect().hello()
        thread_id = await client.start()
        monkeypatch.setattr(connection, "Outgoing", impatient)
        hello = {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "deaf", "version": "1"}}}
        join = {"id": 2, "method": "thread/resume", "params": {"threadId": thread_id}}
        wire = DeafWire([json.dumps(message).encode() for message in (hello, join)])
        async with trio.open_nursery() as nursery:
            nursery.start_soon(scratch.server.serve, wire)
            await trio.testing.wait_all_tasks_blocked()
            live = scratch.server.live.get(thread_id)
            assert live is not None
            assert len(live.followers) == 2
            messages = await client.turn(thread_id, "hi")
            assert "item/completed agentMessage" in told(messages)
        assert len(live.followers) == 1


async def test_client_that_does_not_read_does_not_hold_up_the_end(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "PATIENCE_S", 0.01)
    hello = {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "deaf", "version": "1"}}}
    async with open_app_server(place, []) as scratch:
        scratch.nursery.start_soon(scratch.server.serve, DeafWire([json.dumps(hello).encode()]))
        await trio.testing.wait_all_tasks_blocked()
        await scratch.server.finished()


async def test_thread_ends_with_its_last_follower(place: Place) -> None:
    script = [Reply(parts=[*say("half"), Hold()], is_complete=False)]
    async with open_app_server(place, script) as scratch:
        client = await scratch.connect().hello()
        watcher = await scratch.connect().hello()
        thread_id = await client.start()
        await client.call("turn/start", threadId=thread_id, input=[text_input("go")])
        await client.until("item/completed", item__type="agentMessage")
        await client.stream.aclose()
        await watcher.until("thread/closed", threadId=thread_id)
    kinds = [line["payload"].get("type") for line in place.lines()]
    assert kinds[-1] == "turn_aborted"


async def test_answers_that_are_under_way_reach_a_client_that_has_said_all(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        await client.send({"id": "last", "method": "thread/loaded/list", "params": {}})
        stream = client.stream
        assert isinstance(stream, trio.StapledStream)
        await stream.send_eof()
        assert await client.answer_to("last") == {"data": [], "nextCursor": None}
        with pytest.raises(EOFError):
            await client.hear()
