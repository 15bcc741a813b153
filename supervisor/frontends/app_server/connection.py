"""One client: its messages are taken in order, answered, and told what it has subscribed to.

Owns the life of a connection, its queues and what the client has said of itself. What requests mean is known to
`dispatch` and the methods.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import trio

from pycodex.protocol import jsonrpc
from pycodex.protocol.errors import UserFacing
from pycodex.protocol.jsonrpc import Failure, Message, Notification, Request, Response
from pycodex.supervisor.frontends.app_server import dispatch
from pycodex.supervisor.frontends.app_server.method import INTERNAL_ERROR, INVALID_REQUEST, OVERLOADED, Json, RpcError
from pycodex.supervisor.frontends.app_server.outgoing import Outgoing
from pycodex.supervisor.frontends.app_server.transport import Wire, WireClosed

if TYPE_CHECKING:
    from pycodex.supervisor.frontends.app_server.server import AppServer
    from pycodex.supervisor.model.headers import Identity

MAX_WAITING_REQUESTS = 128
MAX_UNDER_WAY = 256
"""Requests of one client that are handled beside its others, as they may take long."""
LAST_WORDS_S = 1.0
"""How long answers may take that are still under way when the client has closed its end."""

logger = logging.getLogger("pycodex.app_server")


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """What it has said of itself."""

    identity: "Identity"
    is_experimental: bool
    opted_out: frozenset[str]


@dataclass(slots=True, eq=False)
class Call:
    """One request while it is being handled; a method's `Caller`."""

    connection: "Connection"
    _acts: list[Callable[[], None]] = field(default_factory=list)
    _ends: list[Callable[[], None]] = field(default_factory=list)

    @property
    def server(self) -> "AppServer":
        return self.connection.server

    @property
    def is_experimental(self) -> bool:
        return self.connection.is_experimental

    @property
    def nursery(self) -> trio.Nursery:
        return self.connection.nursery

    def notify(self, method: str, params: Json) -> None:
        self.connection.notify(method, params)

    async def room(self) -> None:
        await self.connection.outgoing.room()

    def after_answer(self, act: Callable[[], None]) -> None:
        self._acts.append(act)

    def at_the_end(self, act: Callable[[], None]) -> None:
        """Do this after all that follows the answer, also if there is none: the request failed, or the client left."""
        self._ends.append(act)

    def answered(self) -> None:
        for act in self._acts:
            act()

    def ended(self) -> None:
        for act in self._ends:
            act()


class Connection:
    """`run` it once."""

    nursery: trio.Nursery

    def __init__(self, server: "AppServer", wire: Wire) -> None:
        self.server = server
        self.client: Client | None = None
        """None until it has said hello."""
        self.outgoing = Outgoing(waits_for_reader=wire.waits_for_reader)
        self._wire = wire
        self._under_way = 0
        self._inlet, self._inbox = trio.open_memory_channel[Message](MAX_WAITING_REQUESTS)

    @property
    def is_experimental(self) -> bool:
        return self.client is not None and self.client.is_experimental

    async def run(self) -> None:
        """Until the client is gone."""
        try:
            async with trio.open_nursery() as nursery:
                self.nursery = nursery
                nursery.start_soon(self._write)
                nursery.start_soon(self._give_up_slow_reader)
                handled = trio.Event()
                nursery.start_soon(self._handle_all, handled)
                await self._read()
                with trio.move_on_after(LAST_WORDS_S):
                    await handled.wait()
                    await self.outgoing.empty()
                nursery.cancel_scope.cancel()
        finally:
            self.server.forget(self)
            with trio.CancelScope(shield=True, deadline=trio.current_time() + LAST_WORDS_S):
                await self._wire.aclose()

    def notify(self, method: str, params: Json) -> None:
        client = self.client
        if client is not None and method not in client.opted_out:
            self.send({"method": method, "params": params, "emittedAtMs": int(time.time() * 1000)})

    def send(self, message: Json) -> None:
        self.outgoing.put(jsonrpc.encode(message))

    async def _read(self) -> None:
        with self._inlet:
            while (data := await self._wire.receive()) is not None:
                message = jsonrpc.decode(data)
                if message is None:
                    continue
                try:
                    self._inlet.send_nowait(message)
                except trio.WouldBlock:
                    if isinstance(message, Request):
                        await self.outgoing.room_for_answer()
                        self._refuse(message, _overloaded())
                    else:
                        await self._inlet.send(message)

    async def _write(self) -> None:
        try:
            while True:
                messages = await self.outgoing.get()
                await self._wire.send(messages)
                self.outgoing.sent(len(messages))
        except WireClosed:
            self.nursery.cancel_scope.cancel()

    async def _give_up_slow_reader(self) -> None:
        await self.outgoing.given_up.wait()
        logger.warning("a client that does not read was disconnected")
        self.nursery.cancel_scope.cancel()

    async def _handle_all(self, handled: trio.Event) -> None:
        async for message in self._inbox:
            await self.outgoing.room_for_answer()
            match message:
                case Request():
                    await self._handle(message)
                case Response() | Failure():
                    await self._take_answer(message)
                case Notification():
                    # Nothing waits for what a client may tell.
                    pass
        handled.set()

    async def _handle(self, request: Request) -> None:
        """One after the other, but for what may take long."""
        if not dispatch.may_wait(request):
            await self._answer(request)
        elif self._under_way < MAX_UNDER_WAY:
            self._under_way += 1
            self.nursery.start_soon(self._answer_beside, request)
        else:
            self._refuse(request, _overloaded())

    async def _answer_beside(self, request: Request) -> None:
        try:
            await self._answer(request)
        finally:
            self._under_way -= 1

    async def _answer(self, request: Request) -> None:
        call = Call(self)
        try:
            answer = jsonrpc.encode(jsonrpc.answer(request.id, await dispatch.fulfil(call, request)))
        except RpcError as error:
            self._refuse(request, error)
        except UserFacing as error:
            self._refuse(request, RpcError(str(error), code=INVALID_REQUEST))
        except Exception as error:
            logger.exception("%s failed", request.method)
            text = f"unexpected {type(error).__name__}: {error}"
            self._refuse(request, RpcError(text, code=INTERNAL_ERROR))
        else:
            self.outgoing.put(answer)
            call.answered()
        finally:
            call.ended()

    async def _take_answer(self, message: Response | Failure) -> None:
        """To a question of ours; whatever it holds, the connection goes on."""
        try:
            await self.server.questions.answered(message, self)
        except Exception:
            logger.exception("the answer to request %r failed", message.id)

    def _refuse(self, request: Request, error: RpcError) -> None:
        self.send(jsonrpc.error_answer(request.id, code=error.code, message=error.message, data=error.data))


def _overloaded() -> RpcError:
    return RpcError("Server overloaded; retry later.", code=OVERLOADED)
