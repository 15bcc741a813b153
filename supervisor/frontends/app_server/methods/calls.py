"""What the methods about threads have in common: whom a request came from, and which thread it is about."""

from typing import TYPE_CHECKING

from pycodex.protocol.ids import is_uuid
from pycodex.supervisor.frontends.app_server.connection import Call
from pycodex.supervisor.frontends.app_server.method import Caller, RpcError
from pycodex.supervisor.rollout.listing import find_by_id

if TYPE_CHECKING:
    import trio

    from pycodex.supervisor.frontends.app_server.live_thread import LiveThread


_UUID_LETTERS = frozenset("0123456789abcdefABCDEF-")
_UUID_GROUPS = (8, 4, 4, 4, 12)


def call_of(caller: Caller) -> Call:
    """The caller of a method that only this server can fulfil."""
    if not isinstance(caller, Call):
        raise TypeError(f"not a call of this server: {caller!r}")
    return caller


def end_of(call: Call) -> "trio.Event":
    """Set once the request is answered, or has come to nothing: for what must not be told before."""
    import trio

    answered = trio.Event()
    call.at_the_end(answered.set)
    return answered


def loaded(call: Call, thread_id: str) -> "LiveThread":
    """Raises RpcError unless there is such a thread."""
    checked_id(thread_id)
    live = call.server.live.get(thread_id)
    if live is None:
        raise RpcError(f"thread not found: {thread_id}")
    return live


def checked_id(thread_id: str) -> str:
    if not is_uuid(thread_id):
        raise RpcError(f"invalid thread id: {_wrong_uuid(thread_id)}")
    return thread_id


def _wrong_uuid(text: str) -> str:
    """What is wrong with it, in the words that clients know."""
    for place, letter in enumerate(text, 1):
        if letter not in _UUID_LETTERS:
            expected = "expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-]"
            return f"invalid character: {expected}, found `{letter}` at {place}"
    groups = text.split("-")
    if len(groups) == 1:
        return f"invalid length: expected length 32 for simple format, found {len(text)}"
    if len(groups) != len(_UUID_GROUPS):
        return f"invalid group count: expected 5, found {len(groups)}"
    number, length = next(
        (number, length)
        for number, (group, length) in enumerate(zip(groups, _UUID_GROUPS, strict=True))
        if len(group) != length
    )
    return f"invalid group length in group {number}: expected {length}, found {len(groups[number])}"


def path_on_disk(call: Call, thread_id: str) -> str:
    """Where the session file of a thread is. Raises RpcError."""
    path = find_by_id(call.server.codex_home, checked_id(thread_id))
    if path is None:
        raise RpcError(f"no rollout found for thread id {thread_id}")
    return path
