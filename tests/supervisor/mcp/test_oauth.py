"""Whether one can log in to a server, as the server tells it."""

import pytest

from pycodex.supervisor.config.mcp_servers import HttpServer
from pycodex.supervisor.mcp.oauth import metadata_urls, wants_login
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
