"""A model provider as the configuration describes it: where it is and how to speak to it.

Owns the value; which one is chosen is decided in this folder, how it is used in `supervisor/model`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

RESPONSES = "responses"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One entry of `model_providers`, or a built-in one. `base_url` None means OpenAI's own."""

    id: str
    name: str
    base_url: str | None = None
    env_key: str | None = None
    env_key_instructions: str | None = None
    bearer_token: str | None = None
    wire_api: str = RESPONSES
    query_params: Mapping[str, str] = field(default_factory=dict)
    http_headers: Mapping[str, str] = field(default_factory=dict)
    env_http_headers: Mapping[str, str] = field(default_factory=dict)
    request_max_retries: int = 4
    stream_max_retries: int = 5
    stream_idle_timeout_ms: int = 300_000
    websocket_connect_timeout_ms: int = 15_000
    requires_openai_auth: bool = False
    """Whether the stored OpenAI credentials may be sent to it."""
    supports_websockets: bool = False
