"""Starting, resuming and forking a thread."""

from typing import Annotated, Any

from pycodex.protocol.app.response_items import ResponseItem
from pycodex.protocol.app.settings import (
    ApprovalsReviewer,
    AskForApproval,
    DynamicToolSpec,
    Personality,
    ReasoningEffort,
    SandboxMode,
    SandboxPolicy,
    ServiceTier,
)
from pycodex.protocol.app.threads import Thread
from pycodex.protocol.app.wire import Experimental, Newer, Params, PathText, Sparse, Wire


class ThreadStartParams(Params):
    model: str | None = None
    model_provider: str | None = None
    service_tier: ServiceTier | None = None
    cwd: str | None = None
    approval_policy: AskForApproval | None = None
    approvals_reviewer: ApprovalsReviewer | None = None
    sandbox: SandboxMode | None = None
    config: dict[str, Any] | None = None
    service_name: str | None = None
    base_instructions: str | None = None
    developer_instructions: str | None = None
    personality: Personality | None = None
    ephemeral: bool | None = None
    dynamic_tools: Annotated[list[DynamicToolSpec] | None, Experimental("thread/start.dynamicTools")] = None
    mock_experimental_field: Annotated[str | None, Experimental("thread/start.mockExperimentalField")] = None
    experimental_raw_events: Annotated[bool, Experimental("thread/start.experimentalRawEvents")] = False
    persist_extended_history: Annotated[bool, Experimental("thread/start.persistFullHistory")] = False


class ThreadStartResponse(Wire):
    thread: Thread
    model: str
    model_provider: str
    service_tier: ServiceTier | None = None
    cwd: str
    approval_policy: AskForApproval
    approvals_reviewer: ApprovalsReviewer
    sandbox: SandboxPolicy
    reasoning_effort: ReasoningEffort | None = None


class ThreadResumeParams(Params):
    thread_id: str
    history: Annotated[list[ResponseItem] | None, Experimental("thread/resume.history")] = None
    path: Annotated[PathText | None, Experimental("thread/resume.path")] = None
    model: str | None = None
    model_provider: str | None = None
    service_tier: ServiceTier | None = None
    cwd: str | None = None
    approval_policy: AskForApproval | None = None
    approvals_reviewer: ApprovalsReviewer | None = None
    sandbox: SandboxMode | None = None
    config: dict[str, Any] | None = None
    base_instructions: str | None = None
    developer_instructions: str | None = None
    personality: Personality | None = None
    persist_extended_history: Annotated[bool, Experimental("thread/resume.persistFullHistory")] = False
    exclude_turns: Newer[bool | None] = None


class ThreadResumeResponse(Wire):
    thread: Thread
    model: str
    model_provider: str
    service_tier: ServiceTier | None = None
    cwd: str
    approval_policy: AskForApproval
    approvals_reviewer: ApprovalsReviewer
    sandbox: SandboxPolicy
    reasoning_effort: ReasoningEffort | None = None


class ThreadForkParams(Params):
    thread_id: str
    path: Annotated[PathText | None, Experimental("thread/fork.path")] = None
    model: str | None = None
    model_provider: str | None = None
    service_tier: ServiceTier | None = None
    cwd: str | None = None
    approval_policy: AskForApproval | None = None
    approvals_reviewer: ApprovalsReviewer | None = None
    sandbox: SandboxMode | None = None
    config: dict[str, Any] | None = None
    base_instructions: str | None = None
    developer_instructions: str | None = None
    ephemeral: Sparse[bool] = False
    persist_extended_history: Annotated[bool, Experimental("thread/fork.persistFullHistory")] = False
    exclude_turns: Newer[bool | None] = None
    last_turn_id: Newer[str | None] = None


class ThreadForkResponse(Wire):
    thread: Thread
    model: str
    model_provider: str
    service_tier: ServiceTier | None = None
    cwd: str
    approval_policy: AskForApproval
    approvals_reviewer: ApprovalsReviewer
    sandbox: SandboxPolicy
    reasoning_effort: ReasoningEffort | None = None


class ThreadStartedNotification(Wire):
    thread: Thread
