"""A model server that is slow, broken, rude or not there: one clear error, exit code 1, and a session to go on with."""

import random
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from pycodex.supervisor.model.scripted import (
    UNTIL_CLOSED,
    Hold,
    Pause,
    Reply,
    encoded,
    refuse,
    say,
    serve_script,
)
from support.engine import Place, run, said
from support.exec_runs import resumes, run_exec, running_exec
from support.waiting import eventually_async

DISCONNECTED = "stream disconnected before completion: "


async def fails(place: Place, base_url: str, **provider: Any) -> str:
    """What a turn that cannot succeed ends with; afterwards the session goes on."""
    place.point_at(base_url, **provider)
    ran = await run_exec(place, "go")
    assert ran.code == 1
    assert ran.kinds[:2] == ["thread.started", "turn.started"]
    assert ran.errors[-1] == ran.failure
    (path,) = place.sessions()
    assert said(await resumes(place, path), "user")[-2:] == ["go", "go on"]
    return ran.failure


@asynccontextmanager
async def listener(answer: bytes = b"", *, then_close: bool = False) -> AsyncIterator[str]:
    """Accepts everybody, says the same to all, and then nothing."""

    async def serve(stream: trio.SocketStream) -> None:
        await stream.receive_some()
        await stream.send_all(answer)
        if not then_close:
            await trio.sleep_forever()
        await stream.aclose()

    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, serve, listeners)
        yield f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}/v1"
        nursery.cancel_scope.cancel()


async def test_server_that_accepts_and_hangs(place: Place) -> None:
    async with listener() as url:
        assert await fails(place, url, stream_idle_timeout_ms=100) == f"{DISCONNECTED}idle timeout waiting for SSE"


async def test_server_that_falls_silent_in_the_midst(place: Place) -> None:
    async with serve_script([Reply(parts=[*say("x"), Hold()])]) as server:
        failure = await fails(place, server.base_url, stream_idle_timeout_ms=100)
    assert failure == f"{DISCONNECTED}idle timeout waiting for SSE"


async def test_server_that_hangs_up_without_a_word(place: Place) -> None:
    async with listener(then_close=True) as url:
        assert (await fails(place, url)).startswith(f"{DISCONNECTED}error sending request for url ({url}/responses): ")


@pytest.mark.parametrize(
    "answer", [b"garbage\r\n\r\n", b"\x16\x03\x01\x00\x00", b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n"]
)
async def test_server_that_does_not_speak_http(place: Place, answer: bytes) -> None:
    async with listener(answer, then_close=True) as url:
        assert (await fails(place, url)).startswith(DISCONNECTED)


async def test_answer_that_is_no_stream(place: Place) -> None:
    garbage = random.Random(1).randbytes(100_000)
    async with serve_script([Reply(body=garbage)]) as server:
        assert await fails(place, server.base_url) == f"{DISCONNECTED}stream closed before response.completed"


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (refuse(401, "who are you"), "unexpected status 401 Unauthorized: who are you, url: "),
        (refuse(429, "slowly"), "exceeded retry limit, last status: 429 Too Many Requests"),
        (refuse(500, "oops"), "We're currently experiencing high demand, which may cause temporary errors."),
        (Reply(status=404, body=b"\xff\xfe"), "unexpected status 404 Not Found: "),
    ],
    ids=["401", "429", "500", "404"],
)
async def test_refusal(place: Place, reply: Reply, text: str) -> None:
    async with serve_script(lambda _: reply) as server:
        assert (await fails(place, server.base_url)).startswith(text)


async def test_nobody_listens(place: Place) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}/v1"
        failure = await fails(place, url, request_max_retries=1, stream_max_retries=1)
    assert failure.startswith(f"{DISCONNECTED}error sending request for url ({url}/responses): ")


@pytest.mark.parametrize("host", ["no-such-host.invalid", "bad..name", "x" * 64 + ".test", "[::1", "ho st"])
async def test_host_that_does_not_exist(place: Place, host: str) -> None:
    url = f"http://{host}/v1"
    place.point_at(url)
    ran = await run_exec(place, "go", env={"RES_OPTIONS": "timeout:1 attempts:1"})
    assert ran.code == 1
    assert f"error sending request for url ({url}/responses): " in ran.failure
    assert "unexpected" not in ran.failure


