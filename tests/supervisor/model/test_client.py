"""A client against a real server that does not always behave."""

import json
import socket
from functools import partial
from typing import Any

import pytest
import trio
import trio.testing

from pycodex.supervisor.auth.credentials import Token
from pycodex.supervisor.config.provider import Provider
from pycodex.supervisor.model import client as client_module
from pycodex.supervisor.model.client import responses_url
from pycodex.supervisor.model.scripted import (
    CHUNKED,
    SIZED,
    UNTIL_CLOSED,
    Hold,
    Pause,
    Reply,
    call,
    custom,
    encoded,
    reason,
    refuse,
    say,
    serve_script,
)
from pycodex.supervisor.model.stream import (
    Completed,
    ItemAdded,
    ItemDone,
    ModelFailure,
    RateLimitsSeen,
    ReasoningIncluded,
    ServerModel,
    SummaryDelta,
    SummaryPartAdded,
    TextDelta,
)
from pycodex.supervisor.model.usage import TokenUsage
from pycodex.supervisor.net.sse import SseDecoder
from support.model_client import THREAD_ID, events_of, no_metadata, open_client, simple_prompt

FAILED = {"type": "response.failed", "response": {"error": {"code": "invalid_prompt", "message": "told"}}}
CLOSED = "stream disconnected before completion: stream closed before response.completed"


@pytest.fixture
def quick_clock() -> trio.testing.MockClock:
    """Pauses pass at once, as soon as nothing else happens."""
    return trio.testing.MockClock(autojump_threshold=0.02)


async def failure_of(*script: Reply, **provider: Any) -> tuple[ModelFailure, int]:
    """The failure of one request, and how many were sent."""
    async with serve_script(script) as server, open_client(server.base_url, **provider) as client:
        with pytest.raises(ModelFailure) as caught:
            await events_of(client.turn(no_metadata))
        return caught.value, len(server.requests)


# Answers


async def test_an_answer_comes_as_events() -> None:
    reply = Reply(
        parts=[*reason("think"), *say("hello", pieces=2), *call("f", {"a": 1}, "c1"), *custom("p", "x", "c2")]
    )
    async with serve_script([reply]) as server, open_client(server.base_url) as client:
        limits, *events, completed = await events_of(client.turn(no_metadata))
    assert isinstance(limits, RateLimitsSeen)
    assert limits.snapshot["limit_id"] == "codex"
    kinds = [type(event) for event in events]
    assert kinds == [
        *(ItemAdded, SummaryPartAdded, SummaryDelta, ItemDone),
        *(ItemAdded, TextDelta, TextDelta, ItemDone),
        *(ItemDone, ItemDone),
    ]
    assert [event.delta for event in events if isinstance(event, TextDelta)] == ["hel", "lo"]
    items = [event.item for event in events if isinstance(event, ItemDone)]
    assert [item["type"] for item in items] == ["reasoning", "message", "function_call", "custom_tool_call"]
    assert isinstance(completed, Completed)
    assert completed.usage == TokenUsage(100, 10, 20, 5, 120)


async def test_headers_of_the_answer_come_first() -> None:
    headers = {"openai-model": "m", "x-reasoning-included": "", "x-codex-primary-used-percent": "7"}
    async with serve_script([Reply(headers=headers)]) as server, open_client(server.base_url) as client:
        model, limits, included, _ = await events_of(client.turn(no_metadata))
    assert (model, included) == (ServerModel("m"), ReasoningIncluded())
    assert isinstance(limits, RateLimitsSeen)
    assert limits.snapshot["primary"]["used_percent"] == 7.0


