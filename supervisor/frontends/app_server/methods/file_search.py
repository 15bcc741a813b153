"""`fuzzyFileSearch` and its sessions: files by parts of their paths.

Owns the sessions of a connection and their notifications. Which files there are comes from `commands/file_listing`,
which of them are meant from `workspace/file_search`, in a thread.
"""

import os
from collections.abc import Sequence
from functools import partial
from weakref import WeakKeyDictionary

import trio

from pycodex.protocol.app.file_search import (
    FuzzyFileSearchParams,
    FuzzyFileSearchSessionStartParams,
    FuzzyFileSearchSessionStopParams,
    FuzzyFileSearchSessionUpdateParams,
)
from pycodex.protocol.errors import ModelFacing
from pycodex.protocol.frames import BadFrame
from pycodex.supervisor.commands.file_listing import list_files
from pycodex.supervisor.commands.workplace import Workplace
from pycodex.supervisor.frontends.app_server.latest_config import latest_config
from pycodex.supervisor.frontends.app_server.method import INTERNAL_ERROR, Caller, Json, Method, RpcError, Server
from pycodex.supervisor.workspace.file_search import Candidate, Found, best_matches

MAX_SESSIONS = 16
MAX_ROOTS = 100
"""Of one search or session."""


class _Latest:
    """Of several searches with one token only the last is wanted."""

    def __init__(self) -> None:
        self._scopes: dict[str, trio.CancelScope] = {}

    def entered(self, token: str | None, scope: trio.CancelScope) -> None:
        if token is not None:
            if token in self._scopes:
                self._scopes[token].cancel()
            self._scopes[token] = scope

    def left(self, token: str | None, scope: trio.CancelScope) -> None:
        if token is not None and self._scopes.get(token) is scope:
            del self._scopes[token]


_latest: WeakKeyDictionary[trio.Nursery, _Latest] = WeakKeyDictionary()


async def search(caller: Caller, params: FuzzyFileSearchParams) -> Json:
    if not params.query or not params.roots:
        return {"files": []}
    _check_roots(params.roots)
    latest = _latest.setdefault(caller.nursery, _Latest())
    found: list[Found] = []
    with trio.CancelScope() as scope:
        latest.entered(params.cancellation_token, scope)
        try:
            candidates: list[Candidate] = []
            await _list_into(candidates, _workplace(caller.server), params.roots)
            found = await _ranked(params.query, candidates, _Wanted())
        finally:
            latest.left(params.cancellation_token, scope)
    return {"files": [_told(each) for each in found]}


def _check_roots(roots: Sequence[str]) -> None:
    if len(roots) > MAX_ROOTS:
        raise RpcError(f"{len(roots)} roots are more than {MAX_ROOTS}")


def _workplace(server: Server) -> Workplace:
    return Workplace(config=latest_config(server), env=server.env, pool=server.pool)


async def _list_into(candidates: list[Candidate], workplace: Workplace, roots: Sequence[str]) -> None:
    try:
        await list_files(workplace, roots, candidates.extend)
    except (ModelFacing, BadFrame) as error:
        raise RpcError(f"the files cannot be listed: {error}", code=INTERNAL_ERROR) from None


class _Wanted:
    """Tells a thread that nobody waits for it any more."""

    def __init__(self) -> None:
        self.is_over = False

    def is_stale(self) -> bool:
        return self.is_over


async def _ranked(query: str, candidates: Sequence[Candidate], wanted: _Wanted) -> list[Found]:
    rank = partial(best_matches, query, tuple(candidates), is_stale=wanted.is_stale)
    try:
        return await trio.to_thread.run_sync(rank, abandon_on_cancel=True)
    finally:
        wanted.is_over = True


def _told(found: Found) -> Json:
    root, path = found.candidate
    return {
        "root": root,
        "path": path,
        "file_name": os.path.basename(path),
        "score": found.fit.score,
        "indices": list(found.fit.indices),
    }


# Sessions


class _Session:
    """Lists once, and answers every new query from what it has found so far."""

    def __init__(self, session_id: str, caller: Caller) -> None:
        self.session_id = session_id
        self.scope = trio.CancelScope()
        self._caller = caller
        self._candidates: list[Candidate] = []
        self._query = ""
        self._is_listed = False
        self._changed = trio.Event()
        self._wanted = _Wanted()

    def ask(self, query: str) -> None:
        self._query = query
        self._wanted.is_over = True
        self._changed.set()

    async def run(self, roots: Sequence[str]) -> None:
        with self.scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._list, roots)
                while True:
                    await self._changed.wait()
                    self._changed = trio.Event()
                    await self._answer()

    async def _list(self, roots: Sequence[str]) -> None:
        try:
            await _list_into(self._candidates, _workplace(self._caller.server), roots)
        except RpcError:
            # What was found until then is all there is.
            pass
        self._is_listed = True
        self._changed.set()

    async def _answer(self) -> None:
        query, self._wanted, is_last = self._query, _Wanted(), self._is_listed
        found = await _ranked(query, self._candidates, self._wanted)
        if query != self._query:
            return
        files = [_told(each) for each in found]
        update = {"sessionId": self.session_id, "query": query, "files": files}
        self._caller.notify("fuzzyFileSearch/sessionUpdated", update)
        if is_last and not self._changed.is_set():
            self._caller.notify("fuzzyFileSearch/sessionCompleted", {"sessionId": self.session_id})
        await self._caller.room()


_sessions: WeakKeyDictionary[trio.Nursery, dict[str, _Session]] = WeakKeyDictionary()


async def start_session(caller: Caller, params: FuzzyFileSearchSessionStartParams) -> Json:
    if not params.session_id:
        raise RpcError("sessionId must not be empty")
    if not params.roots:
        text = "failed to start fuzzy file search session: at least one search directory is required"
        raise RpcError(text, code=INTERNAL_ERROR)
    _check_roots(params.roots)
    sessions = _sessions.setdefault(caller.nursery, {})
    before = sessions.pop(params.session_id, None)
    if before is not None:
        before.scope.cancel()
    if len(sessions) >= MAX_SESSIONS:
        raise RpcError(f"{MAX_SESSIONS} fuzzy file search sessions are open; stop one of them first")
    session = sessions[params.session_id] = _Session(params.session_id, caller)
    caller.after_answer(partial(caller.nursery.start_soon, session.run, params.roots))
    return {}


async def update_session(caller: Caller, params: FuzzyFileSearchSessionUpdateParams) -> Json:
    session = _sessions.get(caller.nursery, {}).get(params.session_id)
    if session is None:
        raise RpcError(f"fuzzy file search session not found: {params.session_id}")
    caller.after_answer(partial(session.ask, params.query))
    return {}


async def stop_session(caller: Caller, params: FuzzyFileSearchSessionStopParams) -> Json:
    session = _sessions.get(caller.nursery, {}).pop(params.session_id, None)
    if session is not None:
        session.scope.cancel()
    return {}


METHODS = (
    Method(name="fuzzyFileSearch", params=FuzzyFileSearchParams, run=search, may_wait=True),
    Method(
        name="fuzzyFileSearch/sessionStart",
        params=FuzzyFileSearchSessionStartParams,
        run=start_session,
        experimental=True,
    ),
    Method(
        name="fuzzyFileSearch/sessionUpdate",
        params=FuzzyFileSearchSessionUpdateParams,
        run=update_session,
        experimental=True,
    ),
    Method(
        name="fuzzyFileSearch/sessionStop",
        params=FuzzyFileSearchSessionStopParams,
        run=stop_session,
        experimental=True,
    ),
)
