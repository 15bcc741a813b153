"""A server that listens: on an address for WebSockets, on a path for these and for plain lines.

Owns who may connect, and the end: the first signal lets running turns finish, the second does not wait for them.
"""

import ipaddress
import logging
import os
import secrets
import signal
import stat
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from typing import TYPE_CHECKING

import trio

from pycodex.protocol.errors import UserFacing
from pycodex.protocol.http_head import END, MAX_HEAD_BYTES, parse
from pycodex.supervisor.frontends.app_server import http_head
from pycodex.supervisor.frontends.app_server.peer_process import is_free_program
from pycodex.supervisor.frontends.app_server.transport import StreamWire

if TYPE_CHECKING:
    from pycodex.supervisor.frontends.app_server.server import AppServer

HEAD_TIMEOUT_S = 10.0
TOKEN_FILE = "app-server-token"
UNIX = "unix://"
WEBSOCKET = "ws://"

_Demand = Callable[[trio.SocketStream], Awaitable[str | None]]
"""The token that whoever connected must know; None: none."""

logger = logging.getLogger("pycodex.app_server")


async def serve_listening(url: str, open_server: "Callable[[], AbstractAsyncContextManager[AppServer]]") -> None:
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with open_server() as server, trio.open_nursery() as nursery:
            await nursery.start(partial(listen, url, server))
            await _until_asked_to_end(signals, server)
            nursery.cancel_scope.cancel()


async def _until_asked_to_end(signals: AsyncIterator[int], server: "AppServer") -> None:
    await anext(signals)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_cancel_at_next, signals, nursery.cancel_scope)
        await server.finished()
        nursery.cancel_scope.cancel()


async def _cancel_at_next(signals: AsyncIterator[int], scope: trio.CancelScope) -> None:
    await anext(signals)
    scope.cancel()


async def listen(url: str, server: "AppServer", *, task_status: trio.TaskStatus[str]) -> None:
    """Take clients until it is cancelled. Says where it listens once it does. Raises UserFacing."""
    if url.startswith(UNIX):
        await _listen_on_path(url.removeprefix(UNIX), server, task_status)
    else:
        await _listen_on_address(url, server, task_status)


async def _listen_on_path(path: str, server: "AppServer", task_status: trio.TaskStatus[str]) -> None:
    with trio.socket.socket(trio.socket.AF_UNIX) as listener:
        await _bind_path(listener, path)
        task_status.started(_told(f"{UNIX}{path}"))
        try:
            await trio.serve_listeners(partial(_greet_path, server), [trio.SocketListener(listener)])
        finally:
            with suppress(FileNotFoundError):
                os.unlink(path)


async def _listen_on_address(url: str, server: "AppServer", task_status: trio.TaskStatus[str]) -> None:
    host, _, port = url.removeprefix(WEBSOCKET).rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    demand: _Demand
    if ipaddress.ip_address(host).is_loopback:
        demand = partial(_demand_here, server.codex_home)
    else:
        demand = partial(_demand_elsewhere, token_in(server.codex_home))
    try:
        listeners = await trio.open_tcp_listeners(int(port), host=host)
    except OSError as error:
        raise UserFacing(f"cannot listen on {url}: {error.strerror}") from error
    shown = f"[{host}]" if ":" in host else host
    task_status.started(_told(f"{WEBSOCKET}{shown}:{listeners[0].socket.getsockname()[1]}"))
    await trio.serve_listeners(partial(_greet, server, demand), listeners)


async def _demand_elsewhere(token: str, _: trio.SocketStream) -> str | None:
    return token


async def _demand_here(codex_home: str, stream: trio.SocketStream) -> str | None:
    """The token that a client must know: none for a program of the user's on this machine, unless it is confined."""
    own, peer = stream.socket.getsockname()[:2], stream.socket.getpeername()[:2]
    is_free = await trio.to_thread.run_sync(is_free_program, own, peer)
    return None if is_free else token_in(codex_home)


async def _demand_nothing(_: trio.SocketStream) -> str | None:
    return None


