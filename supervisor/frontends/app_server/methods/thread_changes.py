"""Changing a loaded thread between turns, as clients newer than 0.116 do: its settings, and what the model sees."""

from pycodex.protocol.app.newer_threads import ThreadInjectItemsParams, ThreadSettingsUpdateParams
from pycodex.protocol.items import known_item
from pycodex.protocol.ops import ChangeSettings, InjectItems
from pycodex.supervisor.frontends.app_server.method import Caller, Json, Method, RpcError
from pycodex.supervisor.frontends.app_server.methods.calls import call_of, loaded
from pycodex.supervisor.frontends.app_server.wishes import wish_of


async def inject_items(caller: Caller, params: ThreadInjectItemsParams) -> Json:
    call = call_of(caller)
    live = loaded(call, params.thread_id)
    if not params.items:
        raise RpcError("items must not be empty")
    items = []
    for number, raw in enumerate(params.items):
        item = known_item(raw)
        if item is None:
            raise RpcError(f"items[{number}] is not a valid response item")
        items.append(item)
    call.at_the_end(live.gate.hold().release)
    await live.submit(InjectItems(items=tuple(items)))
    return {}


async def update_settings(caller: Caller, params: ThreadSettingsUpdateParams) -> Json:
    """They hold from the next turn on; all who follow the thread are told, if anything is different."""
    call = call_of(caller)
    live = loaded(call, params.thread_id)
    wish = wish_of(params)
    before = live.facts.told_settings()
    call.at_the_end(live.gate.hold().release)
    await live.submit(ChangeSettings(like=wish))
    live.facts.note(wish, params)
    settings = live.facts.told_settings()
    if settings != before:
        told = {"threadId": live.thread_id, "threadSettings": settings}
        call.after_answer(lambda: live.notify("thread/settings/updated", told))
    return {}


METHODS = (
    Method(name="thread/inject_items", params=ThreadInjectItemsParams, run=inject_items),
    Method(name="thread/settings/update", params=ThreadSettingsUpdateParams, run=update_settings),
)
