"""Requests to a server and their answers, requests of the server's and ours: JSON-RPC both ways.

Owns the ids, who waits for which answer, and that an abandoned request is withdrawn. What comes is checked: an answer
to nothing is dropped, and a server may ask only so much at a time. Knows no method but those that frame the others.
"""

import itertools
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import outcome
import trio

from pycodex.protocol.jsonrpc import Failure, Notification, Request, Response, answer, error_answer
from pycodex.supervisor.mcp.failures import ConnectionLost, McpFailure, RpcFailure, TimedOut
from pycodex.supervisor.mcp.link import Json, Link, Undelivered
from pycodex.supervisor.mcp.patience import Patience

if TYPE_CHECKING:
    from pycodex.protocol.jsonrpc import RequestId

MOST_SERVED = 16
"""Requests of the server's that are answered at the same time."""
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
_BUSY = -32000

Serve = Callable[[str, Any], Awaitable[Json]]

logger = logging.getLogger("pycodex.mcp")


class _Waiting:
    def __init__(self) -> None:
        self.settled = trio.Event()
        self.result: outcome.Maybe[Any] = outcome.Error(ConnectionLost())

    def settle(self, result: "outcome.Maybe[Any]") -> None:
        if not self.settled.is_set():
            self.result = result
            self.settled.set()


class Peer:
    """`serve` answers the server: it takes a method and parameters, and raises RpcFailure to refuse."""

    def __init__(self, name: str, link: Link, serve: Serve) -> None:
        self.patience = Patience()
        self.over = trio.Event()
        """Nothing more will come."""
        self._name = name
        self._link = link
        self._serve = serve
        self._ids = itertools.count()
        self._waiting: dict[int, _Waiting] = {}
        self._served: "dict[RequestId, trio.CancelScope]" = {}

    async def run(self) -> None:
        """Until the server is gone."""
        try:
            async with trio.open_nursery() as nursery:
                while (incoming := await self._link.receive()) is not None:
                    self._take(incoming, nursery)
                nursery.cancel_scope.cancel()
        finally:
            self.over.set()
            self._settle_all(ConnectionLost())

    async def request(self, method: str, params: Json | None = None, *, timeout_s: float | None = None) -> Any:
        """The result. Raises McpFailure."""
        if self.over.is_set():
            raise ConnectionLost
        request_id = next(self._ids)
        waiter = self._waiting[request_id] = _Waiting()
        try:
            with self.patience.limit(timeout_s):
                await self._link.send(_request(request_id, method, params))
                await waiter.settled.wait()
            if not waiter.settled.is_set():
                raise TimedOut(f"awaiting {method}", timeout_s or 0)
        finally:
            del self._waiting[request_id]
            if not waiter.settled.is_set():
                self._withdraw(request_id, method)
        return waiter.result.unwrap()

    async def notify(self, method: str, params: Json | None = None) -> None:
        await self._link.send({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})

    def _withdraw(self, request_id: int, method: str) -> None:
        self._link.forget(request_id)
        # Of the handshake the protocol says that it must not be withdrawn.
        if method != "initialize" and not self.over.is_set():
            params = {"requestId": request_id, "reason": "nobody waits for it any more"}
            self._link.put({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})

    def _take(self, incoming: object, nursery: trio.Nursery) -> None:
        match incoming:
            case Response(id=request_id, result=result):
                self._settle(request_id, outcome.Value(result))
            case Failure(id=request_id, error=error):
                self._settle(request_id, outcome.Error(RpcFailure.of(error)))
            case Undelivered(request_id=None, failure=failure):
                self._settle_all(failure)
            case Undelivered(request_id=request_id, failure=failure):
                self._settle(request_id, outcome.Error(failure))
            case Request():
                self._take_request(incoming, nursery)
            case Notification(method="notifications/cancelled", params=params):
                self._cancel_served(params)
            case Notification(method=method):
                logger.debug("MCP server %s: %s", self._name, method)

    def _settle(self, request_id: object, result: "outcome.Maybe[Any]") -> None:
        waiter = self._waiting.get(request_id) if isinstance(request_id, int) else None
        if waiter is not None:
            waiter.settle(result)

    def _settle_all(self, failure: McpFailure) -> None:
        for waiter in self._waiting.values():
            waiter.settle(outcome.Error(failure))

    def _take_request(self, request: Request, nursery: trio.Nursery) -> None:
        if len(self._served) >= MOST_SERVED or request.id in self._served:
            self._link.put(_refusal(request.id, RpcFailure(_BUSY, "too many requests at a time")))
            return
        scope = self._served[request.id] = trio.CancelScope()
        nursery.start_soon(self._answer, request, scope)

    def _cancel_served(self, params: object) -> None:
        request_id = params.get("requestId") if isinstance(params, dict) else None
        scope = self._served.get(request_id) if isinstance(request_id, str | int) else None
        if scope is not None:
            scope.cancel()

    async def _answer(self, request: Request, scope: trio.CancelScope) -> None:
        try:
            with scope:
                try:
                    reply = {"jsonrpc": "2.0", **answer(request.id, await self._serve(request.method, request.params))}
                except RpcFailure as failure:
                    reply = _refusal(request.id, failure)
                except Exception:
                    logger.exception("MCP server %s: its request %s failed", self._name, request.method)
                    reply = _refusal(request.id, RpcFailure(INTERNAL_ERROR, "internal error"))
                await self._link.send(reply)
        except ConnectionLost:
            # Nobody waits for the answer any more.
            pass
        finally:
            del self._served[request.id]


def _request(request_id: int, method: str, params: Json | None) -> Json:
    given = dict(params or {})
    if method == "initialize":
        return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": given}
    meta = given.pop("_meta", None)
    told = {"_meta": {**(meta if isinstance(meta, dict) else {}), "progressToken": request_id}, **given}
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": told}


def _refusal(request_id: "RequestId", failure: RpcFailure) -> Json:
    return {"jsonrpc": "2.0", **error_answer(request_id, code=failure.code, message=failure.message)}