async def test_odd_but_sound_stream_is_read() -> None:
    body = (
        b': comment\r\n\r\nevent: x\ndata: not json\n\ndata: [DONE]\n\ndata: {"type":"response.output_item.done",\n'
        b'data: "item":{"type":"message","role":"assistant","content":[]}}\n\n'
        b'data: {"type":"response.completed","response":{"id":"r"}}\n\n'
        b'data: {"type":"response.output_text.delta","delta":"too late"}\n\n'
    )
    async with serve_script([Reply(body=body)]) as server, open_client(server.base_url) as client:
        _, item, completed = await events_of(client.turn(no_metadata))
    assert isinstance(item, ItemDone)
    assert completed == Completed("r", None)


async def test_huge_deltas_are_whole() -> None:
    text = "ü" * 2_000_000
    async with serve_script([Reply(parts=say(text))]) as server, open_client(server.base_url) as client:
        events = await events_of(client.turn(no_metadata))
    assert TextDelta(text) in events


# Requests


async def test_request_has_path_headers_and_body() -> None:
    async with (
        serve_script([Reply()]) as server,
        open_client(server.base_url + "/", query_params={"a": "b", "c": "d"}) as client,
    ):
        await events_of(client.turn(lambda: '{"turn_id":"1"}'))
        (request,) = server.requests
    assert request.path == "/v1/responses?a=b&c=d"
    assert request.body["prompt_cache_key"] == THREAD_ID
    expected = {
        "accept": "text/event-stream",
        "content-type": "application/json",
        "originator": "codex_exec",
        "session_id": THREAD_ID,
        "x-client-request-id": THREAD_ID,
        "x-codex-turn-metadata": '{"turn_id":"1"}',
        "host": server.base_url.removeprefix("http://").removesuffix("/v1"),
    }
    assert expected.items() <= request.headers.items()
    assert "authorization" not in request.headers
    assert "x-codex-turn-state" not in request.headers


async def test_turn_state_sticks_to_its_turn() -> None:
    script = [
        Reply(headers={"x-codex-turn-state": "s1"}),
        Reply(headers={"x-codex-turn-state": "s2"}),
        Reply(),
        Reply(),
    ]
    async with serve_script(script) as server, open_client(server.base_url) as client:
        turn = client.turn(no_metadata)
        for _ in range(3):
            await events_of(turn)
        await events_of(client.turn(no_metadata))
        states = [request.headers.get("x-codex-turn-state") for request in server.requests]
    assert states == [None, "s1", "s1", None]


@pytest.mark.parametrize("framing", [CHUNKED, SIZED])
async def test_connection_is_used_again(framing: str) -> None:
    async with serve_script([Reply(parts=say("a"), framing=framing)] * 5) as server:
        async with open_client(server.base_url) as client:
            for _ in range(5):
                await events_of(client.turn(no_metadata))
                # The end of the body is read in the background.
                await trio.testing.wait_all_tasks_blocked(0.01)
        assert {request.connection for request in server.requests} == {0}


async def test_stream_ends_with_the_completion_not_with_the_body() -> None:
    completed = {"type": "response.completed", "response": {"id": "r"}}
    async with serve_script([Reply(parts=[completed, Hold()])]) as server, open_client(server.base_url) as client:
        *_, last = await events_of(client.turn(no_metadata))
        assert not server.hung_up.is_set()
    assert last == Completed("r", None)


async def test_endless_rest_of_a_body_is_not_read_for_ever() -> None:
    completed = {"type": "response.completed", "response": {"id": "r"}}
    rest = [b": " + b"x" * 65536 + b"\n"] * 16
    async with serve_script([Reply(parts=[completed, *rest, Hold()]), Reply()]) as server:
        async with open_client(server.base_url) as client:
            await events_of(client.turn(no_metadata))
            with trio.fail_after(10):
                await server.hung_up.wait()
            await events_of(client.turn(no_metadata))
        assert [request.connection for request in server.requests] == [0, 1]


# Failures before the stream


@pytest.mark.parametrize(
    ("status", "sent"),
    [(400, 1), (401, 1), (403, 1), (404, 1), (429, 1), (500, 3), (502, 3), (503, 3)],
)
async def test_only_the_servers_own_failures_are_tried_again(status: int, sent: int, quick_clock: object) -> None:
    refusals = [refuse(status, "no")] * 3
    failure, requests = await failure_of(*refusals, request_max_retries=2)
    assert requests == sent
    assert failure.retryable == (status not in (400, 429))


