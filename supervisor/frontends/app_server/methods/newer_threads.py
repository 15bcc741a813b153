"""What clients newer than 0.116 ask about threads: their turns and items page by page, and that they be deleted.

A cursor is the id of a turn or an item: the page begins behind it, in the direction that is asked for.
"""

import os
from collections.abc import Callable, Sequence
from typing import TypeVar

from pycodex.protocol.app.newer_threads import ThreadDeleteParams, ThreadItemsListParams, ThreadTurnsListParams
from pycodex.supervisor.frontends.app_server import thread_views
from pycodex.supervisor.frontends.app_server.connection import Call
from pycodex.supervisor.frontends.app_server.method import INTERNAL_ERROR, Caller, Json, Method, RpcError
from pycodex.supervisor.frontends.app_server.methods.calls import call_of, checked_id
from pycodex.supervisor.rollout.listing import find_by_id

T = TypeVar("T")

DEFAULT_LIMIT = 25
MOST = 100


async def list_turns(caller: Caller, params: ThreadTurnsListParams) -> Json:
    turns = await _turns(call_of(caller), params.thread_id)
    if params.items_view == "notLoaded":
        turns = [{**turn, "items": [], "itemsView": "notLoaded"} for turn in turns]
    ordered = turns if params.sort_direction == "asc" else turns[::-1]
    return _page(ordered, lambda turn: str(turn["id"]), cursor=params.cursor, limit=params.limit)


async def list_items(caller: Caller, params: ThreadItemsListParams) -> Json:
    turns = await _turns(call_of(caller), params.thread_id)
    entries = [
        {"turnId": turn["id"], "item": item}
        for turn in turns
        if params.turn_id in (None, turn["id"])
        for item in turn["items"]
    ]
    ordered = entries if params.sort_direction == "asc" else entries[::-1]
    return _page(ordered, lambda entry: str(entry["item"]["id"]), cursor=params.cursor, limit=params.limit)


async def _turns(call: Call, thread_id: str) -> list[Json]:
    """The oldest first."""
    live = call.server.live.get(checked_id(thread_id))
    if live is not None:
        turns: list[Json] = (await thread_views.of_live(live, with_turns=True))["turns"]
        return turns
    path = _path(call, thread_id)
    if path is None:
        raise RpcError(f"thread not loaded: {thread_id}")
    return await thread_views.turns_told(path, None)


def _path(call: Call, thread_id: str) -> str | None:
    home = call.server.codex_home
    return find_by_id(home, thread_id) or find_by_id(home, thread_id, archived=True)


def _page(ordered: Sequence[T], id_of: Callable[[T], str], *, cursor: str | None, limit: int | None) -> Json:
    start = 0
    if cursor is not None:
        ids = [id_of(each) for each in ordered]
        if cursor not in ids:
            raise RpcError(f"invalid cursor: {cursor}")
        start = ids.index(cursor) + 1
    end = start + min(max(limit or DEFAULT_LIMIT, 1), MOST)
    page = list(ordered[start:end])
    return {
        "data": page,
        "nextCursor": id_of(page[-1]) if page and end < len(ordered) else None,
        "backwardsCursor": id_of(page[0]) if page else None,
    }


async def delete(caller: Caller, params: ThreadDeleteParams) -> Json:
    """For good. A loaded thread ends first."""
    call = call_of(caller)
    live = call.server.live.get(checked_id(params.thread_id))
    if live is None and _path(call, params.thread_id) is None:
        raise RpcError(f"thread not found: {params.thread_id}")
    if live is not None:
        live.is_put_aside = True
        live.thread.close()
        await live.closed.wait()
    path = _path(call, params.thread_id)
    if path is not None:
        try:
            os.unlink(path)
        except OSError as error:
            raise RpcError(f"cannot delete {path}: {error.strerror}", code=INTERNAL_ERROR) from error
    call.after_answer(lambda: call.server.broadcast("thread/deleted", {"threadId": params.thread_id}))
    return {}


METHODS = (
    Method(name="thread/turns/list", params=ThreadTurnsListParams, run=list_turns, may_wait=True),
    Method(name="thread/items/list", params=ThreadItemsListParams, run=list_items, may_wait=True),
    Method(name="thread/delete", params=ThreadDeleteParams, run=delete),
)
