"""Threads on disk: listed, read, put aside and taken back, named."""

from collections.abc import Callable
from functools import partial
from typing import Any

import trio
from pydantic.alias_generators import to_camel

from pycodex.protocol.app.thread_store import (
    ThreadArchiveParams,
    ThreadListParams,
    ThreadMetadataUpdateParams,
    ThreadReadParams,
    ThreadSetNameParams,
    ThreadUnarchiveParams,
)
from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.frontends.app_server import thread_views
from pycodex.supervisor.frontends.app_server.connection import Call
from pycodex.supervisor.frontends.app_server.method import Caller, Json, Method, RpcError
from pycodex.supervisor.frontends.app_server.methods.calls import call_of, checked_id, path_on_disk
from pycodex.supervisor.rollout.git_notes import note_git, noted_git
from pycodex.supervisor.rollout.listing import CREATED_AT, UPDATED_AT, Filters, find_by_id, is_interactive
from pycodex.supervisor.rollout.names import set_name

DEFAULT_LIMIT = 25
MOST = 100

_KINDS = {"mcp": "appServer"}
_SUB_AGENTS = {"review": "subAgentReview", "compact": "subAgentCompact"}


async def list_threads(caller: Caller, params: ThreadListParams) -> Json:
    call = call_of(caller)
    provider = _default_provider(call)
    providers = {provider} if params.model_providers is None else set(params.model_providers)
    cwds = [params.cwd] if isinstance(params.cwd, str) else params.cwd or ()
    filters = Filters(
        default_provider=provider,
        providers=frozenset(providers) or None,
        accepts_source=_accepted_source(params.source_kinds),
        cwds=frozenset(cwds) or None,
        search=params.search_term,
        archived=bool(params.archived),
    )
    limit = min(max(params.limit or DEFAULT_LIMIT, 1), MOST)
    find_page = partial(
        call.server.threads.list,
        call.server.codex_home,
        filters,
        cursor=params.cursor,
        limit=limit,
        sort=CREATED_AT if params.sort_key in (None, CREATED_AT) else UPDATED_AT,
        oldest_first=params.sort_direction == "asc",
    )
    # The heads of many files are read for it, and threads have work to do.
    page = await trio.to_thread.run_sync(find_page, abandon_on_cancel=True)
    noted = noted_git(call.server.codex_home, (each.thread_id for each in page.threads))
    data = [
        thread_views.of_summary(
            each,
            call.server.live.get(each.thread_id),
            default_provider=provider,
            git=noted.get(each.thread_id),
        )
        for each in page.threads
    ]
    # Whoever names a direction may want to turn round; older clients know of neither.
    backwards = {} if params.sort_direction is None else {"backwardsCursor": page.backwards_cursor}
    return {"data": data, "nextCursor": page.next_cursor, **backwards}


def _default_provider(call: Call) -> str:
    try:
        return call.server.load_config().provider.id
    except UserFacing as error:
        raise RpcError(f"failed to load configuration: {error}") from error


def _accepted_source(kinds: "list[Any] | None") -> Callable[[Any], bool]:
    if not kinds:
        return is_interactive
    wanted = set(kinds)
    return lambda source: not wanted.isdisjoint(_kinds_of(source))


def _kinds_of(source: Any) -> set[str]:
    """What a source may be asked for as."""
    if isinstance(source, str):
        return {_KINDS.get(source, source)}
    if "custom" in source:
        return {"custom"}
    sub_agent = source.get("subagent")
    if isinstance(sub_agent, dict) and "thread_spawn" in sub_agent:
        return {"subAgent", "subAgentThreadSpawn"}
    return {"subAgent", _SUB_AGENTS.get(str(sub_agent), "subAgentOther")}


async def read(caller: Caller, params: ThreadReadParams) -> Json:
    call = call_of(caller)
    live = call.server.live.get(checked_id(params.thread_id))
    if live is not None:
        return {"thread": await thread_views.of_live(live, with_turns=params.include_turns)}
    home = call.server.codex_home
    path = find_by_id(home, params.thread_id) or find_by_id(home, params.thread_id, archived=True)
    if path is None:
        raise RpcError(f"thread not loaded: {params.thread_id}")
    return {"thread": await thread_views.of_file(path, None, codex_home=home, with_turns=params.include_turns)}


async def archive(caller: Caller, params: ThreadArchiveParams) -> Json:
    """A loaded thread ends first; it is told as put aside, not as closed."""
    call = call_of(caller)
    path_on_disk(call, params.thread_id)
    live = call.server.live.get(params.thread_id)
    if live is not None:
        live.is_put_aside = True
        live.thread.close()
        await live.closed.wait()
    await call.server.threads.archive(call.server.codex_home, params.thread_id)
    call.after_answer(lambda: call.server.broadcast("thread/archived", {"threadId": params.thread_id}))
    return {}


async def unarchive(caller: Caller, params: ThreadUnarchiveParams) -> Json:
    call = call_of(caller)
    path = call.server.threads.unarchive(call.server.codex_home, checked_id(params.thread_id))
    call.after_answer(lambda: call.server.broadcast("thread/unarchived", {"threadId": params.thread_id}))
    return {"thread": await thread_views.of_file(path, None, codex_home=call.server.codex_home, with_turns=False)}


async def name(caller: Caller, params: ThreadSetNameParams) -> Json:
    call = call_of(caller)
    _refuse_unknown(call, params.thread_id)
    given = set_name(call.server.codex_home, params.thread_id, params.name)
    told = {"threadId": params.thread_id, "threadName": given}
    call.after_answer(lambda: call.server.broadcast("thread/name/updated", told))
    return {}


async def update_metadata(caller: Caller, params: ThreadMetadataUpdateParams) -> Json:
    """What is not given stays; null clears. Also of a thread that is archived."""
    call = call_of(caller)
    given = params.git_info
    if given is None or not given.model_fields_set:
        raise RpcError("gitInfo must include at least one field")
    changes = {to_camel(name): getattr(given, name) for name in given.model_fields_set}
    changes = {name: None if value is None else value.strip() for name, value in changes.items()}
    for name, value in changes.items():
        if value == "":
            raise RpcError(f"gitInfo.{name} must not be empty")
    if find_by_id(call.server.codex_home, checked_id(params.thread_id), archived=True) is None:
        _refuse_unknown(call, params.thread_id)
    before = (await read(caller, ThreadReadParams(thread_id=params.thread_id)))["thread"]["gitInfo"] or {}
    git = {stored: changes.get(name, before.get(name)) for name, stored in thread_views.GIT_NAMES.items()}
    note_git(call.server.codex_home, params.thread_id, git)
    return await read(caller, ThreadReadParams(thread_id=params.thread_id))


def _refuse_unknown(call: Call, thread_id: str) -> None:
    if not call.server.is_loaded(checked_id(thread_id)) and find_by_id(call.server.codex_home, thread_id) is None:
        raise RpcError(f"thread not found: {thread_id}")


METHODS = (
    Method(name="thread/list", params=ThreadListParams, run=list_threads, may_wait=True),
    Method(name="thread/read", params=ThreadReadParams, run=read, may_wait=True),
    Method(name="thread/archive", params=ThreadArchiveParams, run=archive),
    Method(name="thread/unarchive", params=ThreadUnarchiveParams, run=unarchive),
    Method(name="thread/name/set", params=ThreadSetNameParams, run=name),
    Method(name="thread/metadata/update", params=ThreadMetadataUpdateParams, run=update_metadata),
)
