"""What a request of a client is answered by: one method, its parameters, and what it may use.

Owns the interface between the dispatch of requests and the methods, which are files in `methods/`. A method raises
RpcError to answer with an error; anything else that it raises is a bug, and is answered as an internal error.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import trio
    from pydantic import BaseModel

    from pycodex.supervisor.config.config import Config
    from pycodex.supervisor.threads import ThreadManager
    from pycodex.supervisor.workers.late_pool import PoolSource

INVALID_REQUEST = -32600
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
OVERLOADED = -32001

Json = dict[str, Any]


class RpcError(Exception):
    """The answer to a request that cannot be fulfilled."""

    def __init__(self, message: str, *, code: int = INVALID_REQUEST, data: object = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.data = data


class Server(Protocol):
    """What all connections share."""

    @property
    def threads(self) -> "ThreadManager": ...

    @property
    def pool(self) -> "PoolSource":
        """Where the workers of the threads are had from, for commands that belong to no thread."""
        ...

    @property
    def env(self) -> Mapping[str, str]: ...

    @property
    def codex_home(self) -> str: ...

    @property
    def overrides(self) -> Sequence[str]:
        """Every `key=value` that `-c` gave when the server was started."""
        ...

    def load_config(self, *, cwd: str | None = None, overrides: Mapping[str, Any] | None = None) -> "Config":
        """As it is on disk now, for this directory, with overrides by dotted key. Raises UserFacing."""
        ...

    def broadcast(self, method: str, params: Json) -> None:
        """Notify every connection that has said hello."""
        ...


class Caller(Protocol):
    """The connection that a request came by."""

    @property
    def server(self) -> Server: ...

    @property
    def is_experimental(self) -> bool:
        """Whether the client has asked for the experimental part of the interface."""
        ...

    @property
    def nursery(self) -> "trio.Nursery":
        """For what must not outlive the connection."""
        ...

    def notify(self, method: str, params: Json) -> None:
        """Notify this connection only. Never waits; what the client has opted out of is left out."""
        ...

    async def room(self) -> None:
        """Until the client has read enough of what it was told; at once where nobody waits for it."""
        ...

    def after_answer(self, act: Callable[[], None]) -> None:
        """Do this once the answer to the request that is being handled is on its way."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """`params` is the model that checks the parameters; None: the request carries none."""

    name: str
    params: "type[BaseModel] | None"
    run: Callable[[Caller, Any], Awaitable[Json]]
    experimental: bool = False
    may_wait: bool | Callable[[object], bool] = False
    """Whether it may take long, so that what the client sends next is handled meanwhile; some only with certain
    parameters, which are not checked yet."""
