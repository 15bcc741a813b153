"""An MCP server that is reached over HTTP: every message a POST, answers as JSON or as a stream of events.

Owns the headers, the session that the server gives us, and its end. Answers are untrusted: capped, and what is no
message is passed over. Texts about failures name the place without what may be secret in its URL.
"""

import logging
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import trio

from pycodex.protocol.errors import UserFacing
from pycodex.protocol.jsonrpc import Response, decode, encode
from pycodex.supervisor.config.mcp_servers import HttpServer
from pycodex.supervisor.mcp.failures import MOST_TOLD_CHARS, ConnectionLost, McpFailure, NotLoggedIn
from pycodex.supervisor.mcp.link import MOST_MESSAGE_BYTES, MOST_WAITING_MESSAGES, Incoming, Json, Undelivered
from pycodex.supervisor.net.http import Answer, Headers, Http, NetworkFailure, open_http
from pycodex.supervisor.net.sse import EventTooLarge, SseDecoder

if TYPE_CHECKING:
    from pycodex.supervisor.mcp.logins import ServerLogin

ACCEPT = "text/event-stream, application/json"
MOST_OPEN_POSTS = 64
LAST_WORDS_S = 2.0
"""How long it may take to tell the server that its session is over."""
SHORTEST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 30.0
MOST_SESSION_ID_CHARS = 1024
LEAST_SECRET_CHARS = 6
"""What is shorter may stand in any text."""
_UNAUTHORISED = 401
_NOT_FOUND = 404
_STREAM = "text/event-stream"

logger = logging.getLogger("pycodex.mcp")


class _SessionEnded(ConnectionLost):
    """The server does not know us any more: nothing more can be said in this session."""


def sent_headers(name: str, server: HttpServer, env: Mapping[str, str]) -> dict[str, str]:
    """What every message carries of the configuration's. Raises McpFailure where a token is missing."""
    headers = dict(server.http_headers)
    headers.update((header, env[key]) for header, key in server.env_http_headers.items() if env.get(key, "").strip())
    key = server.bearer_token_env_var
    if key is not None:
        if key not in env:
            raise McpFailure(f"Environment variable {key} for MCP server '{name}' is not set")
        if not env[key].strip():
            raise McpFailure(f"Environment variable {key} for MCP server '{name}' is empty")
        headers["Authorization"] = f"Bearer {env[key].strip()}"
    return headers


