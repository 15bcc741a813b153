"""Programs that run at certain points of a turn, and how they went."""

from typing import Annotated, Any, Literal

from pydantic import Field

from pycodex.protocol.app.wire import I64, Named, Params, PathText, Sparse, Wire

HookEventName = Annotated[Literal["sessionStart", "userPromptSubmit", "stop"], Named("HookEventName")]


HookHandlerType = Annotated[Literal["command", "prompt", "agent"], Named("HookHandlerType")]


HookExecutionMode = Annotated[Literal["sync", "async"], Named("HookExecutionMode")]


HookScope = Annotated[Literal["thread", "turn"], Named("HookScope")]


HookRunStatus = Annotated[Literal["running", "completed", "failed", "blocked", "stopped"], Named("HookRunStatus")]


HookOutputEntryKind = Annotated[
    Literal["warning", "stop", "feedback", "context", "error"], Named("HookOutputEntryKind")
]


class HookOutputEntry(Wire):
    kind: HookOutputEntryKind
    text: str


class HookRunSummary(Wire):
    id: str
    event_name: HookEventName
    handler_type: HookHandlerType
    execution_mode: HookExecutionMode
    scope: HookScope
    source_path: str
    display_order: I64
    status: HookRunStatus
    status_message: str | None = None
    started_at: I64
    completed_at: I64 | None = None
    duration_ms: I64 | None = None
    entries: list[HookOutputEntry]


class HookCompletedNotification(Wire):
    thread_id: str
    turn_id: str | None = None
    run: HookRunSummary


class HookStartedNotification(Wire):
    thread_id: str
    turn_id: str | None = None
    run: HookRunSummary


# What follows is not in 0.116.


class HooksListParams(Params):
    cwds: Sparse[list[PathText]] = Field(default_factory=list)


class HooksListEntry(Wire):
    cwd: str
    hooks: list[Any]
    warnings: list[str]
    errors: list[Any]


class HooksListResponse(Wire):
    data: list[HooksListEntry]
