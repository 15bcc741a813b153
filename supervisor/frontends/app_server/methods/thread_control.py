"""Acting on threads that are loaded."""

from pycodex.protocol.app.thread_control import (
    ThreadBackgroundTerminalsCleanParams,
    ThreadCompactStartParams,
    ThreadRollbackParams,
    ThreadUnsubscribeParams,
)
from pycodex.protocol.app.thread_store import ThreadLoadedListParams
from pycodex.protocol.events.error import ErrorEvent
from pycodex.protocol.events.turn import ThreadRolledBack
from pycodex.protocol.ops import CleanBackgroundTerminals, Compact, RollBack
from pycodex.supervisor.frontends.app_server import thread_views
from pycodex.supervisor.frontends.app_server.method import INTERNAL_ERROR, Caller, Json, Method, RpcError
from pycodex.supervisor.frontends.app_server.methods.calls import call_of, checked_id, loaded


async def loaded_list(caller: Caller, params: ThreadLoadedListParams) -> Json:
    ids = call_of(caller).server.live.ids()
    if params.cursor is not None:
        if params.cursor not in ids:
            raise RpcError(f"invalid cursor: {params.cursor}")
        ids = ids[ids.index(params.cursor) + 1 :]
    limit = max(1, params.limit) if params.limit is not None else len(ids)
    page = ids[:limit]
    return {"data": page, "nextCursor": page[-1] if len(ids) > limit else None}


async def unsubscribe(caller: Caller, params: ThreadUnsubscribeParams) -> Json:
    call = call_of(caller)
    live = call.server.live.get(checked_id(params.thread_id))
    if live is None:
        return {"status": "notLoaded"}
    if call.connection not in live.followers:
        return {"status": "notSubscribed"}
    call.at_the_end(live.gate.hold().release)
    call.server.unfollow(live, call.connection)
    return {"status": "unsubscribed"}


async def roll_back(caller: Caller, params: ThreadRollbackParams) -> Json:
    call = call_of(caller)
    if params.num_turns < 1:
        raise RpcError("numTurns must be >= 1")
    live = loaded(call, params.thread_id)
    if live.active_turn_id is not None:
        raise RpcError("Cannot rollback while a turn is in progress.")
    waiter = live.awaited(ThreadRolledBack, ErrorEvent)
    call.at_the_end(lambda: live.give_up(waiter))
    await live.submit(RollBack(turns=params.num_turns))
    event = await waiter.wait()
    if not isinstance(event, ThreadRolledBack):
        text = event.message if isinstance(event, ErrorEvent) else "the thread has ended"
        raise RpcError(text, code=INTERNAL_ERROR)
    return {"thread": await thread_views.of_live(live, with_turns=True)}


async def clean_background_terminals(caller: Caller, params: ThreadBackgroundTerminalsCleanParams) -> Json:
    call = call_of(caller)
    live = loaded(call, params.thread_id)
    call.at_the_end(live.gate.hold().release)
    await live.submit(CleanBackgroundTerminals())
    return {}


async def compact(caller: Caller, params: ThreadCompactStartParams) -> Json:
    call = call_of(caller)
    live = loaded(call, params.thread_id)
    call.at_the_end(live.gate.hold().release)
    live.turn_submitted(await live.submit(Compact()))
    return {}


METHODS = (
    Method(name="thread/loaded/list", params=ThreadLoadedListParams, run=loaded_list),
    Method(name="thread/unsubscribe", params=ThreadUnsubscribeParams, run=unsubscribe),
    Method(name="thread/rollback", params=ThreadRollbackParams, run=roll_back),
    Method(
        name="thread/backgroundTerminals/clean",
        params=ThreadBackgroundTerminalsCleanParams,
        run=clean_background_terminals,
        experimental=True,
    ),
    Method(name="thread/compact/start", params=ThreadCompactStartParams, run=compact),
)
