"""Starting, resuming and forking threads."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pycodex.protocol.app.settings import DynamicToolSpec
from pycodex.protocol.app.thread_starts import ThreadForkParams, ThreadResumeParams, ThreadStartParams
from pycodex.protocol.items import known_item
from pycodex.protocol.ops import PursueGoal
from pycodex.supervisor.frontends.app_server import thread_views
from pycodex.supervisor.frontends.app_server.connection import Call
from pycodex.supervisor.frontends.app_server.live_thread import LiveThread
from pycodex.supervisor.frontends.app_server.method import INTERNAL_ERROR, Caller, Json, Method, RpcError
from pycodex.supervisor.frontends.app_server.methods.calls import call_of, checked_id, path_on_disk
from pycodex.supervisor.frontends.app_server.thread_configs import loaded_rules, thread_config
from pycodex.supervisor.frontends.app_server.thread_facts import ThreadFacts
from pycodex.supervisor.rollout.head import first_words
from pycodex.supervisor.rollout.long_files import beside
from pycodex.supervisor.rollout.reader import read_meta
from pycodex.supervisor.rollout.stored_turns import turns_of_file
from pycodex.supervisor.session.codex_thread import CodexThread
from pycodex.supervisor.session.opening import NotBegun
from pycodex.supervisor.threads import Terms
from pycodex.supervisor.tools.dynamic_tools import in_namespace


async def start(caller: Caller, params: ThreadStartParams) -> Json:
    call = call_of(caller)
    config = thread_config(call.server, params)
    tools = [tool for spec in params.dynamic_tools or () for tool in _declared(spec)]
    with begun():
        thread = await call.server.threads.start(
            config,
            source=call.server.source,
            dynamic_tools=tools,
            rules=loaded_rules(config),
            terms=replace(
                terms_of(call, tells_work=params.persist_extended_history), tells_items=params.experimental_raw_events
            ),
        )
    live = followed(call, thread, ThreadFacts.of(config, source=call.server.source))
    return _announced(call, live, await thread_views.of_live(live, with_turns=False))


def _declared(spec: DynamicToolSpec) -> list[Json]:
    """What a client brings along is a tool, or a group of them."""
    if spec.type == "namespace":
        if not spec.name.strip():
            raise RpcError("dynamic tool namespace must not be empty")
        return [in_namespace(spec.name, tool.to_json()) for tool in spec.tools or ()]
    if spec.type not in (None, "function"):
        raise RpcError(f"Invalid request: unknown variant `{spec.type}`, expected `function` or `namespace`")
    if "input_schema" not in spec.model_fields_set:
        raise RpcError("Invalid request: missing field `inputSchema`")
    return [{**spec.to_json(), "inputSchema": spec.input_schema}]


async def resume(caller: Caller, params: ThreadResumeParams) -> Json:
    call = call_of(caller)
    if params.history is not None:
        return await _resume_history(call, params)
    if params.path is None:
        running = await call.server.live.settled(checked_id(params.thread_id))
        if running is not None:
            return await _joined(call, running, with_turns=not params.exclude_turns)
    path = params.path if params.path is not None else path_on_disk(call, params.thread_id)
    meta = await beside(read_meta, path)
    running = await call.server.live.settled(meta.id)
    if running is not None:
        return await _joined(call, running, with_turns=not params.exclude_turns)
    config = thread_config(call.server, params, otherwise_cwd=meta.cwd)
    preview = await beside(first_words, path)
    with begun():
        thread = await call.server.threads.resume(
            config, path, rules=loaded_rules(config), terms=terms_of(call, tells_work=params.persist_extended_history)
        )
    running = call.server.live.get(thread.thread_id)
    if running is not None and running.thread is thread:
        # Another client was a moment earlier.
        return await _joined(call, running, with_turns=not params.exclude_turns)
    facts = ThreadFacts.of(config, source=meta.source)
    facts.preview = preview
    answer = await _resumed(call, thread, facts, with_turns=not params.exclude_turns)
    await thread.submit(PursueGoal())
    return answer


async def _resume_history(call: Call, params: ThreadResumeParams) -> Json:
    """A new thread that begins with what the client brings along."""
    given = [item.model_dump(mode="json") for item in params.history or ()]
    if not given:
        raise RpcError("history must not be empty")
    history = [item for raw in given if (item := known_item(raw)) is not None]
    config = thread_config(call.server, params)
    terms = terms_of(call, tells_work=params.persist_extended_history, history=history)
    with begun():
        thread = await call.server.threads.start(
            config, source=call.server.source, rules=loaded_rules(config), terms=terms
        )
    facts = ThreadFacts.of(config, source=call.server.source)
    facts.preview = first_words(thread.rollout_path) if thread.rollout_path is not None else ""
    answer = await _resumed(call, thread, facts, with_turns=False)
    answer["thread"]["gitInfo"] = None
    return answer


async def fork(caller: Caller, params: ThreadForkParams) -> Json:
    call = call_of(caller)
    path = params.path if params.path is not None else path_on_disk(call, params.thread_id)
    meta = await beside(read_meta, path)
    config = thread_config(call.server, params, otherwise_cwd=meta.cwd)
    preview = await beside(first_words, path)
    terms = replace(
        terms_of(call, tells_work=params.persist_extended_history),
        drops_turns=0 if params.last_turn_id is None else await _turns_behind(path, params.last_turn_id),
    )
    with begun():
        thread = await call.server.threads.fork(
            config, path, source=call.server.source, rules=loaded_rules(config), terms=terms
        )
    facts = ThreadFacts.of(config, source=call.server.source)
    facts.forked_from_id = meta.id
    facts.preview = preview
    live = followed(call, thread, facts)
    told = await thread_views.of_live(live, with_turns=not params.exclude_turns)
    if thread.rollout_path is None and not params.exclude_turns:
        told["turns"] = await thread_views.turns_told(path, None)
    return _announced(call, live, told)


@contextmanager
def begun() -> Iterator[None]:
    """A thread that cannot begin is a failure of the server's, not of the request."""
    try:
        yield
    except NotBegun as error:
        raise RpcError(f"error creating thread: Fatal error: {error}", code=INTERNAL_ERROR) from None


