"""Starting reviews, in the thread itself or in a fork of it."""

import os
from dataclasses import replace

from pycodex.protocol.app.turns import ReviewStartParams
from pycodex.protocol.ops import Review
from pycodex.protocol.review import BaseBranch, Commit, Custom, ReviewTarget, UncommittedChanges, checked, hint
from pycodex.protocol.user_input import Text
from pycodex.supervisor.config.config import Config
from pycodex.supervisor.frontends.app_server import items, thread_views
from pycodex.supervisor.frontends.app_server.connection import Call
from pycodex.supervisor.frontends.app_server.live_thread import LiveThread
from pycodex.supervisor.frontends.app_server.method import INTERNAL_ERROR, Caller, Json, Method, RpcError
from pycodex.supervisor.frontends.app_server.methods.calls import call_of, loaded
from pycodex.supervisor.frontends.app_server.methods.threads import begun, followed, terms_of
from pycodex.supervisor.frontends.app_server.methods.turns import check_length
from pycodex.supervisor.frontends.app_server.thread_configs import loaded_rules
from pycodex.supervisor.frontends.app_server.thread_facts import ThreadFacts
from pycodex.supervisor.rollout.head import first_words
from pycodex.supervisor.rollout.long_files import beside

DETACHED = "detached"


async def start(caller: Caller, params: ReviewStartParams) -> Json:
    call = call_of(caller)
    live = loaded(call, params.thread_id)
    target = checked(_target(params))
    if params.delivery == DETACHED:
        live = await _fork(call, live)
    else:
        call.at_the_end(live.gate.hold().release)
    turn_id = await live.submit(Review(target=target))
    live.turn_submitted(turn_id)
    shown = items.user_message(turn_id, [Text(text=hint(target)).to_wire()])
    turn = {"id": turn_id, "items": [shown], "status": "inProgress", "error": None}
    return {"turn": turn, "reviewThreadId": live.thread_id}


def _target(params: ReviewStartParams) -> ReviewTarget:
    given = params.target.to_json()
    kind = given.pop("type")
    check_length(sum(len(text) for text in given.values() if text is not None))
    match kind:
        case "baseBranch":
            return BaseBranch(branch=given["branch"])
        case "commit":
            return Commit(sha=given["sha"], title=given["title"])
        case "custom":
            return Custom(instructions=given["instructions"])
        case _:
            return UncommittedChanges()


async def _fork(call: Call, origin: LiveThread) -> LiveThread:
    """A thread that begins with what the other one holds. It is told of before the answer, which names it."""
    path = _path(origin)
    config = _config(origin.facts)
    source = call.server.source
    with begun():
        thread = await call.server.threads.fork(
            config, path, source=source, rules=loaded_rules(config), terms=terms_of(call, tells_work=False)
        )
    facts = ThreadFacts.of(config, source=source)
    facts.forked_from_id = origin.thread_id
    facts.preview = await beside(first_words, path)
    live = followed(call, thread, facts)
    call.server.broadcast("thread/started", {"thread": await thread_views.of_live(live, with_turns=False)})
    return live


def _path(origin: LiveThread) -> str:
    path = origin.thread.rollout_path
    if path is None or not os.path.exists(path):
        text = "error creating detached review thread: nothing of the thread is on disk"
        raise RpcError(text, code=INTERNAL_ERROR)
    return path


def _config(facts: ThreadFacts) -> Config:
    """As the thread is set now."""
    return replace(
        facts.config,
        model=facts.model,
        cwd=facts.cwd,
        permissions=facts.permissions,
        approval_policy=facts.approval_policy,
        approvals_reviewer=facts.approvals_reviewer,
        model_reasoning_effort=facts.effort,
        model_reasoning_summary=facts.summary,
        personality=facts.personality,
        service_tier=facts.service_tier,
    )


METHODS = (Method(name="review/start", params=ReviewStartParams, run=start),)