def _told(url: str) -> str:
    sys.stderr.write(f"pycodex app-server listens on {url}\n")
    sys.stderr.flush()
    return url


def token_in(codex_home: str) -> str:
    """What clients from elsewhere must know; made when it is first needed, for the user's own eyes."""
    path = os.path.join(codex_home, TOKEN_FILE)
    try:
        with open(path, encoding="ascii") as file:
            token = file.read().strip()
        if len(token) >= 32:
            return token
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        raise UserFacing(f"cannot read the token in {path}: {error}") from error
    token = secrets.token_urlsafe(32)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(descriptor, "w", encoding="ascii") as file:
            file.write(f"{token}\n")
    except OSError as error:
        raise UserFacing(f"cannot write the token to {path}: {error.strerror}") from error
    sys.stderr.write(f"clients must send the header `Authorization: Bearer TOKEN` with the token in {path}\n")
    return token


async def _bind_path(listener: trio.socket.SocketType, path: str) -> None:
    """For the user alone. A socket that nobody listens on any more is in nobody's way."""
    try:
        if stat.S_ISSOCK(os.lstat(path).st_mode) and not await _is_answered(path):
            os.unlink(path)
    except FileNotFoundError:
        pass
    before = os.umask(0o177)
    try:
        await listener.bind(path)
        listener.listen()
    except OSError as error:
        raise UserFacing(f"cannot listen on {UNIX}{path}: {error.strerror}") from error
    finally:
        os.umask(before)


async def _is_answered(path: str) -> bool:
    with trio.socket.socket(trio.socket.AF_UNIX) as probe:
        try:
            await probe.connect(path)
        except ConnectionRefusedError:
            return False
        except OSError:
            # Somebody is there, but has no time.
            return True
    return True


async def _greet_path(server: "AppServer", stream: trio.SocketStream) -> None:
    """Lines, unless the client begins as for a WebSocket. Whoever can open the socket is the user."""
    try:
        first = bytes(await _received(stream))
        if first.startswith(b"GET "):
            await _greet(server, _demand_nothing, stream, first)
        else:
            await server.serve(StreamWire(stream, first))
    finally:
        await trio.aclose_forcefully(stream)


async def _received(stream: trio.abc.Stream) -> bytes | bytearray:
    try:
        return await stream.receive_some()
    except trio.BrokenResourceError:
        return b""


async def _greet(server: "AppServer", demand: _Demand, stream: trio.SocketStream, first: bytes = b"") -> None:
    try:
        data = await _head(stream, first)
        head = parse(data) if END in data else None
        status = http_head.refusal(head, None)
        if status is None:
            status = http_head.refusal(head, await demand(stream))
        if status is None:
            await _serve_websocket(server, stream, data)
        else:
            await stream.send_all(http_head.answer(status))
    except trio.BrokenResourceError:
        # Nobody is there to be told.
        pass
    finally:
        await trio.aclose_forcefully(stream)


async def _head(stream: trio.SocketStream, data: bytes) -> bytes:
    """As much as has come once the head is whole; what is no head, or comes too slowly, is cut off."""
    with trio.move_on_after(HEAD_TIMEOUT_S):
        while END not in data and len(data) < MAX_HEAD_BYTES:
            more = await _received(stream)
            if not more:
                break
            data += bytes(more)
    return data


async def _serve_websocket(server: "AppServer", stream: trio.SocketStream, data: bytes) -> None:
    from trio_websocket import ConnectionClosed

    from pycodex.supervisor.frontends.app_server.websocket_wire import accepted

    try:
        async with trio.open_nursery() as nursery:
            wire = None
            # What begins like an upgrade need not become one.
            with trio.move_on_after(HEAD_TIMEOUT_S):
                wire = await accepted(nursery, data, stream)
            if wire is not None:
                await server.serve(wire)
            nursery.cancel_scope.cancel()
    except* (ConnectionClosed, trio.BrokenResourceError, trio.ClosedResourceError):
        # It broke off before it became one.
        pass
    except* Exception as errors:
        # The library chokes on some of what can be sent; that must not end the server.
        logger.warning("a WebSocket failed", exc_info=errors)
