"""An app-server in this process, with a scripted model, and clients that talk with it.

Owns the scratch server and the client's side of the protocol: requests, answers, waiting for what is told. Knows
nothing of what the methods mean.
"""

import itertools
import json
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import trio
import trio.testing
from pydantic import TypeAdapter

from pycodex.protocol.app.tables import (
    CLIENT_REQUESTS,
    NEWER_NOTIFICATIONS,
    NEWER_REQUESTS,
    SERVER_NOTIFICATIONS,
    SERVER_REQUESTS,
)
from pycodex.supervisor.frontends.app_server.server import AppServer
from pycodex.supervisor.frontends.app_server.transport import StreamWire
from pycodex.supervisor.model.headers import identity_of
from pycodex.supervisor.model.scripted import Script, ScriptedServer, serve_script
from pycodex.supervisor.threads import open_threads
from support.engine import Place

Json = dict[str, Any]
_REQUESTS = CLIENT_REQUESTS | NEWER_REQUESTS
_NOTIFICATIONS = SERVER_NOTIFICATIONS | NEWER_NOTIFICATIONS
OTHER_NOTICES = frozenset(("thread/status/changed", "thread/tokenUsage/updated", "account/rateLimits/updated"))


class Refused(Exception):
    """The server answered with an error."""

    def __init__(self, error: Json) -> None:
        super().__init__(error["message"])
        self.code = error["code"]
        self.message = error["message"]
        self.data = error.get("data")


def exactly(text: str) -> str:
    """For `pytest.raises`: this and nothing else."""
    return f"^{re.escape(text)}$"


def beginning(text: str) -> str:
    return f"^{re.escape(text)}"


class Client:
    """The other end of a stream of lines."""

    def __init__(self, stream: trio.abc.Stream, *, cwd: Path | None = None) -> None:
        self.stream = stream
        self._defaults: Json = (
            {"approvalPolicy": "never"} if cwd is None else {"approvalPolicy": "never", "cwd": str(cwd)}
        )
        self.heard: list[Json] = []
        """Every message, in order of arrival."""
        self.answers: dict[str, Callable[[Json], Json]] = {}
        """How requests of the server are answered: by their method, from the parameters to the rest of the message."""
        self._buffer = bytearray()
        self._ids = itertools.count(1)
        self._mark = 0
        self._asked: dict[int | str, str] = {}
        self._unheard: frozenset[str] = frozenset()

    def _hears(self, method: str) -> bool:
        return method not in self._unheard

    async def send(self, message: Json) -> None:
        await self.line(json.dumps(message))

    async def line(self, text: str) -> None:
        await self.stream.send_all(text.encode() + b"\n")

    async def hello(self, *, experimental: bool = True, **capabilities: Any) -> Self:
        wishes = {"experimentalApi": experimental, **capabilities}
        self._unheard = frozenset(capabilities.get("optOutNotificationMethods", ()))
        await self.call("initialize", clientInfo={"name": "tester", "version": "1"}, capabilities=wishes)
        await self.send({"method": "initialized"})
        return self

    async def call(self, method: str, /, **params: Any) -> Any:
        """The result. Raises Refused. What is waited for later counts from here on."""
        return await self.answer_to(await self.ask(method, **params))

    async def ask(self, method: str, /, **params: Any) -> int:
        request_id = next(self._ids)
        self._asked[request_id] = method
        self._mark = len(self.heard)
        await self.send({"id": request_id, "method": method, "params": params})
        return request_id

    async def answer_to(self, request_id: int | str) -> Any:
        answer = await self._first(lambda message: message.get("id") == request_id and "method" not in message)
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["result"]

    async def until(self, method: str, **where: Any) -> Json:
        """The parameters of the next such notification or request; `item__type="x"` looks deeper."""

        def is_wanted(message: Json) -> bool:
            if message.get("method") != method:
                return False
            return all(_at(message["params"], path.split("__")) == value for path, value in where.items())

        found = await self._first(is_wanted)
        self._mark = self.heard.index(found) + 1
        params: Json = found["params"]
        return params

    async def _first(self, is_wanted: Callable[[Json], bool]) -> Json:
        place = self._mark
        while True:
            for message in self.heard[place:]:
                place += 1
                if is_wanted(message):
                    return message
            await self.hear()

    async def hear(self) -> Json:
        """One more message; it is answered if there is an answer for it."""
        while (end := self._buffer.find(b"\n")) < 0:
            data = await self.stream.receive_some(1 << 16)
            if not data:
                raise EOFError(f"the server closed after {self.heard[-3:]}")
            self._buffer += data
        message: Json = json.loads(self._buffer[:end])
        del self._buffer[: end + 1]
        self._check(message)
        self.heard.append(message)
        answer = self.answers.get(message["method"]) if "id" in message and "method" in message else None
        if answer is not None:
            await self.send({"id": message["id"], **answer(message["params"])})
        return message

    def _check(self, message: Json) -> None:
        """Whatever a server says has the form that clients know."""
        if "method" in message:
            known = SERVER_REQUESTS[message["method"]].params if "id" in message else None
            (known or _NOTIFICATIONS[message["method"]]).model_validate(message["params"])
        elif "result" in message and (method := self._asked.pop(message["id"], None)) in _REQUESTS:
            # Not all of them are one model: some answers are one of several.
            TypeAdapter(_REQUESTS[method].result).validate_python(message["result"])

    async def start(self, **params: Any) -> str:
        """A new thread; gives its id."""
        result = await self.call("thread/start", **{**self._defaults, **params})
        thread_id: str = result["thread"]["id"]
        if self._hears("thread/started"):
            await self.until("thread/started", thread__id=thread_id)
        return thread_id

    async def turn(self, thread_id: str, text: str, **params: Any) -> list[Json]:
        """To its end; gives what was told meanwhile."""
        await self.call("turn/start", threadId=thread_id, input=[text_input(text)], **params)
        start = self._mark
        await self.until("turn/completed", threadId=thread_id)
        return self.heard[start : self._mark]


