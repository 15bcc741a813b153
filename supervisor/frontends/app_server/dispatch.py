"""From a request to the method that fulfils it.

Owns the order of the checks, which decides what a client is told: is there such a method, are its parameters right, has
the client said hello, may it use the experimental part. Runs the method; sends nothing.
"""

from typing import TYPE_CHECKING

from pycodex.protocol.jsonrpc import Request
from pycodex.supervisor.frontends.app_server.experimental import refuse_experimental
from pycodex.supervisor.frontends.app_server.method import Json, RpcError
from pycodex.supervisor.frontends.app_server.methods import table
from pycodex.supervisor.frontends.app_server.params import checked

if TYPE_CHECKING:
    from pycodex.supervisor.frontends.app_server.connection import Call

INITIALIZE = "initialize"


def may_wait(name: str) -> bool:
    """Whether others are handled while this one is under way."""
    method = table.find(name)
    return method is not None and method.may_wait


async def fulfil(call: "Call", request: Request) -> Json:
    """Raises RpcError."""
    method = table.find(request.method)
    if method is None:
        known = ", ".join(f"`{name}`" for name in table.NAMES)
        raise RpcError(f"Invalid request: unknown variant `{request.method}`, expected one of {known}")
    params = None
    if method.params is not None:
        if request.params is None:
            raise RpcError("Invalid request: missing field `params`")
        params = checked(method.params, request.params)
    if call.connection.client is None and method.name != INITIALIZE:
        raise RpcError("Not initialized")
    if not call.is_experimental and method.name != INITIALIZE:
        refuse_experimental(method, request.params)
    return await method.run(call, params)
