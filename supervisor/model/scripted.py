"""A model that says what a script tells it to: a Responses API on loopback, for demonstrations and tests.

Owns the server and the words of a script. A script is a list of `Reply`, used up in order of arrival, or a function
from the request to its reply. Also says what no sound server would: half answers, garbage, silence.
"""

import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import trio

from pycodex.supervisor.model.failures import status_text

Event = dict[str, Any]

_MOST_HEAD_BYTES = 1 << 20
_USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 10},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 5},
    "total_tokens": 120,
}

CHUNKED = "chunked"
SIZED = "sized"
UNTIL_CLOSED = "until closed"


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing is sent for so long."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Until:
    """Nothing is sent before this has happened."""

    event: trio.Event


class Hold:
    """Nothing more is sent: the server waits until the client hangs up."""


Part = Event | bytes | Pause | Until | Hold


@dataclass(slots=True, kw_only=True)
class Reply:
    """One answer. `parts` are events, bytes sent as they are, and pauses; `body` stands for all of them.

    `is_complete` adds `response.completed` at the end. `cut_at` closes the connection after so many bytes of the body.
    `framing` says how the end of the body is told.
    """

    parts: Iterable[Part] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    usage: Mapping[str, Any] | None = field(default_factory=lambda: dict(_USAGE))
    is_complete: bool = True
    cut_at: int | None = None
    framing: str = CHUNKED


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request as it arrived. `connection` counts the connections from 0."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes
    connection: int

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


Script = Sequence[Reply] | Callable[[Request], Reply]


# Words of a script

_ids = itertools.count(1)


