"""The one HTTP client of the process.

Owns connections: proxies, TLS, what a failure of the network means, and that a connection is kept for the next request.
Knows no model: takes a URL, headers and bytes, gives an `Answer` whose body is read piece by piece.

Built on httpcore, the half of httpx that speaks HTTP: the other half (cookies, redirects, forms) is of no use here, and
importing it would take longer than the rest of a request.
"""

import itertools
import socket
from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self
from urllib.parse import SplitResult, unquote, urlsplit

import trio

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.net.proxies import proxy_for

if TYPE_CHECKING:
    import ssl

    import httpcore

# httpcore looks at each connection of a pool for each other one, with every request: many agents want several pools.
LANES = 16
_CONNECT_S = 30.0
_IDLE_CONNECTION_S = 300.0
# What may still come after a response was complete: the end of the stream, as a rule.
_MOST_REST_BYTES = 256 << 10
_MOST_REST_S = 2.0
# A peer that vanished is noticed long before the idle timeout.
_KEEP_ALIVE = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
if hasattr(socket, "TCP_KEEPIDLE"):
    _KEEP_ALIVE.append((socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30))

Headers = Sequence[tuple[str, str]]


class NetworkFailure(Exception):
    """The answer did not come, or not whole. `is_permanent`: no further attempt can succeed."""

    def __init__(self, reason: str, *, is_permanent: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_permanent = is_permanent


def open_http(env: Mapping[str, str]) -> "Http":
    """The client, to be entered with `async with`. Makes no connection and loads no certificate before it must."""
    return Http(env)


class Http:
    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._pools: dict[tuple[str, str | None, int], httpcore.AsyncConnectionPool] = {}
        self._lanes = itertools.cycle(range(LANES))
        self._tls: ssl.SSLContext | None = None
        self._opening = trio.Lock()
        self.first_sent = trio.Event()
        """A first request is on its way: from now on there is something to wait for."""
        self._nursery_holder = trio.open_nursery()
        self._nursery: trio.Nursery | None = None

    async def __aenter__(self) -> Self:
        self._nursery = await self._nursery_holder.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._nursery is not None
        self._nursery.cancel_scope.cancel()
        # The nursery is not told of an error in the body: it would wrap it in a group.
        await self._nursery_holder.__aexit__(None, None, None)
        with trio.CancelScope(shield=True):
            for pool in self._pools.values():
                await pool.aclose()

    def lane(self) -> int:
        """For whoever will send many requests. Connections are looked for only among those of a lane."""
        return next(self._lanes)

    async def prepare(self, url: str) -> None:
        """Load what a first request to this place will need, while there is something else to wait for."""
        try:
            await self._pool_for(urlsplit(url), lane=0)
        except (ValueError, UserFacing) as error:
            raise NetworkFailure(str(error), is_permanent=True) from error

    async def get(self, url: str, headers: Headers = ()) -> "Answer":
        """Ask, and wait for the head of the answer."""
        return await self.send("GET", url, headers, None)

    async def post(self, url: str, headers: Headers, body: bytes, *, lane: int = 0) -> "Answer":
        """Send and wait for the head of the answer."""
        return await self.send("POST", url, headers, body, lane=lane)

    async def send(self, method: str, url: str, headers: Headers, body: bytes | None, *, lane: int = 0) -> "Answer":
        """The same with any method."""
        import httpcore

        assert self._nursery is not None, "the client was not entered"
        try:
            parts = urlsplit(url)
            request = httpcore.Request(
                method,
                url,
                headers=[
                    ("host", _host_of(parts)),
                    *((("content-length", str(len(body))),) if body is not None else ()),
                    *((name, _header_value(name, value)) for name, value in headers),
                ],
                content=_Body(body),
                extensions={"timeout": {"connect": _CONNECT_S}, **self._first_trace()},
            )
            pool = await self._pool_for(parts, lane)
        except (ValueError, TypeError, UserFacing) as error:
            raise NetworkFailure(str(error), is_permanent=True) from error
        try:
            response = await pool.handle_async_request(request)
        except _network_errors() as error:
            raise _failure_of(error) from error
        except UnicodeError as error:
            # The name of the host cannot be that of any: the resolver does not even try.
            raise NetworkFailure(f"{parts.hostname!r} is no host name: {error}", is_permanent=True) from error
        return Answer(response, self._nursery)

    def _first_trace(self) -> dict[str, object]:
        return {} if self.first_sent.is_set() else {"trace": self._note_sent}

    async def _note_sent(self, step: str, _: Mapping[str, object]) -> None:
        if step.endswith(("send_request_body.complete", ".failed")):
            self.first_sent.set()

    async def _pool_for(self, parts: SplitResult, lane: int) -> "httpcore.AsyncConnectionPool":
        proxy_url = proxy_for(parts.scheme, parts.hostname or "", self._env)
        key = parts.scheme, proxy_url, lane
        if key not in self._pools:
            async with self._opening:
                if key not in self._pools:
                    self._pools[key] = await self._open_pool(parts.scheme, proxy_url)
        return self._pools[key]

    async def _open_pool(self, scheme: str, proxy_url: str | None) -> "httpcore.AsyncConnectionPool":
        import httpcore

        needs_tls = scheme == "https" or (proxy_url or "").startswith("https:")
        if needs_tls and self._tls is None:
            from pycodex.supervisor.net.trust import tls_context

            # Reading certificates leaves the interpreter to others.
            self._tls = await trio.to_thread.run_sync(tls_context, self._env)
        return httpcore.AsyncConnectionPool(
            ssl_context=self._tls if needs_tls else None,
            proxy=_proxy(proxy_url) if proxy_url else None,
            max_connections=None,
            keepalive_expiry=_IDLE_CONNECTION_S,
            network_backend=httpcore.TrioBackend(),
            socket_options=_KEEP_ALIVE,
        )


def _header_value(name: str, value: str) -> bytes:
    """Refused here rather than below us, where the reason would repeat the value: it may be a secret."""
    value = value.strip()
    if any(letter < " " and letter != "\t" for letter in value):
        raise ValueError(f"the value of the header {name!r} has a line end or another control character in it")
    return value.encode("utf-8", "replace")


def _host_of(parts: SplitResult) -> str:
    host = parts.netloc.rpartition("@")[2]
    return host.removesuffix(":443" if parts.scheme == "https" else ":80")


def _proxy(url: str) -> "httpcore.Proxy":
    import httpcore

    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        # Not the whole URL: it may hold a password.
        place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        raise UserFacing(f"the proxy {place} is not supported: only http:// and https:// proxies are")
    auth = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
    return httpcore.Proxy(url, auth=auth)


class _Body:
    """What is sent, in one piece. No generator: whoever is cancelled while it is sent leaves nothing to be closed."""

    def __init__(self, data: bytes | None) -> None:
        self._data = data

    def __aiter__(self) -> "_Pieces":
        return _Pieces([self._data] if self._data else [])


class _Pieces:
    def __init__(self, left: list[bytes]) -> None:
        self._left = left

    def __aiter__(self) -> "_Pieces":
        return self

    async def __anext__(self) -> bytes:
        if not self._left:
            raise StopAsyncIteration
        return self._left.pop()


class Answer:
    """The head of an answer, and its body as it comes. Ended by `release` or `drop`, or else by `text`."""

    def __init__(self, response: "httpcore.Response", nursery: trio.Nursery) -> None:
        self.status = response.status
        self.headers: dict[str, str] = {}
        for name, value in response.headers:
            self.headers.setdefault(name.decode("latin-1").lower(), value.decode("utf-8", "replace"))
        self._response = response
        self._nursery = nursery
        assert isinstance(response.stream, AsyncIterable)
        self._chunks: AsyncIterator[bytes] = aiter(response.stream)
        self._is_over = False

    async def chunk(self) -> bytes | None:
        """The next piece of the body; None at its end."""
        # Many pieces may have come at once: whoever takes them one by one must not keep the others waiting.
        await trio.lowlevel.cancel_shielded_checkpoint()
        try:
            return await anext(self._chunks)
        except StopAsyncIteration:
            self._is_over = True
            await self._response.aclose()
            return None
        except _network_errors() as error:
            self._is_over = True
            raise _failure_of(error) from error

    async def text(self, *, most_bytes: int, seconds: float) -> str:
        """The beginning of the body, as much as comes in time."""
        pieces: list[bytes] = []
        with trio.move_on_after(seconds):
            try:
                while sum(map(len, pieces)) < most_bytes and (piece := await self.chunk()) is not None:
                    pieces.append(piece)
            except NetworkFailure:
                # What is there tells more than that the rest is missing.
                self._is_over = True
        self.release()
        return b"".join(pieces)[:most_bytes].decode("utf-8", "replace")

    def release(self) -> None:
        """No more of it is wanted: what is left is read in the background, so that the connection can be used again."""
        if not self._is_over:
            self._is_over = True
            self._nursery.start_soon(self._read_rest, _MOST_REST_S)

    async def drop(self) -> None:
        """The answer is of no use any more: end it now, and with it the connection if anything is left to come."""
        if not self._is_over:
            self._is_over = True
            with trio.CancelScope(shield=True):
                await self._read_rest(0)

    async def _read_rest(self, seconds: float) -> None:
        # Reading under a deadline is also the way to give up: a cancelled read closes the connection.
        left = _MOST_REST_BYTES
        with trio.move_on_after(seconds) as scope:
            try:
                async for piece in self._chunks:
                    left -= len(piece)
                    if left < 0:
                        scope.cancel()
            except _network_errors():
                return
            await self._response.aclose()


def _network_errors() -> tuple[type[Exception], ...]:
    import httpcore

    return (
        httpcore.NetworkError,
        httpcore.ProtocolError,
        httpcore.ProxyError,
        httpcore.TimeoutException,
        httpcore.UnsupportedProtocol,
    )


def _failure_of(error: Exception) -> NetworkFailure:
    import httpcore

    if isinstance(error, httpcore.TimeoutException):
        return NetworkFailure(f"no connection within {_CONNECT_S:g} seconds")
    is_permanent = isinstance(error, httpcore.LocalProtocolError | httpcore.UnsupportedProtocol)
    return NetworkFailure(_deepest_reason(error), is_permanent=is_permanent)


def _deepest_reason(error: BaseException) -> str:
    """What the lowest layer said: the layers above only say that it failed."""
    reason = str(error) or type(error).__name__
    beneath = _beneath(error)
    while beneath is not None:
        reason = (isinstance(beneath, OSError) and beneath.strerror) or reason
        beneath = _beneath(beneath)
    return reason


def _beneath(error: BaseException) -> BaseException | None:
    if isinstance(error, BaseExceptionGroup):
        first: BaseException = error.exceptions[0]
        return first
    # httpcore hands on the error that it stands for as an argument.
    wrapped = error.args[0] if error.args else None
    return wrapped if isinstance(wrapped, BaseException) else error.__cause__
