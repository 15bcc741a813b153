"""Messages as such: requests, notifications, answers and errors, whatever they carry."""

from typing import Annotated, Any

from pycodex.protocol.app.wire import I64, Named, Wire

RequestId = Annotated[str | I64, Named("RequestId")]


class W3cTraceContext(Wire):
    traceparent: str | None = None
    tracestate: str | None = None


class JSONRPCRequest(Wire):
    id: RequestId
    method: str
    params: Any = None
    trace: W3cTraceContext | None = None


class JSONRPCNotification(Wire):
    method: str
    params: Any = None


class JSONRPCResponse(Wire):
    id: RequestId
    result: Any


class JSONRPCErrorError(Wire):
    code: I64
    data: Any = None
    message: str


class JSONRPCError(Wire):
    error: JSONRPCErrorError
    id: RequestId


JSONRPCMessage = Annotated[
    JSONRPCRequest | JSONRPCNotification | JSONRPCResponse | JSONRPCError, Named("JSONRPCMessage")
]


class ServerRequestResolvedNotification(Wire):
    thread_id: str
    request_id: RequestId
