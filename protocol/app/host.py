"""What belongs to the machine, not to a thread: feedback, other agents' settings, the Windows sandbox."""

from typing import Annotated, Literal

from pycodex.protocol.app.wire import AbsolutePathBuf, Named, Params, PathText, Sparse, Usize, Wire


class FeedbackUploadParams(Params):
    classification: str
    reason: str | None = None
    thread_id: str | None = None
    include_logs: bool
    extra_log_files: list[PathText] | None = None


class FeedbackUploadResponse(Wire):
    thread_id: str


ExternalAgentConfigMigrationItemType = Annotated[
    Literal["AGENTS_MD", "CONFIG", "SKILLS", "MCP_SERVER_CONFIG"], Named("ExternalAgentConfigMigrationItemType")
]


class ExternalAgentConfigMigrationItem(Wire):
    item_type: ExternalAgentConfigMigrationItemType
    description: str
    cwd: PathText | None = None


class ExternalAgentConfigDetectParams(Params):
    include_home: Sparse[bool] = False
    cwds: list[PathText] | None = None


class ExternalAgentConfigDetectResponse(Wire):
    items: list[ExternalAgentConfigMigrationItem]


class ExternalAgentConfigImportParams(Params):
    migration_items: list[ExternalAgentConfigMigrationItem]


class ExternalAgentConfigImportResponse(Wire):
    pass


WindowsSandboxSetupMode = Annotated[Literal["elevated", "unelevated"], Named("WindowsSandboxSetupMode")]


class WindowsSandboxSetupStartParams(Params):
    mode: WindowsSandboxSetupMode
    cwd: AbsolutePathBuf | None = None


class WindowsSandboxSetupStartResponse(Wire):
    started: bool


class WindowsSandboxSetupCompletedNotification(Wire):
    mode: WindowsSandboxSetupMode
    success: bool
    error: str | None = None


class WindowsWorldWritableWarningNotification(Wire):
    sample_paths: list[str]
    extra_count: Usize
    failed_scan: bool
