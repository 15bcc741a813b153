"""Reading and writing the configuration, its layers, and what it requires."""

from typing import Annotated, Any, Literal

from pydantic import Field

from pycodex.protocol.app.config_values import Config
from pycodex.protocol.app.settings import AskForApproval, SandboxMode, WebSearchMode
from pycodex.protocol.app.wire import U16, AbsolutePathBuf, Experimental, Named, Params, Sparse, Usize, Variant, Wire


class MdmConfigLayerSource(Variant):
    type: Literal["mdm"] = "mdm"
    domain: str
    key: str


class SystemConfigLayerSource(Variant):
    type: Literal["system"] = "system"
    file: AbsolutePathBuf


class UserConfigLayerSource(Variant):
    type: Literal["user"] = "user"
    file: AbsolutePathBuf


class ProjectConfigLayerSource(Variant):
    type: Literal["project"] = "project"
    dot_codex_folder: AbsolutePathBuf


class SessionFlagsConfigLayerSource(Variant):
    type: Literal["sessionFlags"] = "sessionFlags"


class LegacyManagedConfigTomlFromFileConfigLayerSource(Variant):
    type: Literal["legacyManagedConfigTomlFromFile"] = "legacyManagedConfigTomlFromFile"
    file: AbsolutePathBuf


class LegacyManagedConfigTomlFromMdmConfigLayerSource(Variant):
    type: Literal["legacyManagedConfigTomlFromMdm"] = "legacyManagedConfigTomlFromMdm"


ConfigLayerSource = Annotated[
    MdmConfigLayerSource
    | SystemConfigLayerSource
    | UserConfigLayerSource
    | ProjectConfigLayerSource
    | SessionFlagsConfigLayerSource
    | LegacyManagedConfigTomlFromFileConfigLayerSource
    | LegacyManagedConfigTomlFromMdmConfigLayerSource,
    Named("ConfigLayerSource"),
    Field(discriminator="type"),
]


class ConfigLayerMetadata(Wire):
    name: ConfigLayerSource
    version: str


class ConfigLayer(Wire):
    name: ConfigLayerSource
    version: str
    config: Any
    disabled_reason: str | None = None


class ConfigReadParams(Params):
    include_layers: bool = False
    cwd: str | None = None


class ConfigReadResponse(Wire):
    config: Config
    origins: dict[str, ConfigLayerMetadata]
    layers: list[ConfigLayer] | None = None


MergeStrategy = Annotated[Literal["replace", "upsert"], Named("MergeStrategy")]


class ConfigValueWriteParams(Params):
    key_path: str
    value: Any
    merge_strategy: MergeStrategy
    file_path: str | None = None
    expected_version: str | None = None


class ConfigEdit(Wire):
    key_path: str
    value: Any
    merge_strategy: MergeStrategy


class ConfigBatchWriteParams(Params):
    edits: list[ConfigEdit]
    file_path: str | None = None
    expected_version: str | None = None
    reload_user_config: Sparse[bool] = False


WriteStatus = Annotated[Literal["ok", "okOverridden"], Named("WriteStatus")]


class OverriddenMetadata(Wire):
    message: str
    overriding_layer: ConfigLayerMetadata
    effective_value: Any


class ConfigWriteResponse(Wire):
    status: WriteStatus
    version: str
    file_path: AbsolutePathBuf
    overridden_metadata: OverriddenMetadata | None = None


ResidencyRequirement = Annotated[Literal["us"], Named("ResidencyRequirement")]


class NetworkRequirements(Wire):
    enabled: bool | None = None
    http_port: U16 | None = None
    socks_port: U16 | None = None
    allow_upstream_proxy: bool | None = None
    dangerously_allow_non_loopback_proxy: bool | None = None
    dangerously_allow_all_unix_sockets: bool | None = None
    allowed_domains: list[str] | None = None
    denied_domains: list[str] | None = None
    allow_unix_sockets: list[str] | None = None
    allow_local_binding: bool | None = None


class ConfigRequirements(Wire):
    allowed_approval_policies: list[AskForApproval] | None = None
    allowed_sandbox_modes: list[SandboxMode] | None = None
    allowed_web_search_modes: list[WebSearchMode] | None = None
    feature_requirements: dict[str, bool] | None = None
    enforce_residency: ResidencyRequirement | None = None
    network: Annotated[NetworkRequirements | None, Experimental("configRequirements/read.network")] = None


class ConfigRequirementsReadResponse(Wire):
    requirements: ConfigRequirements | None = None


class TextPosition(Wire):
    line: Usize
    column: Usize


class TextRange(Wire):
    start: TextPosition
    end: TextPosition


class ConfigWarningNotification(Wire):
    summary: str
    details: str | None = None
    path: Sparse[str | None] = None
    range: Sparse[TextRange | None] = None


class DeprecationNoticeNotification(Wire):
    summary: str
    details: str | None = None