async def test_a_retry_that_succeeds_is_silent(quick_clock: object) -> None:
    async with serve_script([refuse(502, "no"), Reply()]) as server:
        async with open_client(server.base_url, request_max_retries=1) as client:
            *_, last = await events_of(client.turn(no_metadata))
        assert isinstance(last, Completed)
        first, second = server.requests
    assert first.raw == second.raw
    assert first.headers == second.headers


async def test_status_failure_names_the_place() -> None:
    failure, _ = await failure_of(refuse(401, "no key"))
    assert failure.message.startswith("unexpected status 401 Unauthorized: no key, url: http://127.0.0.1:")
    assert failure.http_status == 401


async def test_refusal_that_never_ends_is_cut() -> None:
    reply = Reply(status=404, parts=[b"x" * 4096] * 300 + [Hold()])
    failure, _ = await failure_of(reply)
    assert failure.message.startswith("unexpected status 404 Not Found: ")
    assert len(failure.message) < 1200


async def test_nobody_listens(quick_clock: object) -> None:
    async with serve_script([]) as server:
        url = server.base_url
    async with open_client(url, request_max_retries=1) as client:
        with pytest.raises(ModelFailure) as caught:
            await events_of(client.turn(no_metadata))
    assert caught.value.retryable
    assert caught.value.message.startswith(
        f"stream disconnected before completion: error sending request for url ({url}/responses): "
    )


@pytest.mark.parametrize("url", ["ftp://x/v1", "nonsense", "http://[bad/v1", "http://ünknown/v1"])
async def test_an_url_that_cannot_be_is_not_tried_again(url: str) -> None:
    async with open_client(url, request_max_retries=50) as client:
        with pytest.raises(ModelFailure) as caught:
            await events_of(client.turn(no_metadata))
    assert not caught.value.retryable
    assert url in caught.value.message


async def test_a_header_that_cannot_be_is_not_tried_again() -> None:
    failure, requests = await failure_of(http_headers={"x-one": "a\r\nb"}, request_max_retries=50)
    assert (failure.retryable, requests) == (False, 0)


async def test_server_that_does_not_answer_is_idle() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        async with open_client(url, stream_idle_timeout_ms=30) as client:
            with pytest.raises(ModelFailure, match="idle timeout waiting for SSE"):
                await events_of(client.turn(no_metadata))


# Failures of the stream


async def test_closed_without_completion() -> None:
    failure, requests = await failure_of(Reply(parts=say("half"), is_complete=False), request_max_retries=3)
    assert (failure.message, failure.retryable, requests) == (CLOSED, True, 1)


async def test_told_failure_is_raised_when_the_stream_closes() -> None:
    failure, _ = await failure_of(Reply(parts=[FAILED], is_complete=False))
    assert (failure.message, failure.retryable) == ("told", False)


async def test_later_completion_wins_over_a_told_failure() -> None:
    async with serve_script([Reply(parts=[FAILED])]) as server, open_client(server.base_url) as client:
        *_, last = await events_of(client.turn(no_metadata))
    assert isinstance(last, Completed)


@pytest.mark.parametrize(("parts", "message"), [([], "idle timeout waiting for SSE"), ([FAILED], "told")])
async def test_silence_is_a_failure_but_a_told_one_is_better(parts: list[Any], message: str) -> None:
    failure, _ = await failure_of(Reply(parts=[*parts, Hold()]), stream_idle_timeout_ms=30)
    assert failure.message.endswith(message)


async def test_comments_do_not_count_as_progress() -> None:
    chatter = [part for _ in range(200) for part in (b": still here\n", Pause(0.005))]
    failure, _ = await failure_of(Reply(parts=chatter), stream_idle_timeout_ms=100)
    assert failure.message.endswith("idle timeout waiting for SSE")


