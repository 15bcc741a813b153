"""Whether one can log in to a server, as the server tells it."""

import pytest

from pycodex.supervisor.config.mcp_servers import HttpServer
from pycodex.supervisor.mcp.oauth import Unsafe, check_place, metadata_urls, scopes_in, wants_login
from support.mcp_http import serve_mcp

WELL_KNOWN = "/.well-known/oauth-authorization-server"


@pytest.mark.parametrize(
    ("url", "places"),
    [
        (
            "https://host:1/a/mcp/?key=1",
            [f"https://host:1{WELL_KNOWN}/a/mcp", f"https://host:1/a/mcp{WELL_KNOWN}", f"https://host:1{WELL_KNOWN}"],
        ),
        ("http://host", [f"http://host{WELL_KNOWN}"]),
    ],
)
def test_where_a_server_may_tell_it(url: str, places: list[str]) -> None:
    assert list(metadata_urls(url)) == places


@pytest.mark.parametrize(
    ("place", "wants"),
    [(f"{WELL_KNOWN}/mcp", True), (f"/mcp{WELL_KNOWN}", True), (WELL_KNOWN, True), (None, False)],
)
async def test_wherever_it_is_told_it_is_found(place: str | None, wants: bool) -> None:
    with serve_mcp(metadata_at=place) as told:
        assert await wants_login(HttpServer(url=told.url), {}) is wants


async def test_where_nobody_is_nobody_can_log_in() -> None:
    assert await wants_login(HttpServer(url="http://127.0.0.1:1/mcp"), {}) is False


@pytest.mark.parametrize(
    ("url", "server_url", "is_safe"),
    [
        ("https://as.example/token", "https://mcp.example/mcp", True),
        ("https://as.example/token", "http://127.0.0.1:1/mcp", True),
        ("http://localhost:2/token", "http://127.0.0.1:1/mcp", True),
        ("http://[::1]:2/token", "http://localhost:1/mcp", True),
        ("http://as.example/token", "http://127.0.0.1:1/mcp", False),
        ("http://127.0.0.1/token", "https://mcp.example/mcp", False),
        ("http://mcp.example/token", "http://mcp.example/mcp", False),
        ("https://user:secret@as.example/token", "https://mcp.example/mcp", False),
        ("https://as.example/a b\n", "https://mcp.example/mcp", False),
        ("https:///token", "https://mcp.example/mcp", False),
        ("https://[bad/token", "https://mcp.example/mcp", False),
        ("ftp://as.example/token", "https://mcp.example/mcp", False),
        ("https://as.example/" + "x" * 5000, "https://mcp.example/mcp", False),
    ],
)
def test_to_which_places_a_login_may_lead(url: str, server_url: str, is_safe: bool) -> None:
    if is_safe:
        assert check_place(url, server_url) == url
    else:
        with pytest.raises(Unsafe) as raised:
            check_place(url, server_url)
        assert "secret" not in str(raised.value)


def test_what_can_be_a_scope() -> None:
    assert scopes_in(["a", " b ", "a", "", 1, "é", "c\n d"]) == ("a", "b")
    assert scopes_in("a b") == ()
    assert len(scopes_in([str(number) for number in range(1000)])) == 100
