"""The configuration as it is on disk now, for methods that cannot answer without it."""

from typing import TYPE_CHECKING

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.frontends.app_server.method import INTERNAL_ERROR, RpcError, Server

if TYPE_CHECKING:
    from pycodex.supervisor.config.config import Config


def latest_config(server: Server) -> "Config":
    """For the directory that the server was started in. Raises RpcError."""
    try:
        return server.load_config()
    except UserFacing as error:
        raise RpcError(f"failed to reload config: {error}", code=INTERNAL_ERROR) from None
