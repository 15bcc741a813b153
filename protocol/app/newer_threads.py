"""Threads as clients newer than 0.116 ask for them: page by page, deleted, fed with items, set anew."""

from typing import Annotated, Any, Literal

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
from pycodex.protocol.app.thread_store import SortDirection
from pycodex.protocol.app.turns import Turn
from pycodex.protocol.app.wire import U32, Named, Params, PathText, Wire

TurnItemsView = Annotated[Literal["notLoaded", "summary", "full"], Named("TurnItemsView")]


class ThreadTurnsListParams(Params):
    thread_id: str
    cursor: str | None = None
    limit: U32 | None = None
    sort_direction: SortDirection | None = None
    items_view: TurnItemsView | None = None


class ThreadTurnsListResponse(Wire):
    data: list[Turn]
    next_cursor: str | None = None
    backwards_cursor: str | None = None


class ThreadItemsListParams(Params):
    thread_id: str
    turn_id: str | None = None
    cursor: str | None = None
    limit: U32 | None = None
    sort_direction: SortDirection | None = None


class ThreadItemEntry(Wire):
    turn_id: str
    item: ThreadItem


class ThreadItemsListResponse(Wire):
    data: list[ThreadItemEntry]
    next_cursor: str | None = None
    backwards_cursor: str | None = None


class ThreadDeleteParams(Params):
    thread_id: str


class ThreadDeleteResponse(Wire):
    pass


class ThreadDeletedNotification(Wire):
    thread_id: str


class ThreadInjectItemsParams(Params):
    thread_id: str
    items: list[Any]


class ThreadInjectItemsResponse(Wire):
    pass


class ThreadShellCommandParams(Params):
    thread_id: str
    command: str


class ThreadShellCommandResponse(Wire):
    pass


class ThreadSettingsUpdateParams(Params):
    thread_id: str
    cwd: PathText | None = None
    approval_policy: AskForApproval | None = None
    approvals_reviewer: ApprovalsReviewer | None = None
    sandbox_policy: SandboxPolicy | None = None
    model: str | None = None
    service_tier: ServiceTier | None = None
    effort: ReasoningEffort | None = None
    summary: ReasoningSummary | None = None
    collaboration_mode: CollaborationMode | None = None
    personality: Personality | None = None


class ThreadSettingsUpdateResponse(Wire):
    pass


class ThreadSettings(Wire):
    cwd: str
    approval_policy: AskForApproval
    approvals_reviewer: ApprovalsReviewer
    sandbox_policy: SandboxPolicy
    active_permission_profile: Any = None
    model: str
    model_provider: str
    service_tier: ServiceTier | None = None
    effort: ReasoningEffort | None = None
    summary: ReasoningSummary | None = None
    collaboration_mode: CollaborationMode
    personality: Personality | None = None


class ThreadSettingsUpdatedNotification(Wire):
    thread_id: str
    thread_settings: ThreadSettings


class WarningNotification(Wire):
    thread_id: str | None = None
    message: str
