"""The usual variables, read the usual way."""

import pytest

from pycodex.supervisor.net.proxies import proxy_for

P = "http://proxy:3128"


@pytest.mark.parametrize(
    ("scheme", "host", "env", "proxy"),
    [
        ("https", "api", {}, None),
        ("https", "api", {"HTTPS_PROXY": P}, P),
        ("https", "api", {"https_proxy": P, "HTTPS_PROXY": "http://other"}, P),
        ("https", "api", {"HTTP_PROXY": P}, None),
        ("http", "api", {"HTTP_PROXY": P}, P),
        ("http", "api", {"HTTP_PROXY": P, "REQUEST_METHOD": "GET"}, None),
        ("http", "api", {"ALL_PROXY": P}, P),
        ("http", "api", {"ALL_PROXY": P, "http_proxy": "http://own"}, "http://own"),
        ("http", "api", {"http_proxy": "proxy:3128"}, P),
        ("http", "api", {"http_proxy": " "}, None),
        ("http", "api", {"http_proxy": P, "CODEX_SANDBOX": "seatbelt"}, None),
        ("http", "api", {"http_proxy": P, "NO_PROXY": "*"}, None),
        ("http", "api.example.com", {"http_proxy": P, "NO_PROXY": "other, example.com"}, None),
        ("http", "api.example.com", {"http_proxy": P, "NO_PROXY": ".example.com"}, None),
        ("http", "API.Example.com", {"http_proxy": P, "no_proxy": "*.EXAMPLE.com"}, None),
        ("http", "badexample.com", {"http_proxy": P, "no_proxy": "example.com"}, P),
        ("http", "127.0.0.1", {"http_proxy": P, "no_proxy": "127.0.0.1"}, None),
        ("http", "10.1.2.3", {"http_proxy": P, "no_proxy": "10.0.0.0/8"}, None),
        ("http", "11.1.2.3", {"http_proxy": P, "no_proxy": "10.0.0.0/8,nonsense/9"}, P),
        ("http", "[::1]", {"http_proxy": P, "no_proxy": "::1"}, None),
    ],
)
def test_proxy(scheme: str, host: str, env: dict[str, str], proxy: str | None) -> None:
    assert proxy_for(scheme, host, env) == proxy
