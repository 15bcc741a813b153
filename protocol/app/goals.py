"""Goals: what a thread works towards by itself, turn after turn. Not in 0.116."""

from typing import Annotated, Literal

from pycodex.protocol.app.wire import I64, Named, Params, Wire

ThreadGoalStatus = Annotated[
    Literal["active", "paused", "blocked", "usageLimited", "budgetLimited", "complete"], Named("ThreadGoalStatus")
]


class ThreadGoal(Wire):
    thread_id: str
    objective: str
    status: ThreadGoalStatus
    token_budget: I64 | None = None
    tokens_used: I64
    time_used_seconds: I64
    created_at: I64
    updated_at: I64


class ThreadGoalSetParams(Params):
    thread_id: str
    objective: str | None = None
    status: ThreadGoalStatus | None = None
    token_budget: I64 | None = None


class ThreadGoalSetResponse(Wire):
    goal: ThreadGoal


class ThreadGoalGetParams(Params):
    thread_id: str


class ThreadGoalGetResponse(Wire):
    goal: ThreadGoal | None = None


class ThreadGoalClearParams(Params):
    thread_id: str


class ThreadGoalClearResponse(Wire):
    cleared: bool


class ThreadGoalUpdatedNotification(Wire):
    thread_id: str
    turn_id: str | None = None
    goal: ThreadGoal


class ThreadGoalClearedNotification(Wire):
    thread_id: str
