"""What a thread runs with: approvals, sandbox, effort, personality, tier and mode."""

from typing import Annotated, Any, Literal

from pydantic import Field

from pycodex.protocol.app.wire import (
    SNAKE,
    AbsolutePathBuf,
    Experimental,
    Inline,
    Keyed,
    Named,
    Newer,
    Sparse,
    Synonyms,
    Variant,
    Wire,
)

# Newer clients say `auto_review` for what was `guardian_subagent`, and expect to hear it back.
ApprovalsReviewer = Annotated[Literal["user", "guardian_subagent", "auto_review"], Named("ApprovalsReviewer")]


class GranularAskForApprovalBody(Inline):
    model_config = SNAKE

    sandbox_approval: bool
    rules: bool
    skill_approval: bool = False
    request_permissions: bool = False
    mcp_elicitations: bool


class GranularAskForApproval(Keyed):
    experimental = Experimental("askForApproval.granular")

    granular: GranularAskForApprovalBody


AskForApproval = Annotated[
    Literal["untrusted", "on-failure", "on-request"] | GranularAskForApproval | Literal["never"],
    Named("AskForApproval"),
]


SandboxMode = Annotated[Literal["read-only", "workspace-write", "danger-full-access"], Named("SandboxMode")]


NetworkAccess = Annotated[Literal["restricted", "enabled"], Named("NetworkAccess")]


class RestrictedReadOnlyAccess(Variant):
    type: Literal["restricted"] = "restricted"
    include_platform_defaults: bool = True
    readable_roots: list[AbsolutePathBuf] = Field(default_factory=list)


class FullAccessReadOnlyAccess(Variant):
    type: Literal["fullAccess"] = "fullAccess"


ReadOnlyAccess = Annotated[
    RestrictedReadOnlyAccess | FullAccessReadOnlyAccess, Named("ReadOnlyAccess"), Field(discriminator="type")
]


class DangerFullAccessSandboxPolicy(Variant):
    type: Literal["dangerFullAccess"] = "dangerFullAccess"


class ReadOnlySandboxPolicy(Variant):
    type: Literal["readOnly"] = "readOnly"
    access: ReadOnlyAccess = Field(default_factory=FullAccessReadOnlyAccess)
    network_access: bool = False


class ExternalSandboxSandboxPolicy(Variant):
    type: Literal["externalSandbox"] = "externalSandbox"
    network_access: NetworkAccess = "restricted"


class WorkspaceWriteSandboxPolicy(Variant):
    type: Literal["workspaceWrite"] = "workspaceWrite"
    writable_roots: list[AbsolutePathBuf] = Field(default_factory=list)
    read_only_access: ReadOnlyAccess = Field(default_factory=FullAccessReadOnlyAccess)
    network_access: bool = False
    exclude_tmpdir_env_var: bool = False
    exclude_slash_tmp: bool = False


SandboxPolicy = Annotated[
    DangerFullAccessSandboxPolicy | ReadOnlySandboxPolicy | ExternalSandboxSandboxPolicy | WorkspaceWriteSandboxPolicy,
    Named("SandboxPolicy"),
    Field(discriminator="type"),
]


Personality = Annotated[Literal["none", "friendly", "pragmatic"], Named("Personality")]


# The last two are not in 0.116.
ReasoningEffort = Annotated[
    Literal["none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"], Named("ReasoningEffort")
]


ReasoningSummary = Annotated[Literal["auto", "concise", "detailed", "none"], Named("ReasoningSummary")]


# `fast` and `flex` in 0.116; any name later.
ServiceTier = Annotated[str, Named("ServiceTier")]


Verbosity = Annotated[Literal["low", "medium", "high"], Named("Verbosity")]


# What earlier names stand for.
_MODE_SYNONYMS = Synonyms(dict.fromkeys(("code", "custom", "execute", "pair_programming"), "default"))
ModeKind = Annotated[Literal["plan", "default"], Named("ModeKind"), _MODE_SYNONYMS]


class Settings(Wire):
    model_config = SNAKE

    model: str
    reasoning_effort: ReasoningEffort | None = None
    developer_instructions: str | None = None


class CollaborationMode(Wire):
    mode: ModeKind
    settings: Settings


WebSearchMode = Annotated[Literal["disabled", "cached", "live"], Named("WebSearchMode")]


class DynamicToolFunctionSpec(Wire):
    name: str
    description: str
    input_schema: Any
    defer_loading: Sparse[bool | None] = None


class DynamicToolSpec(Wire):
    """Newer clients say by `type` what it is: a function, or a namespace that holds `tools` and has no schema."""

    name: str
    description: str
    input_schema: Sparse[Any] = None
    defer_loading: Sparse[bool | None] = None
    type: Newer[str | None] = None
    tools: Newer[list[DynamicToolFunctionSpec] | None] = None
