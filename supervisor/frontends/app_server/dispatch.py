"""From a request to the method that fulfils it.

Owns the order of the checks, which decides what a client is told: is there such a method, are its parameters right, has
the client said hello, may it use the experimental part. Runs the method; sends nothing.
"""

from typing import TYPE_CHECKING, Any

from pycodex.protocol.jsonrpc import Request
from pycodex.supervisor.frontends.app_server.method import Json, Method, RpcError
from pycodex.supervisor.frontends.app_server.methods import table
from pycodex.supervisor.frontends.app_server.params import check_absent, check_stable, checked, requires_experimental

if TYPE_CHECKING:
    from pycodex.supervisor.frontends.app_server.connection import Call

INITIALIZE = "initialize"


def may_wait(request: Request) -> bool:
    """Whether others are handled while this one is under way."""
    method = table.find(request.method)
    if method is None:
        return False
    return method.may_wait(request.params) if callable(method.may_wait) else method.may_wait


async def fulfil(call: "Call", request: Request) -> Json:
    """Raises RpcError."""
    method = table.find(request.method)
    if method is None:
        known = ", ".join(f"`{name}`" for name in table.NAMES)
        raise RpcError(f"Invalid request: unknown variant `{request.method}`, expected one of {known}")
    params = _checked(method, request.params)
    if method.name != INITIALIZE:
        if call.connection.client is None:
            raise RpcError("Not initialized")
        if not call.is_experimental:
            _refuse_experimental(method, params)
    return await method.run(call, params)


def _checked(method: Method, params: object) -> Any:
    if method.params is None:
        check_absent(params)
        return None
    return checked(method.params, params)


def _refuse_experimental(method: Method, params: Any) -> None:
    if method.experimental:
        raise RpcError(requires_experimental(method.name))
    if params is not None:
        check_stable(params)