@pytest.mark.timeout(1800)
async def test_stream_cut_at_any_byte(place: Place, scale: Callable[[int, int], int]) -> None:
    """The turn fails unless the model had said that it was done; what was whole is kept, what was not is not."""
    parts = [*say("first", pieces=2), *say("second"), {"type": "response.completed", "response": {"id": "r"}}]
    body = b""
    ends: dict[str, int] = {}
    for part in parts:
        body += encoded(part)
        if part["type"] != "response.output_text.delta":
            # Where its JSON ends: the empty line behind it may be missing.
            ends[part["item"]["content"][0]["text"] if part.get("item", {}).get("content") else part["type"]] = (
                len(body) - 2
            )
    everywhere = list(range(len(body) + 1))
    for offset in random.Random(7).sample(everywhere, scale(8, len(everywhere))):
        async with serve_script([Reply(body=body[:offset], framing=UNTIL_CLOSED)]) as server:
            place.point_at(server.base_url)
            ran = await run_exec(place, "go")
        spoken = [line["item"]["text"] for line in ran.lines if line["type"] == "item.completed"]
        assert spoken == [text for text in ("first", "second") if offset >= ends[text]]
        if offset >= ends["response.completed"]:
            assert (ran.code, ran.kinds[-1]) == (0, "turn.completed")
        else:
            assert (ran.code, ran.failure) == (1, f"{DISCONNECTED}stream closed before response.completed")


async def test_message_of_many_megabytes_arrives_whole(place: Place) -> None:
    text = "".join(random.Random(2).choices("abcdefghij äöü\n", k=3 << 20))
    async with serve_script([Reply(parts=say(text, pieces=2))]) as server:
        place.point_at(server.base_url)
        ran = await run_exec(place, "go")
        assert ran.code == 0
        (message,) = [line["item"]["text"] for line in ran.lines if line["type"] == "item.completed"]
        assert message == text
        (path,) = place.sessions()
        assert said(await resumes(place, path), "assistant") == [text]


async def test_event_without_end_is_given_up(place: Place) -> None:
    """Nobody buys memory for a server that never comes to the point."""
    endless = (b"data: " if number == 0 else b"x" * (1 << 20) for number in range(1 << 20))
    async with serve_script([Reply(parts=endless)]) as server:
        place.point_at(server.base_url)
        ran = await run_exec(place, "go")
    assert ran.code == 1
    assert "bytes" in ran.failure


def endless_words() -> Iterator[Any]:
    """A message that is never done."""
    begun, delta, _ = say("x")
    yield begun
    while True:
        yield delta
        yield Pause(0.001)


async def test_interrupt_of_a_stream_without_end(place: Place) -> None:
    async with serve_script([Reply(parts=endless_words())]) as server:
        place.point_at(server.base_url)
        async with running_exec(place, "go") as running:
            await running.until("turn.started")
            await eventually_async(lambda: server.requests)
            running.signal(signal.SIGINT)
            assert await running.ended() == 1
            assert [line["type"] for line in running.lines] == ["thread.started", "turn.started", "turn.failed"]
        await server.hung_up.wait()
        (path,) = place.sessions()
        asked, marker, again = said(await resumes(place, path), "user")[-3:]
        assert (asked, again) == ("go", "go on")
        assert marker.startswith("<turn_aborted>")


async def test_servers_that_recover_are_asked_again(place: Place) -> None:
    script = [refuse(503, "later"), Reply(parts=say("half"), is_complete=False), Reply(parts=run("echo hi", "c"))]
    async with serve_script(script) as server:
        place.point_at(server.base_url, request_max_retries=1, stream_max_retries=1)
        ran = await run_exec(place, "go")
        assert ran.code == 0
        assert ran.errors == [f"Reconnecting... 1/1 ({DISCONNECTED}stream closed before response.completed)"]
        assert ran.kinds[-1] == "turn.completed"
        assert len(server.requests) == 4