async def test_slow_events_are_not_idle(quick_clock: object) -> None:
    parts = [
        part for letter in "abcdef" for part in ({"type": "response.output_text.delta", "delta": letter}, Pause(20))
    ]
    script = [Reply(parts=parts)]
    async with (
        serve_script(script) as server,
        open_client(server.base_url, stream_idle_timeout_ms=30_000) as client,
    ):
        events = await events_of(client.turn(no_metadata))
    assert isinstance(events[-1], Completed)


async def test_an_event_above_the_cap_ends_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "SseDecoder", lambda: SseDecoder(1000))
    failure, _ = await failure_of(Reply(parts=[b"data: " + b"x" * 2000, Hold()]))
    assert not failure.retryable
    assert "larger than 1000 bytes" in failure.message


RECORDED = b"".join(
    encoded(event)
    for event in [
        {"type": "response.created", "response": {"id": "r"}},
        *say("hé"),
        {"type": "response.completed", "response": {"id": "r"}},
    ]
)


@pytest.mark.parametrize("framing", [CHUNKED, SIZED, UNTIL_CLOSED])
async def test_a_cut_at_any_byte_is_a_failure_to_retry_or_a_whole_answer(framing: str) -> None:
    cuts = range(1, len(RECORDED))
    script = [Reply(parts=[RECORDED], is_complete=False, cut_at=cut, framing=framing) for cut in cuts]
    failures: list[ModelFailure] = []
    ends: list[object] = []
    async with serve_script(script) as server, open_client(server.base_url) as client:
        for _ in cuts:
            try:
                ends.append((await events_of(client.turn(no_metadata)))[-1])
            except ModelFailure as failure:
                failures.append(failure)
        assert len(server.requests) == len(cuts)
    assert all(failure.retryable for failure in failures)
    assert all(failure.message.startswith("stream disconnected before completion: ") for failure in failures)
    assert all(end == Completed("r", None) for end in ends)
    # Only what misses no more than the end of the last line can be whole.
    assert len(ends) <= 2


@pytest.mark.parametrize(
    "body",
    [
        b"\x00" * 100_000,
        b"data: " + b"[" * 100_000 + b"\n\n",
        b"<html>busy</html>",
        b"data: {}\n\n" * 1000,
        json.dumps({"type": "response.completed", "response": {"id": "r"}}).encode(),
    ],
)
async def test_garbage_is_a_stream_that_closed(body: bytes) -> None:
    failure, _ = await failure_of(Reply(body=body))
    assert (failure.message, failure.retryable) == (CLOSED, True)


async def test_garbage_in_place_of_http() -> None:
    async def serve(stream: trio.SocketStream) -> None:
        async with stream:
            await stream.receive_some()
            await stream.send_all(b"\x00\x01 this is no HTTP\r\n\r\n")

    async with trio.open_nursery() as nursery:
        listeners: list[trio.SocketListener] = await nursery.start(partial(trio.serve_tcp, serve, 0, host="127.0.0.1"))
        async with open_client(f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}") as client:
            with pytest.raises(ModelFailure) as caught:
                await events_of(client.turn(no_metadata))
        nursery.cancel_scope.cancel()
    assert caught.value.retryable


# Leaving


async def test_cancelling_closes_the_connection() -> None:
    async with serve_script([Reply(parts=[*say("a"), Hold()])]) as server, open_client(server.base_url) as client:
        with trio.CancelScope() as scope:
            async with client.turn(no_metadata).stream(simple_prompt()) as events:
                async for event in events:
                    if isinstance(event, TextDelta):
                        scope.cancel()
        assert scope.cancelled_caught
        with trio.fail_after(10):
            await server.hung_up.wait()