def shown_url(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


class HttpLink:
    """A `Link`."""

    _http: Http
    _nursery: trio.Nursery

    def __init__(
        self, name: str, server: HttpServer, env: Mapping[str, str], login: "ServerLogin | None" = None
    ) -> None:
        """`login` is who we are there, where the configuration does not say it."""
        self._name = name
        self._url = server.url
        self._server = server
        self._env = env
        self._login = login
        self._headers: dict[str, str] = {}
        self._session_id: str | None = None
        self._is_over = False
        self._open: dict[int, trio.CancelScope] = {}
        self._posts = trio.CapacityLimiter(MOST_OPEN_POSTS)
        self._inlet, self._messages = trio.open_memory_channel[Incoming](MOST_WAITING_MESSAGES)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        self._headers = sent_headers(self._name, self._server, self._env)
        if self._login is not None:
            await self._load(self._login)
        async with open_http(self._env) as self._http:
            try:
                async with trio.open_nursery() as self._nursery:
                    task_status.started()
                    await trio.sleep_forever()
            finally:
                self._is_over = True
                self._inlet.close()
                await self._say_goodbye()

    async def send(self, message: Json) -> None:
        """A request is on its way then, anything else has arrived: their order is kept."""
        if self._is_over:
            raise ConnectionLost
        if "id" in message and "method" in message:
            self._nursery.start_soon(self._ask, message)
            return
        try:
            answer = await self._post(message)
            await answer.drop()
        except NetworkFailure as failure:
            raise ConnectionLost(self._unsent(failure)) from None

    def put(self, message: Json) -> None:
        if self._posts.available_tokens and not self._is_over:
            self._nursery.start_soon(self._try_to_send, message)

    async def receive(self) -> Incoming | None:
        try:
            return await self._messages.receive()
        except trio.EndOfChannel:
            return None

    def agreed(self, protocol_version: str) -> None:
        self._headers["MCP-Protocol-Version"] = protocol_version
        self._nursery.start_soon(self._listen)

    def forget(self, request_id: int) -> None:
        scope = self._open.get(request_id)
        if scope is not None:
            scope.cancel()

    async def _try_to_send(self, message: Json) -> None:
        try:
            await self.send(message)
        except McpFailure as failure:
            logger.debug("MCP server %s: %s", self._name, failure)

    async def _load(self, login: "ServerLogin") -> None:
        try:
            await login.load()
        except UserFacing as error:
            raise McpFailure(str(error)) from None

    async def _post(self, message: Json) -> Answer:
        async with self._posts:
            headers = [("accept", ACCEPT), ("content-type", "application/json")]
            return await self._known("POST", headers, encode(message))

    async def _known(self, method: str, headers: Headers, body: bytes | None) -> Answer:
        """Sends it with what the server knows us by; with newer tokens once more if it does not take them."""
        token = None if self._login is None else await self._login.token()
        answer = await self._http.send(method, self._url, [*headers, *self._all_headers(token)], body)
        if answer.status != _UNAUTHORISED or self._login is None or token is None:
            return answer
        newer = await self._login.token_after(token)
        if newer is None:
            return answer
        await answer.drop()
        return await self._http.send(method, self._url, [*headers, *self._all_headers(newer)], body)

    def _all_headers(self, token: str | None) -> Iterator[tuple[str, str]]:
        yield from self._headers.items()
        if token is not None:
            yield "Authorization", f"Bearer {token}"
        if self._session_id is not None:
            yield "mcp-session-id", self._session_id

    async def _ask(self, message: Json) -> None:
        request_id: int = message["id"]
        failure: McpFailure = ConnectionLost("the server's answer ended before the response")
        with trio.CancelScope() as scope:
            self._open[request_id] = scope
            try:
                answer = await self._post(message)
                try:
                    await self._take_answer(answer, request_id)
                finally:
                    await answer.drop()
            except NetworkFailure as error:
                failure = ConnectionLost(self._unsent(error))
            except McpFailure as error:
                failure = error
            finally:
                del self._open[request_id]
            # Does nothing where the response has come.
            await self._inlet.send(Undelivered(request_id, failure))
        if isinstance(failure, _SessionEnded):
            self._session_id = None
            self._nursery.cancel_scope.cancel()

    async def _take_answer(self, answer: Answer, request_id: int) -> None:
        await self._check_status(answer)
        session_id = answer.headers.get("mcp-session-id")
        if self._session_id is None and session_id is not None and _is_session_id(session_id):
            self._session_id = session_id
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == _STREAM:
            await self._take_events(answer, until=request_id)
        elif kind == "application/json":
            await self._deliver(await _whole(answer))
        else:
            raise McpFailure(f"Unexpected content type: {kind[:100] or 'none'}")

    async def _check_status(self, answer: Answer) -> None:
        if answer.status == _UNAUTHORISED:
            raise NotLoggedIn(f"The {self._name} MCP server is not logged in. Run `codex mcp login {self._name}`.")
        if answer.status == _NOT_FOUND and self._session_id is not None:
            raise _SessionEnded("the server has ended the session")
        if not 200 <= answer.status < 300:
            said = _hidden(await answer.text(most_bytes=MOST_TOLD_CHARS, seconds=LAST_WORDS_S), self._headers)
            raise McpFailure(f"unexpected status {answer.status} of {shown_url(self._url)}: {said}".rstrip(": "))

    async def _take_events(self, answer: Answer, *, until: int | None) -> None:
        """To the end of the stream, or to the response that it was opened for."""
        decoder = SseDecoder(MOST_MESSAGE_BYTES)
        try:
            while (chunk := await answer.chunk()) is not None:
                for event in decoder.feed(chunk):
                    if await self._deliver(event) == until and until is not None:
                        return
            for event in decoder.finish():
                await self._deliver(event)
        except EventTooLarge as error:
            raise McpFailure(str(error)) from None

    async def _deliver(self, data: bytes | str) -> object:
        """Gives the id of the request that it answers, if it answers one."""
        message = decode(data)
        if message is None:
            logger.debug("MCP server %s: something that is no message", self._name)
            await trio.lowlevel.checkpoint()
            return None
        await self._inlet.send(message)
        return message.id if isinstance(message, Response) else None

    async def _listen(self) -> None:
        """What the server says without being asked, if it wants to say anything that way."""
        pause_s = SHORTEST_PAUSE_S
        while True:
            try:
                answer = await self._known("GET", [("accept", _STREAM)], None)
                if not 200 <= answer.status < 300 or _STREAM not in answer.headers.get("content-type", ""):
                    await answer.drop()
                    return
                try:
                    await self._take_events(answer, until=None)
                    pause_s = SHORTEST_PAUSE_S
                finally:
                    await answer.drop()
            except (NetworkFailure, McpFailure) as failure:
                logger.debug("MCP server %s: its stream ended: %s", self._name, failure)
            await trio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def _say_goodbye(self) -> None:
        if self._session_id is None:
            return
        with trio.CancelScope(shield=True, deadline=trio.current_time() + LAST_WORDS_S):
            try:
                # Nothing is renewed for this.
                token = None if self._login is None else self._login.last_token
                answer = await self._http.send("DELETE", self._url, list(self._all_headers(token)), None)
                await answer.drop()
            except NetworkFailure as failure:
                logger.debug("MCP server %s: its session was not ended: %s", self._name, failure)

    def _unsent(self, failure: NetworkFailure) -> str:
        return f"error sending request for url ({shown_url(self._url)}): {failure.reason}"


def _hidden(text: str, headers: Mapping[str, str]) -> str:
    """Servers repeat what they were sent, and what they say is told to models."""
    for value in headers.values():
        secret = value.strip().removeprefix("Bearer ")
        if len(secret) >= LEAST_SECRET_CHARS:
            text = text.replace(secret, "***")
    return text


def _is_session_id(text: str) -> bool:
    return len(text) <= MOST_SESSION_ID_CHARS and text.isascii() and text.isprintable()


async def _whole(answer: Answer) -> bytes:
    read = bytearray()
    while (chunk := await answer.chunk()) is not None:
        read += chunk
        if len(read) > MOST_MESSAGE_BYTES:
            raise McpFailure(f"the server sent a message of more than {MOST_MESSAGE_BYTES} bytes")
    return bytes(read)
