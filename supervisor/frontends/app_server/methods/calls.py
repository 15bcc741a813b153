"""What the methods about threads have in common: whom a request came from, and which thread it is about."""

from typing import TYPE_CHECKING

from pycodex.protocol.ids import is_uuid
from pycodex.supervisor.frontends.app_server.connection import Call
from pycodex.supervisor.frontends.app_server.method import Caller, RpcError
from pycodex.supervisor.rollout.listing import find_by_id

if TYPE_CHECKING:
    from pycodex.supervisor.frontends.app_server.live_thread import LiveThread


def call_of(caller: Caller) -> Call:
    """The caller of a method that only this server can fulfil."""
    if not isinstance(caller, Call):
        raise TypeError(f"not a call of this server: {caller!r}")
    return caller


def loaded(call: Call, thread_id: str) -> "LiveThread":
    """Raises RpcError unless there is such a thread."""
    checked_id(thread_id)
    live = call.server.live.get(thread_id)
    if live is None:
        raise RpcError(f"thread not found: {thread_id}")
    return live


def checked_id(thread_id: str) -> str:
    if not is_uuid(thread_id):
        raise RpcError(f"invalid thread id: invalid UUID `{thread_id}`")
    return thread_id


def path_on_disk(call: Call, thread_id: str) -> str:
    """Where the session file of a thread is. Raises RpcError."""
    path = find_by_id(call.server.codex_home, checked_id(thread_id))
    if path is None:
        raise RpcError(f"no rollout found for thread id {thread_id}")
    return path
