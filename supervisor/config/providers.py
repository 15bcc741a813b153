"""Model providers: the built-in ones, the user's own, and which one is used.

Owns the translation of `[model_providers]` into values and the choice, `--oss` included. Takes checked settings;
contacts nobody.
"""

from collections.abc import Mapping
from typing import Any

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.config.provider import Provider

OPENAI = "openai"
OLLAMA = "ollama"
LMSTUDIO = "lmstudio"
DEFAULT_MODELS = {OLLAMA: "gpt-oss:20b", LMSTUDIO: "openai/gpt-oss-20b"}

BASE_URL_WARNING = "`OPENAI_BASE_URL` is deprecated. Set `openai_base_url` in config.toml instead."

_OSS_PORTS = {OLLAMA: 11434, LMSTUDIO: 1234}
_MOST_RETRIES = 100
_REFERENCE_VERSION = "0.116.0"
_OLLAMA_CHAT = (
    "`ollama-chat` is no longer supported.\n"
    "How to fix: replace `ollama-chat` with `ollama` in `model_provider`, `oss_provider`, or `--local-provider`.\n"
    "More info: https://github.com/openai/codex/discussions/7782"
)
_NO_OSS_PROVIDER = (
    "No default OSS provider configured. Use --local-provider=provider or set oss_provider to one of: lmstudio, ollama "
    "in config.toml"
)
_SAME_NAMES = (
    "name",
    "base_url",
    "env_key",
    "env_key_instructions",
    "wire_api",
    "query_params",
    "http_headers",
    "env_http_headers",
    "stream_idle_timeout_ms",
    "websocket_connect_timeout_ms",
    "requires_openai_auth",
    "supports_websockets",
)


def openai_base_url(values: Mapping[str, Any], env: Mapping[str, str], warnings: list[str]) -> str | None:
    """The configured address; an environment variable of old only where there is none."""
    configured: str | None = values.get("openai_base_url") or None
    inherited = env.get("OPENAI_BASE_URL") or None
    if inherited is not None and configured is None:
        warnings.append(BASE_URL_WARNING)
    return configured or inherited


def all_providers(values: Mapping[str, Any], env: Mapping[str, str], base_url: str | None) -> dict[str, Provider]:
    found = {OPENAI: _openai(base_url), **{name: _local(name, env) for name in _OSS_PORTS}}
    for name, table in values.get("model_providers", {}).items():
        found[name] = _configured(name, table)
    return found


def _openai(base_url: str | None) -> Provider:
    return Provider(
        id=OPENAI,
        name="OpenAI",
        base_url=base_url,
        http_headers={"version": _REFERENCE_VERSION},
        env_http_headers={"OpenAI-Organization": "OPENAI_ORGANIZATION", "OpenAI-Project": "OPENAI_PROJECT"},
        requires_openai_auth=True,
        supports_websockets=base_url is None,
    )


def _local(name: str, env: Mapping[str, str]) -> Provider:
    asked = env.get("CODEX_OSS_PORT", "").removeprefix("+")
    is_port = asked.isascii() and asked.isdecimal() and int(asked) < 1 << 16
    base_url = env.get("CODEX_OSS_BASE_URL", "")
    if not base_url.strip():
        base_url = f"http://localhost:{int(asked) if is_port else _OSS_PORTS[name]}/v1"
    return Provider(id=name, name="gpt-oss", base_url=base_url)


def _configured(name: str, table: Mapping[str, Any]) -> Provider:
    given = {key: table[key] for key in _SAME_NAMES if key in table}
    for key in ("request_max_retries", "stream_max_retries"):
        if key in table:
            given[key] = min(table[key], _MOST_RETRIES)
    return Provider(id=name, bearer_token=table.get("experimental_bearer_token"), **given)


def chosen_provider(providers: Mapping[str, Provider], name: str) -> Provider:
    if name in providers:
        return providers[name]
    raise UserFacing(_OLLAMA_CHAT if name == "ollama-chat" else f"Model provider `{name}` not found")


def oss_provider(local_provider: str | None, profile: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """The name of the local provider that `--oss` asks for."""
    name = local_provider or profile.get("oss_provider") or values.get("oss_provider")
    if not name:
        raise UserFacing(_NO_OSS_PROVIDER)
    return str(name)
