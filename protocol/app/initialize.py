"""The first request of a connection: who the client is, and what it wants to hear."""

from pycodex.protocol.app.wire import Newer, Params, Shown, Wire


class ClientInfo(Wire):
    name: str
    title: str | None = None
    version: str


class InitializeCapabilities(Params):
    experimental_api: bool = False
    opt_out_notification_methods: list[str] | None = None


class InitializeParams(Params):
    client_info: ClientInfo
    capabilities: Shown[InitializeCapabilities | None] = None


class InitializeResponse(Wire):
    user_agent: str
    platform_family: str
    platform_os: str
    codex_home: Newer[str | None] = None
