"""What an authorization server is asked, and what its answers mean."""

import json
from typing import Any

import pytest

from pycodex.supervisor.auth.grants import LoginFailed, LoginRefused, Pkce, RefreshFailed
from pycodex.supervisor.auth.web import WebAnswer, WebRequest
from pycodex.supervisor.mcp.authorization import Asker, Asking, Grant, refreshed, registered
from pycodex.supervisor.mcp.oauth import AuthorizationServer
from support.app_server import exactly
from support.issuer import asked_of

SERVER = AuthorizationServer(
    authorization_endpoint="https://as.example/authorize?tenant=1",
    token_endpoint="https://as.example/token",
    registration_endpoint="https://mcp.example/register",
)
ASKING = Asking(
    server=SERVER, client_id="c", redirect_uri="http://127.0.0.1:1/callback", pkce=Pkce("proof-secret", "challenge")
)


class Answering:
    def __init__(self, content: Any, status: int = 200) -> None:
        self.answer = WebAnswer(status, content if isinstance(content, str) else json.dumps(content))
        self.requests: list[WebRequest] = []

    async def send(self, request: WebRequest) -> WebAnswer:
        self.requests.append(request)
        return self.answer

    @property
    def asker(self) -> Asker:
        return Asker(send=self.send, server_url="https://mcp.example:443/mcp", headers={"x-key": "k"})


def test_the_address_keeps_what_it_has_and_says_no_more_than_it_must() -> None:
    assert ASKING.url("s") == (
        "https://as.example/authorize?tenant=1&response_type=code&client_id=c&state=s&code_challenge=challenge"
        "&code_challenge_method=S256&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcallback"
    )
    assert "scope" not in asked_of(ASKING.url("s"))


async def test_what_the_configuration_has_for_the_server_goes_to_it_alone() -> None:
    own, other = Answering({"client_id": "c"}), Answering({"access_token": "a"})
    await registered(own.asker, SERVER, "http://127.0.0.1:1/callback")
    await ASKING.grant(other.asker, "code")
    assert own.requests[0].headers["x-key"] == "k"
    assert "x-key" not in other.requests[0].headers


@pytest.mark.parametrize(
    ("content", "status", "problem"),
    [
        ({}, 200, "the answer holds no client id"),
        ({"client_id": "a\nb"}, 200, "the answer holds no client id"),
        ({"client_id": "c", "token_endpoint_auth_method": "client_secret_basic"}, 201, "only clients with a secret"),
        ({"error": "invalid_redirect_uri"}, 400, "400 Bad Request: invalid_redirect_uri"),
    ],
)
async def test_registrations_that_fail(content: Any, status: int, problem: str) -> None:
    with pytest.raises(LoginFailed, match=f"client registration failed: {problem}"):
        await registered(Answering(content, status).asker, SERVER, "http://127.0.0.1:1/callback")


@pytest.mark.parametrize(
    ("content", "grant"),
    [
        ({"access_token": "a"}, Grant(access_token="a")),
        (
            {"access_token": "a", "token_type": "BEARER", "expires_in": 9.5, "refresh_token": "r", "scope": "x y x"},
            Grant(access_token="a", refresh_token="r", expires_in_s=9, scopes=("x", "y")),
        ),
        ({"access_token": "a", "expires_in": True, "scope": 1}, Grant(access_token="a")),
        ({"access_token": "a", "expires_in": -1, "refresh_token": "r\n"}, Grant(access_token="a")),
        ({"access_token": "a", "expires_in": 1e300}, Grant(access_token="a")),
        ({"access_token": "a", "token_type": "mac"}, None),
        ({"access_token": ""}, None),
        ("[", None),
    ],
)
async def test_answers_to_a_code(content: Any, grant: Grant | None) -> None:
    asker = Answering(content).asker
    if grant is None:
        with pytest.raises(LoginFailed, match="the answer holds no bearer token"):
            await ASKING.grant(asker, "code-secret")
    else:
        assert await ASKING.grant(asker, "code-secret") == grant


async def test_no_failure_repeats_what_was_sent() -> None:
    text = "OAuth token exchange failed: 403 Forbidden: *** with ***"
    with pytest.raises(LoginFailed, match=exactly(text)):
        await ASKING.grant(Answering("code-secret with proof-secret", 403).asker, "code-secret")


@pytest.mark.parametrize(
    ("content", "status", "kind"),
    [
        ({"error": "invalid_grant", "error_description": "rt-secret"}, 400, LoginRefused),
        ({"error": "invalid_client"}, 401, LoginRefused),
        ({"error": "temporarily_unavailable"}, 400, RefreshFailed),
        ("rt-secret", 503, RefreshFailed),
        ({}, 200, RefreshFailed),
    ],
)
async def test_refusals_are_told_from_what_may_pass(content: Any, status: int, kind: type[Exception]) -> None:
    with pytest.raises(kind) as raised:
        await refreshed(
            Answering(content, status).asker,
            SERVER.token_endpoint,
            client_id="c",
            refresh_token="rt-secret",
            resource=None,
        )
    assert "secret" not in str(raised.value)