async def test_cancelling_before_the_answer_closes_the_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        async with open_client(f"http://127.0.0.1:{listener.getsockname()[1]}/v1") as client:
            with trio.move_on_after(0.05) as scope:
                await events_of(client.turn(no_metadata))
            assert scope.cancelled_caught
            peer, _ = listener.accept()
            with peer:
                peer.settimeout(10)
                while peer.recv(65536):
                    pass


async def test_leaving_early_closes_the_connection() -> None:
    script = [Reply(parts=[*say("a"), Hold()]), Reply()]
    async with serve_script(script) as server, open_client(server.base_url) as client:
        async with client.turn(no_metadata).stream(simple_prompt()) as events:
            await anext(aiter(events))
        with trio.fail_after(10):
            await server.hung_up.wait()
        *_, last = await events_of(client.turn(no_metadata))
    assert isinstance(last, Completed)


async def test_an_error_in_the_loop_is_itself() -> None:
    async with serve_script([Reply(parts=[*say("a"), Hold()])]) as server:
        with pytest.raises(ZeroDivisionError):
            async with open_client(server.base_url) as client, client.turn(no_metadata).stream(simple_prompt()):
                raise ZeroDivisionError


async def test_many_sessions_at_once_each_hear_their_own() -> None:
    async with serve_script(lambda request: Reply(parts=say(request.body["input"][0]["content"][0]["text"]))) as server:
        heard: dict[str, list[Any]] = {}

        async def one(client: Any, name: str) -> None:
            heard[name] = await events_of(client.turn(no_metadata), simple_prompt(name))

        async with open_client(server.base_url) as client, trio.open_nursery() as nursery:
            for number in range(40):
                nursery.start_soon(one, client, f"agent {number}")
    assert all(TextDelta(name) in events for name, events in heard.items())
    assert len(heard) == 40


# Keys


async def test_missing_key_fails_before_any_request() -> None:
    failure, requests = await failure_of(env_key="OWN_KEY", env_key_instructions="Set it.", request_max_retries=9)
    assert failure.message == "Missing environment variable: `OWN_KEY`. Set it."
    assert (failure.retryable, failure.info, requests) == (False, "other", 0)


async def test_openai_without_a_key_is_not_asked() -> None:
    failure, requests = await failure_of(id="openai", name="OpenAI")
    assert "CODEX_API_KEY" in failure.message
    assert (failure.retryable, requests) == (False, 0)


OPENAI_ENV = {"CODEX_API_KEY": "k-codex", "OPENAI_API_KEY": "k-openai"}


@pytest.mark.parametrize(
    ("provider", "env", "sent"),
    [
        ({"id": "openai"}, OPENAI_ENV, "Bearer k-codex"),
        ({"requires_openai_auth": True}, OPENAI_ENV, "Bearer k-codex"),
        ({"name": "OpenAI"}, OPENAI_ENV, None),
        ({}, OPENAI_ENV, None),
        ({"env_key": "MINE"}, {**OPENAI_ENV, "MINE": "k-mine"}, "Bearer k-mine"),
    ],
)
async def test_key_goes_to_its_owner_only(provider: dict[str, Any], env: dict[str, str], sent: str | None) -> None:
    async with serve_script([Reply()]) as server, open_client(server.base_url, env=env, **provider) as client:
        await events_of(client.turn(no_metadata))
        (request,) = server.requests
    assert request.headers.get("authorization") == sent
    assert sent is not None or "k-" not in str(dict(request.headers))


@pytest.mark.parametrize(
    ("base_url", "token", "url"),
    [
        (None, None, "https://api.openai.com/v1/responses"),
        (None, Token("k"), "https://api.openai.com/v1/responses"),
        (None, Token("k", "a", is_chatgpt=True), "https://chatgpt.com/backend-api/codex/responses"),
        ("http://x/v1//", Token("k", is_chatgpt=True), "http://x/v1/responses"),
    ],
)
def test_place(base_url: str | None, token: Token | None, url: str) -> None:
    assert responses_url(Provider(id="p", name="p", base_url=base_url), token) == url
