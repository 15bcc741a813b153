"""Notifications about one item: its beginning, its pieces, its end."""

from typing import Annotated, Any, Literal

from pycodex.protocol.app.items import ThreadItem
from pycodex.protocol.app.response_items import ResponseItem
from pycodex.protocol.app.wire import I64, U8, Named, Newer, Wire


class ItemStartedNotification(Wire):
    item: ThreadItem
    thread_id: str
    turn_id: str
    started_at_ms: Newer[I64 | None] = None


class ItemCompletedNotification(Wire):
    item: ThreadItem
    thread_id: str
    turn_id: str
    completed_at_ms: Newer[I64 | None] = None


class AgentMessageDeltaNotification(Wire):
    thread_id: str
    turn_id: str
    item_id: str
    delta: str


class PlanDeltaNotification(Wire):
    thread_id: str
    turn_id: str
    item_id: str
    delta: str


class CommandExecutionOutputDeltaNotification(Wire):
    thread_id: str
    turn_id: str
    item_id: str
    delta: str


class TerminalInteractionNotification(Wire):
    thread_id: str
    turn_id: str
    item_id: str
    process_id: str
    stdin: str


class FileChangeOutputDeltaNotification(Wire):
    thread_id: str
    turn_id: str
    item_id: str
    delta: str


class McpToolCallProgressNotification(Wire):
    thread_id: str
    turn_id: str
    item_id: str
    message: str


class ReasoningSummaryTextDeltaNotification(Wire):
    thread_id: str
    turn_id: str
    item_id: str
    delta: str
    summary_index: I64


class ReasoningSummaryPartAddedNotification(Wire):
    thread_id: str
    turn_id: str
    item_id: str
    summary_index: I64


class ReasoningTextDeltaNotification(Wire):
    thread_id: str
    turn_id: str
    item_id: str
    delta: str
    content_index: I64


class RawResponseItemCompletedNotification(Wire):
    thread_id: str
    turn_id: str
    item: ResponseItem


GuardianApprovalReviewStatus = Annotated[
    Literal["inProgress", "approved", "denied", "aborted"], Named("GuardianApprovalReviewStatus")
]


GuardianRiskLevel = Annotated[Literal["low", "medium", "high"], Named("GuardianRiskLevel")]


class GuardianApprovalReview(Wire):
    status: GuardianApprovalReviewStatus
    risk_score: U8 | None = None
    risk_level: GuardianRiskLevel | None = None
    rationale: str | None = None


class ItemGuardianApprovalReviewStartedNotification(Wire):
    thread_id: str
    turn_id: str
    target_item_id: str
    review: GuardianApprovalReview
    action: Any = None


class ItemGuardianApprovalReviewCompletedNotification(Wire):
    thread_id: str
    turn_id: str
    target_item_id: str
    review: GuardianApprovalReview
    action: Any = None
