"""Turns: starting, steering and interrupting one, reviews, and what is told of it."""

from typing import Annotated, Any, Literal

from pydantic import Field

from pycodex.protocol.app.items import ThreadItem
from pycodex.protocol.app.settings import (
    ApprovalsReviewer,
    AskForApproval,
    CollaborationMode,
    Personality,
    ReasoningEffort,
    ReasoningSummary,
    SandboxPolicy,
    ServiceTier,
)
from pycodex.protocol.app.user_input import UserInput
from pycodex.protocol.app.wire import (
    I64,
    U16,
    Experimental,
    Inline,
    Keyed,
    Named,
    Newer,
    Params,
    PathText,
    Variant,
    Wire,
)

TurnStatus = Annotated[Literal["completed", "interrupted", "failed", "inProgress"], Named("TurnStatus")]


class HttpConnectionFailedCodexErrorInfoBody(Inline):
    http_status_code: U16 | None = None


class HttpConnectionFailedCodexErrorInfo(Keyed):
    http_connection_failed: HttpConnectionFailedCodexErrorInfoBody


class ResponseStreamConnectionFailedCodexErrorInfoBody(Inline):
    http_status_code: U16 | None = None


class ResponseStreamConnectionFailedCodexErrorInfo(Keyed):
    response_stream_connection_failed: ResponseStreamConnectionFailedCodexErrorInfoBody


class ResponseStreamDisconnectedCodexErrorInfoBody(Inline):
    http_status_code: U16 | None = None


class ResponseStreamDisconnectedCodexErrorInfo(Keyed):
    response_stream_disconnected: ResponseStreamDisconnectedCodexErrorInfoBody


class ResponseTooManyFailedAttemptsCodexErrorInfoBody(Inline):
    http_status_code: U16 | None = None


class ResponseTooManyFailedAttemptsCodexErrorInfo(Keyed):
    response_too_many_failed_attempts: ResponseTooManyFailedAttemptsCodexErrorInfoBody


CodexErrorInfo = Annotated[
    Literal["contextWindowExceeded", "usageLimitExceeded", "serverOverloaded"]
    | HttpConnectionFailedCodexErrorInfo
    | ResponseStreamConnectionFailedCodexErrorInfo
    | Literal["internalServerError", "unauthorized", "badRequest", "threadRollbackFailed", "sandboxError"]
    | ResponseStreamDisconnectedCodexErrorInfo
    | ResponseTooManyFailedAttemptsCodexErrorInfo
    | Literal["other"],
    Named("CodexErrorInfo"),
]


class TurnError(Wire):
    message: str
    codex_error_info: CodexErrorInfo | None = None
    additional_details: str | None = None


class Turn(Wire):
    id: str
    items: list[ThreadItem]
    status: TurnStatus
    error: TurnError | None = None
    started_at: Newer[I64 | None] = None
    completed_at: Newer[I64 | None] = None
    duration_ms: Newer[I64 | None] = None
    items_view: Newer[str | None] = None


class TurnStartParams(Params):
    thread_id: str
    input: list[UserInput]
    cwd: PathText | None = None
    approval_policy: AskForApproval | None = None
    approvals_reviewer: ApprovalsReviewer | None = None
    sandbox_policy: SandboxPolicy | None = None
    model: str | None = None
    service_tier: ServiceTier | None = None
    effort: ReasoningEffort | None = None
    summary: ReasoningSummary | None = None
    personality: Personality | None = None
    output_schema: Any = None
    collaboration_mode: Annotated[CollaborationMode | None, Experimental("turn/start.collaborationMode")] = None
    client_user_message_id: Newer[str | None] = None


class TurnStartResponse(Wire):
    turn: Turn


class TurnSteerParams(Params):
    thread_id: str
    input: list[UserInput]
    expected_turn_id: str
    client_user_message_id: Newer[str | None] = None


class TurnSteerResponse(Wire):
    turn_id: str


class TurnInterruptParams(Params):
    thread_id: str
    turn_id: str


class TurnInterruptResponse(Wire):
    pass


ReviewDelivery = Annotated[Literal["inline", "detached"], Named("ReviewDelivery")]


class UncommittedChangesReviewTarget(Variant):
    type: Literal["uncommittedChanges"] = "uncommittedChanges"


class BaseBranchReviewTarget(Variant):
    type: Literal["baseBranch"] = "baseBranch"
    branch: str


class CommitReviewTarget(Variant):
    type: Literal["commit"] = "commit"
    sha: str
    title: str | None = None


class CustomReviewTarget(Variant):
    type: Literal["custom"] = "custom"
    instructions: str


ReviewTarget = Annotated[
    UncommittedChangesReviewTarget | BaseBranchReviewTarget | CommitReviewTarget | CustomReviewTarget,
    Named("ReviewTarget"),
    Field(discriminator="type"),
]


class ReviewStartParams(Params):
    thread_id: str
    target: ReviewTarget
    delivery: ReviewDelivery | None = None


class ReviewStartResponse(Wire):
    turn: Turn
    review_thread_id: str
