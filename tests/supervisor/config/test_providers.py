"""Providers as values."""

import pytest

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.config.provider import Provider
from pycodex.supervisor.config.providers import (
    BASE_URL_WARNING,
    all_providers,
    chosen_provider,
    openai_base_url,
)


def test_built_in_openai() -> None:
    assert all_providers({}, {}, None)["openai"] == Provider(
        id="openai",
        name="OpenAI",
        http_headers={"version": "0.116.0"},
        env_http_headers={"OpenAI-Organization": "OPENAI_ORGANIZATION", "OpenAI-Project": "OPENAI_PROJECT"},
        requires_openai_auth=True,
        supports_websockets=True,
    )


def test_openai_elsewhere_is_not_asked_for_a_websocket() -> None:
    provider = all_providers({}, {}, "http://localhost/v1")["openai"]
    assert (provider.base_url, provider.supports_websockets) == ("http://localhost/v1", False)


@pytest.mark.parametrize(
    ("env", "ollama", "lmstudio"),
    [
        ({}, "http://localhost:11434/v1", "http://localhost:1234/v1"),
        ({"CODEX_OSS_PORT": "99"}, "http://localhost:99/v1", "http://localhost:99/v1"),
        ({"CODEX_OSS_PORT": "99999"}, "http://localhost:11434/v1", "http://localhost:1234/v1"),
        ({"CODEX_OSS_PORT": "x"}, "http://localhost:11434/v1", "http://localhost:1234/v1"),
        ({"CODEX_OSS_PORT": "99", "CODEX_OSS_BASE_URL": "http://h/v1"}, "http://h/v1", "http://h/v1"),
        ({"CODEX_OSS_BASE_URL": "  "}, "http://localhost:11434/v1", "http://localhost:1234/v1"),
    ],
)
def test_local_providers(env: dict[str, str], ollama: str, lmstudio: str) -> None:
    found = all_providers({}, env, None)
    assert found["ollama"] == Provider(id="ollama", name="gpt-oss", base_url=ollama)
    assert found["lmstudio"].base_url == lmstudio


def test_own_provider_has_all_its_keys() -> None:
    table = {
        "name": "Mine",
        "base_url": "http://h/v1",
        "env_key": "K",
        "env_key_instructions": "get one",
        "experimental_bearer_token": "t",
        "wire_api": "responses",
        "query_params": {"a": "b"},
        "http_headers": {"c": "d"},
        "env_http_headers": {"e": "F"},
        "request_max_retries": 1000,
        "stream_max_retries": 7,
        "stream_idle_timeout_ms": 1,
        "websocket_connect_timeout_ms": 2,
        "requires_openai_auth": True,
        "supports_websockets": True,
    }
    assert all_providers({"model_providers": {"mine": table}}, {}, None)["mine"] == Provider(
        id="mine",
        name="Mine",
        base_url="http://h/v1",
        env_key="K",
        env_key_instructions="get one",
        bearer_token="t",
        query_params={"a": "b"},
        http_headers={"c": "d"},
        env_http_headers={"e": "F"},
        request_max_retries=100,
        stream_max_retries=7,
        stream_idle_timeout_ms=1,
        websocket_connect_timeout_ms=2,
        requires_openai_auth=True,
        supports_websockets=True,
    )


def test_own_provider_has_the_usual_defaults() -> None:
    provider = all_providers({"model_providers": {"mine": {"name": "Mine"}}}, {}, None)["mine"]
    assert provider == Provider(id="mine", name="Mine")
    assert (provider.request_max_retries, provider.stream_max_retries) == (4, 5)


@pytest.mark.parametrize(
    ("configured", "inherited", "expected", "warns"),
    [
        (None, None, None, False),
        ("http://c", None, "http://c", False),
        (None, "http://e", "http://e", True),
        ("http://c", "http://e", "http://c", False),
        ("", "http://e", "http://e", True),
        ("", "", None, False),
    ],
)
def test_environment_stands_below_the_configuration(
    configured: str | None, inherited: str | None, expected: str | None, warns: bool
) -> None:
    warnings: list[str] = []
    values = {} if configured is None else {"openai_base_url": configured}
    env = {} if inherited is None else {"OPENAI_BASE_URL": inherited}
    assert openai_base_url(values, env, warnings) == expected
    assert warnings == ([BASE_URL_WARNING] if warns else [])


def test_unknown_provider_is_told() -> None:
    with pytest.raises(UserFacing) as caught:
        chosen_provider(all_providers({}, {}, None), "nope")
    assert str(caught.value) == "Model provider `nope` not found"
