"""What a thread works towards by itself: set, told, and cleared.

The engine decides; its answer to each wish comes as an event.
"""

from functools import partial

from pycodex.protocol.app.goals import ThreadGoalClearParams, ThreadGoalGetParams, ThreadGoalSetParams
from pycodex.protocol.events.goal import GoalCleared, GoalRefused, GoalUpdated
from pycodex.protocol.events.union import AnyEvent
from pycodex.protocol.ids import new_turn_id
from pycodex.protocol.ops import ClearGoal, SetGoal
from pycodex.supervisor.frontends.app_server import notifications
from pycodex.supervisor.frontends.app_server.connection import Call
from pycodex.supervisor.frontends.app_server.method import INTERNAL_ERROR, Caller, Json, Method, RpcError
from pycodex.supervisor.frontends.app_server.methods.calls import call_of, checked_id, path_on_disk
from pycodex.supervisor.frontends.app_server.telling import Notice, Telling
from pycodex.supervisor.rollout.goals import stored_goal
from pycodex.supervisor.rollout.listing import find_by_id
from pycodex.supervisor.rollout.long_files import beside
from pycodex.supervisor.rollout.writer import RolloutUnwritable


async def set_goal(caller: Caller, params: ThreadGoalSetParams) -> Json:
    call = call_of(caller)
    wish = SetGoal(
        request_id=new_turn_id(),
        objective=params.objective,
        status=params.status,
        token_budget=params.token_budget,
        lifts_budget="token_budget" in params.model_fields_set and params.token_budget is None,
    )
    event = await _answered(call, params.thread_id, wish)
    if isinstance(event, GoalUpdated):
        return {"goal": event.goal.to_wire()}
    if isinstance(event, GoalRefused):
        raise RpcError(event.message)
    raise RpcError("the thread has ended", code=INTERNAL_ERROR)


async def clear(caller: Caller, params: ThreadGoalClearParams) -> Json:
    call = call_of(caller)
    event = await _answered(call, params.thread_id, ClearGoal(request_id=new_turn_id()))
    return {"cleared": isinstance(event, GoalCleared)}


async def _answered(call: Call, thread_id: str, wish: SetGoal | ClearGoal) -> AnyEvent | None:
    """The event that answers it, which nobody hears of before the client has the answer."""
    live = await call.server.live.settled(checked_id(thread_id))
    if live is None:
        return await _written_down(call, thread_id, wish)
    waiter = live.awaited(GoalUpdated, GoalCleared, GoalRefused, request_id=wish.request_id)
    call.at_the_end(lambda: live.give_up(waiter))
    await live.submit(wish)
    return await waiter.wait()


async def _written_down(call: Call, thread_id: str, wish: SetGoal | ClearGoal) -> AnyEvent:
    """Nobody follows a thread that is not loaded, so all are told."""
    path = find_by_id(call.server.codex_home, thread_id)
    if path is None:
        raise RpcError(f"thread not found: {thread_id}")
    try:
        event = await call.server.threads.wish_for_goal(path, thread_id, wish)
    except (OSError, RolloutUnwritable) as error:
        raise RpcError(f"cannot write the goal down: {error}", code=INTERNAL_ERROR) from error
    for notice in notifications.tell(Telling(thread_id), event):
        if isinstance(notice, Notice):
            call.after_answer(partial(call.server.broadcast, notice.method, notice.params))
    return event


async def get(caller: Caller, params: ThreadGoalGetParams) -> Json:
    """As it was last told; of a thread that is not loaded, as its file has it."""
    call = call_of(caller)
    live = call.server.live.get(checked_id(params.thread_id))
    if live is not None:
        return {"goal": live.telling.goal}
    path = path_on_disk(call, params.thread_id)
    try:
        goal = await beside(lambda file: stored_goal(file, params.thread_id), path)
    except OSError as error:
        raise RpcError(f"cannot read {path}: {error.strerror}", code=INTERNAL_ERROR) from error
    return {"goal": None if goal is None else goal.to_wire()}


METHODS = (
    Method(name="thread/goal/set", params=ThreadGoalSetParams, run=set_goal),
    Method(name="thread/goal/get", params=ThreadGoalGetParams, run=get),
    Method(name="thread/goal/clear", params=ThreadGoalClearParams, run=clear),
)
