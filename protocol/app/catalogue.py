"""What can be chosen from: models, experimental features, modes of collaboration."""

from typing import Annotated, Literal

from pydantic import Field

from pycodex.protocol.app.settings import ModeKind, ReasoningEffort
from pycodex.protocol.app.wire import U32, Named, Params, Wire

InputModality = Annotated[Literal["text", "image"], Named("InputModality")]


def _text_and_image() -> list[InputModality]:
    return ["text", "image"]


class ReasoningEffortOption(Wire):
    reasoning_effort: ReasoningEffort
    description: str


class ModelAvailabilityNux(Wire):
    message: str


class ModelUpgradeInfo(Wire):
    model: str
    upgrade_copy: str | None = None
    model_link: str | None = None
    migration_markdown: str | None = None


class Model(Wire):
    id: str
    model: str
    upgrade: str | None = None
    upgrade_info: ModelUpgradeInfo | None = None
    availability_nux: ModelAvailabilityNux | None = None
    display_name: str
    description: str
    hidden: bool
    supported_reasoning_efforts: list[ReasoningEffortOption]
    default_reasoning_effort: ReasoningEffort
    input_modalities: list[InputModality] = Field(default_factory=_text_and_image)
    supports_personality: bool = False
    is_default: bool


class ModelListParams(Params):
    cursor: str | None = None
    limit: U32 | None = None
    include_hidden: bool | None = None


class ModelListResponse(Wire):
    data: list[Model]
    next_cursor: str | None = None


ExperimentalFeatureStage = Annotated[
    Literal["beta", "underDevelopment", "stable", "deprecated", "removed"], Named("ExperimentalFeatureStage")
]


class ExperimentalFeature(Wire):
    name: str
    stage: ExperimentalFeatureStage
    display_name: str | None = None
    description: str | None = None
    announcement: str | None = None
    enabled: bool
    default_enabled: bool


class ExperimentalFeatureListParams(Params):
    cursor: str | None = None
    limit: U32 | None = None


class ExperimentalFeatureListResponse(Wire):
    data: list[ExperimentalFeature]
    next_cursor: str | None = None


class CollaborationModeMask(Wire):
    name: str
    mode: ModeKind | None = None
    model: str | None = None
    reasoning_effort: ReasoningEffort | None = Field(default=None, alias="reasoning_effort")


class CollaborationModeListParams(Params):
    pass


class CollaborationModeListResponse(Wire):
    data: list[CollaborationModeMask]


class MockExperimentalMethodParams(Params):
    value: str | None = None


class MockExperimentalMethodResponse(Wire):
    echoed: str | None = None
