"""Plugins and the marketplaces that offer them."""

from typing import Annotated, Literal

from pycodex.protocol.app.apps import AppSummary
from pycodex.protocol.app.skills import SkillSummary
from pycodex.protocol.app.wire import AbsolutePathBuf, Named, Params, Sparse, Variant, Wire

PluginAuthPolicy = Annotated[Literal["ON_INSTALL", "ON_USE"], Named("PluginAuthPolicy")]


PluginInstallPolicy = Annotated[
    Literal["NOT_AVAILABLE", "AVAILABLE", "INSTALLED_BY_DEFAULT"], Named("PluginInstallPolicy")
]


class LocalPluginSource(Variant):
    type: Literal["local"] = "local"
    path: AbsolutePathBuf


PluginSource = Annotated[LocalPluginSource, Named("PluginSource")]


class PluginInterface(Wire):
    display_name: str | None = None
    short_description: str | None = None
    long_description: str | None = None
    developer_name: str | None = None
    category: str | None = None
    capabilities: list[str]
    website_url: str | None = None
    privacy_policy_url: str | None = None
    terms_of_service_url: str | None = None
    default_prompt: list[str] | None = None
    brand_color: str | None = None
    composer_icon: AbsolutePathBuf | None = None
    logo: AbsolutePathBuf | None = None
    screenshots: list[AbsolutePathBuf]


class PluginSummary(Wire):
    id: str
    name: str
    source: PluginSource
    installed: bool
    enabled: bool
    install_policy: PluginInstallPolicy
    auth_policy: PluginAuthPolicy
    interface: PluginInterface | None = None


class PluginDetail(Wire):
    marketplace_name: str
    marketplace_path: AbsolutePathBuf
    summary: PluginSummary
    description: str | None = None
    skills: list[SkillSummary]
    apps: list[AppSummary]
    mcp_servers: list[str]


class MarketplaceInterface(Wire):
    display_name: str | None = None


class PluginMarketplaceEntry(Wire):
    name: str
    path: AbsolutePathBuf
    interface: MarketplaceInterface | None = None
    plugins: list[PluginSummary]


class PluginListParams(Params):
    cwds: list[AbsolutePathBuf] | None = None
    force_remote_sync: Sparse[bool] = False


class PluginListResponse(Wire):
    marketplaces: list[PluginMarketplaceEntry]
    remote_sync_error: str | None = None


class PluginReadParams(Params):
    marketplace_path: AbsolutePathBuf
    plugin_name: str


class PluginReadResponse(Wire):
    plugin: PluginDetail


class PluginInstallParams(Params):
    marketplace_path: AbsolutePathBuf
    plugin_name: str
    force_remote_sync: Sparse[bool] = False


class PluginInstallResponse(Wire):
    auth_policy: PluginAuthPolicy
    apps_needing_auth: list[AppSummary]


class PluginUninstallParams(Params):
    plugin_id: str
    force_remote_sync: Sparse[bool] = False


class PluginUninstallResponse(Wire):
    pass