def say(text: str, *, pieces: int = 1) -> list[Event]:
    """A message, its text in so many deltas."""
    item = {"type": "message", "role": "assistant", "id": f"msg_{next(_ids)}", "content": []}
    size = -(-len(text) // pieces) or 1
    return [
        {"type": "response.output_item.added", "item": item},
        *(
            {"type": "response.output_text.delta", "item_id": item["id"], "delta": text[start : start + size]}
            for start in range(0, len(text), size)
        ),
        done({**item, "content": [{"type": "output_text", "text": text}]}),
    ]


def reason(summary: str) -> list[Event]:
    """Reasoning of which the summary is told."""
    item = {"type": "reasoning", "id": f"rs_{next(_ids)}", "summary": [], "encrypted_content": "c2VhbGVk"}
    return [
        {"type": "response.output_item.added", "item": item},
        {"type": "response.reasoning_summary_part.added", "summary_index": 0},
        {"type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": summary},
        done({**item, "summary": [{"type": "summary_text", "text": summary}]}),
    ]


def call(name: str, arguments: Mapping[str, Any] | str, call_id: str | None = None) -> list[Event]:
    """A call of a function tool."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    number = next(_ids)
    item = {"type": "function_call", "id": f"fc_{number}", "call_id": call_id or f"call_{number}"}
    return [done({**item, "name": name, "arguments": text})]


def custom(name: str, text: str, call_id: str | None = None) -> list[Event]:
    """A call of a freeform tool."""
    number = next(_ids)
    item = {"type": "custom_tool_call", "id": f"ctc_{number}", "call_id": call_id or f"call_{number}"}
    return [done({**item, "status": "completed", "name": name, "input": text})]


def done(item: Mapping[str, Any]) -> Event:
    """Any item, whole at once."""
    return {"type": "response.output_item.done", "item": dict(item)}


def encoded(event: Event) -> bytes:
    """The event as it is sent."""
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def refuse(status: int, message: str, **error: Any) -> Reply:
    """An answer that is no stream."""
    return Reply(status=status, body=json.dumps({"error": {"message": message, **error}}).encode(), framing=SIZED)


# The server


def serve_script(script: Script) -> "ScriptedServer":
    """The server, to be entered with `async with`."""
    return ScriptedServer(script)


class ScriptedServer:
    def __init__(self, script: Script) -> None:
        self._script = script
        self._nursery_holder = trio.open_nursery()
        self._nursery: trio.Nursery | None = None
        self._connections = itertools.count()
        self.requests: list[Request] = []
        self.base_url = ""
        self.hung_up = trio.Event()
        """Set when a client has left before its reply was whole."""

    async def __aenter__(self) -> Self:
        # First what can be cancelled: a nursery that was entered must be left.
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        self._nursery = await self._nursery_holder.__aenter__()
        self.base_url = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}/v1"
        self._nursery.start_soon(trio.serve_listeners, self._serve, listeners)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._nursery is not None
        self._nursery.cancel_scope.cancel()
        # The nursery is not told of an error in the body: it would wrap it in a group.
        await self._nursery_holder.__aexit__(None, None, None)

    def _reply_to(self, request: Request) -> Reply:
        if callable(self._script):
            return self._script(request)
        number = len(self.requests) - 1
        return self._script[number] if number < len(self._script) else Reply(parts=say("done"))

    async def _serve(self, stream: trio.SocketStream) -> None:
        number = next(self._connections)
        buffer = bytearray()
        async with stream:
            try:
                while (request := await _received(stream, buffer, number)) is not None:
                    self.requests.append(request)
                    if not await self._send(stream, self._reply_to(request)):
                        return
            except trio.BrokenResourceError:
                self.hung_up.set()

    async def _send(self, stream: trio.SocketStream, reply: Reply) -> bool:
        """Whether the connection can be used again."""
        whole = reply.body
        if whole is None and reply.framing == SIZED:
            whole = b"".join(part for part in _bytes_of(reply) if isinstance(part, bytes))
        await stream.send_all(_head(reply, None if whole is None else len(whole)))
        is_chunked = reply.framing == CHUNKED and reply.body is None
        left = reply.cut_at
        for part in [whole] if whole is not None else _bytes_of(reply):
            if isinstance(part, Pause):
                await trio.sleep(part.seconds)
            elif isinstance(part, Until):
                await part.event.wait()
            elif isinstance(part, Hold):
                while await stream.receive_some():
                    pass
                self.hung_up.set()
                return False
            else:
                piece = part if left is None else part[:left]
                left = None if left is None else left - len(piece)
                if piece:
                    await stream.send_all(b"%x\r\n%b\r\n" % (len(piece), piece) if is_chunked else piece)
                if left == 0:
                    return False
        if is_chunked:
            await stream.send_all(b"0\r\n\r\n")
        return is_chunked or whole is not None


def _bytes_of(reply: Reply) -> Iterable[bytes | Pause | Until | Hold]:
    response_id = f"resp_{next(_ids)}"
    yield encoded({"type": "response.created", "response": {"id": response_id}})
    for part in reply.parts:
        yield encoded(part) if isinstance(part, dict) else part
    if reply.is_complete:
        yield encoded({"type": "response.completed", "response": {"id": response_id, "usage": reply.usage}})


def _head(reply: Reply, length: int | None) -> bytes:
    kind = "text/event-stream" if reply.status == 200 else "application/json"
    headers = {"content-type": kind, **reply.headers}
    if length is not None:
        headers["content-length"] = str(length)
    elif reply.framing == CHUNKED:
        headers["transfer-encoding"] = "chunked"
    else:
        headers["connection"] = "close"
    lines = [f"HTTP/1.1 {status_text(reply.status)}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join((*lines, "", "")).encode()


async def _received(stream: trio.SocketStream, buffer: bytearray, connection: int) -> Request | None:
    """The next request; None if the client leaves or does not speak HTTP."""
    while (end := buffer.find(b"\r\n\r\n")) < 0:
        if len(buffer) > _MOST_HEAD_BYTES or not await _fill(stream, buffer):
            return None
    first, *lines = buffer[:end].decode("latin-1").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    length = headers.get("content-length", "0")
    words = first.split(" ")
    if not length.isdecimal() or len(words) != 3:
        return None
    whole = end + 4 + int(length)
    while len(buffer) < whole:
        if not await _fill(stream, buffer):
            return None
    raw = bytes(buffer[end + 4 : whole])
    del buffer[:whole]
    return Request(method=words[0], path=words[1], headers=headers, raw=raw, connection=connection)


async def _fill(stream: trio.SocketStream, buffer: bytearray) -> bool:
    data = await stream.receive_some()
    buffer += data
    return bool(data)