async def _turns_behind(path: str, turn_id: str) -> int:
    ids = [turn.turn_id for turn in await beside(turns_of_file, path)]
    if turn_id not in ids:
        raise RpcError(f"turn not found: {turn_id}")
    return len(ids) - 1 - ids.index(turn_id)


def terms_of(call: Call, *, tells_work: bool, history: list[Any] | None = None) -> Terms:
    client = call.connection.client
    return Terms(
        identity=client.identity if client is not None else None,
        tells_work=tells_work,
        history=history,
        pursues_goals=True,
    )


def followed(call: Call, thread: CodexThread, facts: ThreadFacts) -> LiveThread:
    """Loaded, and told to this connection from now on, but nothing of it before the answer."""
    client = call.connection.client
    facts.originator = client.identity.originator if client is not None else None
    live = call.server.live.add(thread, facts)
    live.follow(call.connection)
    call.at_the_end(live.gate.hold().release)
    return live


def _announced(call: Call, live: LiveThread, told: Json) -> Json:
    call.after_answer(lambda: call.server.broadcast("thread/started", {"thread": told}))
    return {"thread": told, **live.facts.told()}


async def _resumed(call: Call, thread: CodexThread, facts: ThreadFacts, *, with_turns: bool) -> Json:
    live = followed(call, thread, facts)
    status = {"threadId": live.thread_id, "status": live.telling.status}
    call.server.broadcast("thread/status/changed", status)
    return {"thread": await thread_views.of_live(live, with_turns=with_turns), **live.facts.told()}


async def _joined(call: Call, live: LiveThread, *, with_turns: bool) -> Json:
    """It runs already: whoever asks follows it, too, and can answer what is open. What was asked to differ does not."""
    live.follow(call.connection)
    call.at_the_end(live.gate.hold().release)
    call.after_answer(lambda: live.replay_questions(call.connection))
    goal = live.telling.goal
    if goal is not None:
        told = {"threadId": live.thread_id, "turnId": None, "goal": goal}
        call.after_answer(lambda: call.notify("thread/goal/updated", told))
    return {"thread": await thread_views.of_live(live, with_turns=with_turns), **live.facts.told()}


METHODS = (
    Method(name="thread/start", params=ThreadStartParams, run=start),
    Method(name="thread/resume", params=ThreadResumeParams, run=resume),
    Method(name="thread/fork", params=ThreadForkParams, run=fork),
)