def text_input(text: str) -> Json:
    return {"type": "text", "text": text, "text_elements": []}


def told(messages: Iterable[Mapping[str, Any]]) -> list[str]:
    """What was told, in order: methods, with the kinds of items; without what is told beside the rest."""
    return [_word(message) for message in messages if message.get("method") not in OTHER_NOTICES]


def _word(message: Mapping[str, Any]) -> str:
    if "method" not in message:
        return "answer" if "result" in message else "refusal"
    item = message.get("params", {}).get("item")
    return f"{message['method']} {item['type']}" if item else str(message["method"])


def statuses(messages: Iterable[Mapping[str, Any]]) -> list[str]:
    """Of threads, in order: `active`, `active waitingOnApproval`, `idle`."""
    changes = (each["params"]["status"] for each in messages if each.get("method") == "thread/status/changed")
    return [" ".join((status["type"], *status.get("activeFlags", ()))) for status in changes]


def _at(value: Any, path: list[str]) -> Any:
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value


@dataclass
class Scratch:
    place: Place
    model: ScriptedServer
    server: AppServer
    nursery: trio.Nursery

    def connect(self) -> Client:
        """A client that has said nothing yet."""
        ours, theirs = trio.testing.memory_stream_pair()
        self.nursery.start_soon(self.server.serve, StreamWire(theirs))
        return Client(ours, cwd=self.place.workspace)

    @property
    def inputs(self) -> list[list[Json]]:
        """What the model was sent with each request."""
        return [request.body["input"] for request in self.model.requests]


@asynccontextmanager
async def open_app_server(
    place: Place, script: Script, *, env: Mapping[str, str] | None = None, **provider: Any
) -> AsyncIterator[Scratch]:
    """Afterwards everything has ended in good order."""
    env = {**place.env, **(env or {})}
    identity = identity_of(env, originator="tests", client="tests; 1")
    async with serve_script(script) as model:
        place.point_at(model.base_url, **provider)
        async with open_threads(identity=identity, env=env) as threads, trio.open_nursery() as nursery:
            server = AppServer(threads, nursery, env=env, codex_home=str(place.home), overrides=(), source="vscode")
            yield Scratch(place, model, server, nursery)
            nursery.cancel_scope.cancel()
