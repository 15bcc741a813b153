"""Notifications about a turn as a whole: its course, diff, plan, usage and errors."""

from typing import Annotated, Literal

from pycodex.protocol.app.turns import Turn, TurnError
from pycodex.protocol.app.wire import I64, Named, Wire


class TurnStartedNotification(Wire):
    thread_id: str
    turn: Turn


class TurnCompletedNotification(Wire):
    thread_id: str
    turn: Turn


class TurnDiffUpdatedNotification(Wire):
    thread_id: str
    turn_id: str
    diff: str


TurnPlanStepStatus = Annotated[Literal["pending", "inProgress", "completed"], Named("TurnPlanStepStatus")]


class TurnPlanStep(Wire):
    step: str
    status: TurnPlanStepStatus


class TurnPlanUpdatedNotification(Wire):
    thread_id: str
    turn_id: str
    explanation: str | None = None
    plan: list[TurnPlanStep]


class ErrorNotification(Wire):
    error: TurnError
    will_retry: bool
    thread_id: str
    turn_id: str


class TokenUsageBreakdown(Wire):
    total_tokens: I64
    input_tokens: I64
    cached_input_tokens: I64
    output_tokens: I64
    reasoning_output_tokens: I64


class ThreadTokenUsage(Wire):
    total: TokenUsageBreakdown
    last: TokenUsageBreakdown
    model_context_window: I64 | None = None


class ThreadTokenUsageUpdatedNotification(Wire):
    thread_id: str
    turn_id: str
    token_usage: ThreadTokenUsage


class ContextCompactedNotification(Wire):
    thread_id: str
    turn_id: str


ModelRerouteReason = Annotated[Literal["highRiskCyberActivity"], Named("ModelRerouteReason")]


class ModelReroutedNotification(Wire):
    thread_id: str
    turn_id: str
    from_model: str
    to_model: str
    reason: ModelRerouteReason
