"""The configuration as `config/read` tells it: names as in the file."""

from typing import Annotated, Literal

from pydantic import Field

from pycodex.protocol.app.settings import (
    ApprovalsReviewer,
    AskForApproval,
    ReasoningEffort,
    ReasoningSummary,
    SandboxMode,
    ServiceTier,
    Verbosity,
    WebSearchMode,
)
from pycodex.protocol.app.wire import CLOSED, I64, OPEN, SNAKE, Experimental, Named, Wire


class AnalyticsConfig(Wire):
    model_config = OPEN

    enabled: bool | None = None


AppToolApproval = Annotated[Literal["auto", "prompt", "approve"], Named("AppToolApproval")]


class AppToolConfig(Wire):
    approval_mode: AppToolApproval | None = Field(default=None, alias="approval_mode")
    enabled: bool | None = None


AppToolsConfig = Annotated[dict[str, AppToolConfig], Named("AppToolsConfig")]


class AppConfig(Wire):
    model_config = SNAKE

    default_tools_approval_mode: AppToolApproval | None = None
    default_tools_enabled: bool | None = None
    destructive_enabled: bool | None = None
    enabled: bool = True
    open_world_enabled: bool | None = None
    tools: AppToolsConfig | None = None


class AppsDefaultConfig(Wire):
    model_config = SNAKE

    enabled: bool = True
    destructive_enabled: bool = True
    open_world_enabled: bool = True


class AppsConfig(Wire):
    """By the names of apps; `_default` is for those that are not named."""

    model_config = OPEN
    __pydantic_extra__: dict[str, AppConfig]

    default: Annotated[AppsDefaultConfig | None, Field(alias="_default")] = None


ForcedLoginMethod = Annotated[Literal["chatgpt", "api"], Named("ForcedLoginMethod")]


class SandboxWorkspaceWrite(Wire):
    model_config = SNAKE

    writable_roots: list[str] = Field(default_factory=list)
    network_access: bool = False
    exclude_tmpdir_env_var: bool = False
    exclude_slash_tmp: bool = False


WebSearchContextSize = Annotated[Literal["low", "medium", "high"], Named("WebSearchContextSize")]


class WebSearchLocation(Wire):
    model_config = CLOSED

    country: str | None = None
    region: str | None = None
    city: str | None = None
    timezone: str | None = None


class WebSearchToolConfig(Wire):
    model_config = CLOSED | SNAKE

    context_size: WebSearchContextSize | None = None
    allowed_domains: list[str] | None = None
    location: WebSearchLocation | None = None


class ToolsV2(Wire):
    model_config = SNAKE

    web_search: WebSearchToolConfig | None = None
    view_image: bool | None = None


class ProfileV2(Wire):
    model_config = OPEN

    model: str | None = None
    model_provider: str | None = None
    approval_policy: AskForApproval | None = None
    approvals_reviewer: ApprovalsReviewer | None = None
    service_tier: ServiceTier | None = None
    model_reasoning_effort: ReasoningEffort | None = None
    model_reasoning_summary: ReasoningSummary | None = None
    model_verbosity: Verbosity | None = None
    web_search: WebSearchMode | None = None
    tools: ToolsV2 | None = None
    chatgpt_base_url: str | None = None


class Config(Wire):
    model_config = OPEN

    model: str | None = None
    review_model: str | None = None
    model_context_window: I64 | None = None
    model_auto_compact_token_limit: I64 | None = None
    model_provider: str | None = None
    approval_policy: AskForApproval | None = None
    approvals_reviewer: ApprovalsReviewer | None = None
    sandbox_mode: SandboxMode | None = None
    sandbox_workspace_write: SandboxWorkspaceWrite | None = None
    forced_chatgpt_workspace_id: str | None = None
    forced_login_method: ForcedLoginMethod | None = None
    web_search: WebSearchMode | None = None
    tools: ToolsV2 | None = None
    profile: str | None = None
    profiles: dict[str, ProfileV2] = Field(default_factory=dict)
    instructions: str | None = None
    developer_instructions: str | None = None
    compact_prompt: str | None = None
    model_reasoning_effort: ReasoningEffort | None = None
    model_reasoning_summary: ReasoningSummary | None = None
    model_verbosity: Verbosity | None = None
    service_tier: ServiceTier | None = None
    analytics: AnalyticsConfig | None = None
    apps: Annotated[AppsConfig | None, Experimental("config/read.apps")] = None
