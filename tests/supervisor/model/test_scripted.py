"""The scripted model does as it is told."""

import json

import pytest
import trio

from pycodex.supervisor.model.scripted import (
    SIZED,
    UNTIL_CLOSED,
    Hold,
    Reply,
    Request,
    call,
    custom,
    done,
    encoded,
    reason,
    refuse,
    say,
    serve_script,
)


async def exchanged(base_url: str, body: object, *, times: int = 1) -> bytes:
    """All that the server says on one connection."""
    port = int(base_url.rpartition(":")[2].removesuffix("/v1"))
    data = json.dumps(body).encode()
    head = f"POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-length: {len(data)}\r\n\r\n".encode()
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        for _ in range(times):
            await stream.send_all(head)
            await stream.send_all(data)
        await stream.send_eof()
        answer = b""
        while piece := await stream.receive_some():
            answer += piece
        return answer


async def test_replies_come_in_order_then_done() -> None:
    script = [Reply(parts=say("one")), refuse(429, "slow", type="t")]
    async with serve_script(script) as server:
        answer = await exchanged(server.base_url, {"n": 1}, times=3)
        assert [(request.body, request.connection) for request in server.requests] == [({"n": 1}, 0)] * 3
    first, second, third = answer.split(b"HTTP/1.1 ")[1:]
    assert first.startswith(b"200 OK")
    assert b'"delta": "one"' in first
    assert first.endswith(b"0\r\n\r\n")
    assert second.startswith(b"429 Too Many Requests")
    assert second.endswith(b'{"error": {"message": "slow", "type": "t"}}')
    assert b'"delta": "done"' in third


async def test_script_may_be_a_function_of_the_request() -> None:
    def script(request: Request) -> Reply:
        return Reply(parts=say(request.body["name"]))

    async with serve_script(script) as server:
        assert b'"delta": "plum"' in await exchanged(server.base_url, {"name": "plum"})


@pytest.mark.parametrize("framing", [SIZED, UNTIL_CLOSED])
async def test_cut_is_at_the_byte(framing: str) -> None:
    reply = Reply(parts=[b"0123456789"], cut_at=120, framing=framing)
    async with serve_script([reply]) as server:
        answer = await exchanged(server.base_url, {})
    assert len(answer.partition(b"\r\n\r\n")[2]) == 120


async def test_hold_waits_for_the_client_to_leave() -> None:
    async with serve_script([Reply(parts=[Hold()])]) as server:
        answer = await exchanged(server.base_url, {})
        assert server.hung_up.is_set()
    assert b"response.completed" not in answer


async def test_nonsense_is_not_answered() -> None:
    async with serve_script([]) as server:
        port = int(server.base_url.rpartition(":")[2].removesuffix("/v1"))
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await stream.send_all(b"nonsense\r\n\r\n")
            assert await stream.receive_some() == b""
        assert server.requests == []


async def test_an_error_in_the_body_is_itself() -> None:
    with pytest.raises(ZeroDivisionError):
        async with serve_script([]):
            raise ZeroDivisionError


def test_words_make_items() -> None:
    events = [
        *say("hi", pieces=2),
        *say(""),
        *reason("r"),
        *call("f", {"a": 1}),
        *call("f", "{", "c"),
        *custom("p", "x"),
    ]
    items = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert [item["type"] for item in items] == [
        *("message", "message", "reasoning", "function_call", "function_call", "custom_tool_call"),
    ]
    assert (items[3]["arguments"], items[4]["arguments"], items[4]["call_id"]) == ('{"a": 1}', "{", "c")
    assert [event["delta"] for event in events if "text.delta" in event["type"]] == ["h", "i", "r"]


def test_event_as_it_is_sent() -> None:
    assert encoded(done({"type": "x"})).startswith(b"event: response.output_item.done\ndata: {")
