"""`fs/watch` and `fs/unwatch`: a client is told when files change, as clients newer than 0.116 ask for it.

Owns which watches belong to a connection, and how many it may have; they end with it. What a change is, is up to
`workspace/watches`.
"""

from weakref import WeakKeyDictionary

import trio

from pycodex.protocol.app.file_system import FsUnwatchParams, FsWatchParams
from pycodex.supervisor.frontends.app_server.method import INTERNAL_ERROR, Caller, Json, Method, RpcError
from pycodex.supervisor.workspace.watches import Unwatchable, Watches

MAX_WATCHES = 256
"""Of one connection, at a time."""

_watches: WeakKeyDictionary[trio.Nursery, Watches] = WeakKeyDictionary()
"""By the nursery of the connection, of which every connection has one."""


async def watch(caller: Caller, params: FsWatchParams) -> Json:
    if "\0" in params.path:
        raise RpcError("file name contained an unexpected NUL byte")
    try:
        watches = _of(caller)
        if params.watch_id in watches:
            raise RpcError(f"watchId already exists: {params.watch_id}")
        if len(watches) >= MAX_WATCHES:
            raise RpcError(f"{MAX_WATCHES} paths are watched by this connection; unwatch one of them first")
        await watches.add(params.watch_id, params.path)
    except Unwatchable as error:
        raise RpcError(str(error)) from None
    except OSError as error:
        raise RpcError(f"{error.strerror} (os error {error.errno})", code=INTERNAL_ERROR) from None
    return {"path": params.path}


def _of(caller: Caller) -> Watches:
    if caller.nursery not in _watches:

        def tell(watch_id: str, paths: list[str]) -> None:
            shown = [path.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for path in paths]
            caller.notify("fs/changed", {"watchId": watch_id, "changedPaths": shown})

        watches = _watches[caller.nursery] = Watches(tell)
        caller.nursery.start_soon(_live, caller.nursery, watches)
    return _watches[caller.nursery]


async def _live(nursery: trio.Nursery, watches: Watches) -> None:
    try:
        await watches.run()
    finally:
        del _watches[nursery]


async def unwatch(caller: Caller, params: FsUnwatchParams) -> Json:
    """Nothing is told of it after the answer."""
    watches = _watches.get(caller.nursery)
    if watches is not None:
        watches.remove(params.watch_id)
    return {}


METHODS = (
    Method(name="fs/watch", params=FsWatchParams, run=watch),
    Method(name="fs/unwatch", params=FsUnwatchParams, run=unwatch),
)
