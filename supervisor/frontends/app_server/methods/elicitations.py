"""`thread/increment_elicitation` and its counterpart: how many questions a client has put to the person by itself.

Owns the counts. They are told back and change nothing: commands that wait for the person are bounded by their own
timeouts here, not by one that could be paused.
"""

from weakref import WeakKeyDictionary

from pycodex.protocol.app.thread_control import ThreadDecrementElicitationParams, ThreadIncrementElicitationParams
from pycodex.supervisor.frontends.app_server.live_thread import LiveThread
from pycodex.supervisor.frontends.app_server.method import Caller, Json, Method, RpcError
from pycodex.supervisor.frontends.app_server.methods.calls import call_of, loaded

_counts: WeakKeyDictionary[LiveThread, int] = WeakKeyDictionary()


async def increment(caller: Caller, params: ThreadIncrementElicitationParams) -> Json:
    live = loaded(call_of(caller), params.thread_id)
    _counts[live] = _counts.get(live, 0) + 1
    return _told(live)


async def decrement(caller: Caller, params: ThreadDecrementElicitationParams) -> Json:
    live = loaded(call_of(caller), params.thread_id)
    if not _counts.get(live, 0):
        raise RpcError("out-of-band elicitation count is already zero")
    _counts[live] -= 1
    return _told(live)


def _told(live: LiveThread) -> Json:
    return {"count": _counts[live], "paused": _counts[live] > 0}


METHODS = (
    Method(
        name="thread/increment_elicitation",
        params=ThreadIncrementElicitationParams,
        run=increment,
        experimental=True,
    ),
    Method(
        name="thread/decrement_elicitation",
        params=ThreadDecrementElicitationParams,
        run=decrement,
        experimental=True,
    ),
)
