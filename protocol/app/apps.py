"""Connected apps: what a client may show of them."""

from pydantic import Field

from pycodex.protocol.app.wire import U32, Params, Sparse, Wire


class AppBranding(Wire):
    category: str | None = None
    developer: str | None = None
    website: str | None = None
    privacy_policy: str | None = None
    terms_of_service: str | None = None
    is_discoverable_app: bool


class AppReview(Wire):
    status: str


class AppScreenshot(Wire):
    url: str | None = None
    file_id: str | None = None
    user_prompt: str


class AppMetadata(Wire):
    review: AppReview | None = None
    categories: list[str] | None = None
    sub_categories: list[str] | None = None
    seo_description: str | None = None
    screenshots: list[AppScreenshot] | None = None
    developer: str | None = None
    version: str | None = None
    version_id: str | None = None
    version_notes: str | None = None
    first_party_type: str | None = None
    first_party_requires_install: bool | None = None
    show_in_composer_when_unlinked: bool | None = None


class AppInfo(Wire):
    id: str
    name: str
    description: str | None = None
    logo_url: str | None = None
    logo_url_dark: str | None = None
    distribution_channel: str | None = None
    branding: AppBranding | None = None
    app_metadata: AppMetadata | None = None
    labels: dict[str, str] | None = None
    install_url: str | None = None
    is_accessible: bool = False
    is_enabled: bool = True
    plugin_display_names: list[str] = Field(default_factory=list)


class AppSummary(Wire):
    id: str
    name: str
    description: str | None = None
    install_url: str | None = None


class AppsListParams(Params):
    cursor: str | None = None
    limit: U32 | None = None
    thread_id: str | None = None
    force_refetch: Sparse[bool] = False


class AppsListResponse(Wire):
    data: list[AppInfo]
    next_cursor: str | None = None


class AppListUpdatedNotification(Wire):
    data: list[AppInfo]
