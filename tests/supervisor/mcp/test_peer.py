"""Requests both ways, with a server that says whatever the test wants."""

from typing import Any

import pytest
import trio

from pycodex.protocol.jsonrpc import Failure, Notification, Request, Response
from pycodex.supervisor.mcp.failures import ConnectionLost, McpFailure, RpcFailure
from pycodex.supervisor.mcp.link import Incoming, Json, Undelivered
from pycodex.supervisor.mcp.peer import MOST_SERVED, Peer


class FakeLink:
    """What is sent is kept; what comes is put in."""

    def __init__(self) -> None:
        self.sent: list[Json] = []
        self.forgotten: list[int] = []
        self.inlet, self._messages = trio.open_memory_channel[Incoming](100)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        task_status.started()

    async def send(self, message: Json) -> None:
        await trio.lowlevel.checkpoint()
        self.sent.append(message)

    def put(self, message: Json) -> None:
        self.sent.append(message)

    async def receive(self) -> Incoming | None:
        try:
            return await self._messages.receive()
        except trio.EndOfChannel:
            return None

    def agreed(self, protocol_version: str) -> None: ...

    def forget(self, request_id: int) -> None:
        self.forgotten.append(request_id)

    def come(self, incoming: Incoming) -> None:
        self.inlet.send_nowait(incoming)


class Served:
    def __init__(self) -> None:
        self.under_way = 0

    async def __call__(self, method: str, params: Any) -> Json:
        if method == "wait":
            self.under_way += 1
            await trio.sleep_forever()
        if method == "break":
            raise KeyError(method)
        if method == "refuse":
            raise RpcFailure(-32601, method)
        return {"params": params}


async def settled() -> None:
    await trio.testing.wait_all_tasks_blocked()


async def ask_in_vain(peer: Peer, failures: list[McpFailure]) -> None:
    try:
        await peer.request("a")
    except McpFailure as failure:
        failures.append(failure)


async def test_answers_find_their_requests_and_strange_ones_nobody(nursery: trio.Nursery) -> None:
    link = FakeLink()
    peer = Peer("s", link, Served())
    nursery.start_soon(peer.run)
    results: list[Any] = []

    async def ask(method: str) -> None:
        results.append((method, await peer.request(method)))

    nursery.start_soon(ask, "a")
    await settled()
    nursery.start_soon(ask, "b")
    await settled()
    ids = {message["method"]: message["id"] for message in link.sent}
    for incoming in (
        Response(id=99, result=1),
        Response(id="0", result=1),
        Failure(id=98, error={}),
        Response(id=ids["b"], result="for b"),
        Response(id=ids["b"], result="again"),
        Response(id=ids["a"], result="for a"),
    ):
        link.come(incoming)
    await settled()
    assert results == [("b", "for b"), ("a", "for a")]
    assert link.forgotten == []


@pytest.mark.parametrize(
    ("error", "text"),
    [
        ({"code": 5, "message": "x"}, "Mcp error: 5: x"),
        ({"code": "5"}, "Mcp error: -32603: "),
        ({"code": 1, "message": "y" * 10_000}, "Mcp error: 1: " + "y" * 4096),
    ],
)
async def test_errors_are_told_as_far_as_they_make_sense(nursery: trio.Nursery, error: Json, text: str) -> None:
    link = FakeLink()
    peer = Peer("s", link, Served())
    nursery.start_soon(peer.run)
    failures: list[McpFailure] = []
    nursery.start_soon(ask_in_vain, peer, failures)
    await settled()
    link.come(Failure(id=link.sent[-1]["id"], error=error))
    await settled()
    assert [(type(failure), str(failure)) for failure in failures] == [(RpcFailure, text)]


async def test_what_is_lost_on_its_way_fails(nursery: trio.Nursery) -> None:
    link = FakeLink()
    peer = Peer("s", link, Served())
    nursery.start_soon(peer.run)
    failures: list[McpFailure] = []
    for lost in (Undelivered(0, McpFailure("one")), Undelivered(None, McpFailure("all"))):
        nursery.start_soon(ask_in_vain, peer, failures)
        await settled()
        link.come(lost)
        await settled()
    nursery.start_soon(ask_in_vain, peer, failures)
    await settled()
    link.inlet.close()
    await peer.over.wait()
    await settled()
    assert list(map(str, failures)) == ["one", "all", "Transport closed"]
    with pytest.raises(ConnectionLost):
        await peer.request("b")


async def test_the_server_may_ask_but_not_without_end(nursery: trio.Nursery) -> None:
    link, served = FakeLink(), Served()
    peer = Peer("s", link, served)
    nursery.start_soon(peer.run)
    link.come(Request(id="a", method="tell", params=[1]))
    link.come(Request(id="b", method="refuse"))
    link.come(Request(id="c", method="break"))
    await settled()
    replies = {message["id"]: message for message in link.sent}
    assert replies["a"]["result"] == {"params": [1]}
    assert [replies[name]["error"]["code"] for name in "bc"] == [-32601, -32603]
    for number in range(MOST_SERVED + 1):
        link.come(Request(id=number, method="wait"))
    await settled()
    assert served.under_way == MOST_SERVED
    assert link.sent[-1]["error"]["message"] == "too many requests at a time"
    # One that the server takes back makes room for another.
    link.come(Notification(method="notifications/cancelled", params={"requestId": 3}))
    link.come(Notification(method="notifications/cancelled", params={"requestId": []}))
    link.come(Notification(method="notifications/cancelled"))
    await settled()
    link.come(Request(id="last", method="tell"))
    await settled()
    assert link.sent[-1]["id"] == "last"
