"""Skills: what was found where, and which are enabled."""

from typing import Annotated, Literal

from pydantic import Field

from pycodex.protocol.app.wire import Named, Params, PathText, Sparse, Wire

SkillScope = Annotated[Literal["user", "repo", "system", "admin"], Named("SkillScope")]


class SkillInterface(Wire):
    display_name: Sparse[str | None] = None
    short_description: Sparse[str | None] = None
    icon_small: Sparse[str | None] = None
    icon_large: Sparse[str | None] = None
    brand_color: Sparse[str | None] = None
    default_prompt: Sparse[str | None] = None


class SkillToolDependency(Wire):
    type: str
    value: str
    description: Sparse[str | None] = None
    transport: Sparse[str | None] = None
    command: Sparse[str | None] = None
    url: Sparse[str | None] = None


class SkillDependencies(Wire):
    tools: list[SkillToolDependency]


class SkillMetadata(Wire):
    name: str
    description: str
    short_description: Sparse[str | None] = None
    interface: Sparse[SkillInterface | None] = None
    dependencies: Sparse[SkillDependencies | None] = None
    path: str
    scope: SkillScope
    enabled: bool


class SkillSummary(Wire):
    name: str
    description: str
    short_description: str | None = None
    interface: SkillInterface | None = None
    path: str


class SkillErrorInfo(Wire):
    path: str
    message: str


class SkillsListEntry(Wire):
    cwd: str
    skills: list[SkillMetadata]
    errors: list[SkillErrorInfo]


class SkillsListExtraRootsForCwd(Wire):
    cwd: PathText
    extra_user_roots: list[PathText]


class SkillsListParams(Params):
    cwds: Sparse[list[PathText]] = Field(default_factory=list)
    force_reload: Sparse[bool] = False
    per_cwd_extra_user_roots: Sparse[list[SkillsListExtraRootsForCwd] | None] = None


class SkillsListResponse(Wire):
    data: list[SkillsListEntry]


class SkillsConfigWriteParams(Params):
    path: PathText
    enabled: bool


class SkillsConfigWriteResponse(Wire):
    effective_enabled: bool


class SkillsChangedNotification(Wire):
    pass
