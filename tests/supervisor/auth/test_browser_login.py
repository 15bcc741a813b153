"""Logging in with a browser, against an issuer that is not the real one."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import trio

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.auth.browser_login import browser_login
from pycodex.supervisor.auth.chatgpt_login import LoginTerms
from pycodex.supervisor.auth.oauth import CLIENT_ID
from pycodex.supervisor.model.headers import identity_of
from pycodex.supervisor.model.scripted import Reply, Request, refuse
from pycodex.supervisor.model.web import sender
from pycodex.supervisor.net.http import open_http
from support.issuer import (
    ACCOUNT,
    API_KEY,
    CODE,
    Issuer,
    answered,
    asked_of,
    callback,
    jwt,
    open_issuer,
    sign_in,
    visit,
)


@dataclass
class Attempt:
    """One that is under way."""

    issuer: Issuer
    url: str = ""
    kept: list[dict[str, Any]] = field(default_factory=list)
    error: str | None = None
    over: trio.Event = field(default_factory=trio.Event)
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)

    @property
    def place(self) -> str:
        return asked_of(self.url)["redirect_uri"].removesuffix("/auth/callback")

    async def ended(self) -> str | None:
        await self.over.wait()
        return self.error


async def _keep_nothing(_: Any) -> None:
    raise UserFacing("the disk is full")


@asynccontextmanager
async def under_way(*, workspace: str | None = None, keeps: bool = True) -> AsyncIterator[Attempt]:
    identity = identity_of({}, originator="tests", client="tests; 1")
    async with open_issuer() as issuer, open_http({}) as http, trio.open_nursery() as nursery:
        attempt = Attempt(issuer)

        async def keep(document: dict[str, Any]) -> None:
            attempt.kept.append(document)

        terms = LoginTerms(
            send=sender(http, identity),
            keep=keep if keeps else _keep_nothing,
            originator="tests",
            issuer=issuer.url,
            workspace=workspace,
        )

        async def run(*, task_status: trio.TaskStatus[str]) -> None:
            try:
                with attempt.scope:
                    await browser_login(terms, lambda url, _: task_status.started(url), port=0)
            except UserFacing as error:
                attempt.error = str(error)
            finally:
                attempt.over.set()

        attempt.url = await nursery.start(run)
        yield attempt
        nursery.cancel_scope.cancel()


async def test_a_person_who_signs_in_is_logged_in() -> None:
    async with under_way() as attempt:
        page = await sign_in(attempt.issuer, attempt.url)
        assert await attempt.ended() is None
    assert (page.status, "logged in" in page.text) == (200, True)
    (document,) = attempt.kept
    assert document.pop("last_refresh").endswith("Z")
    tokens = {"id_token": jwt(), "access_token": "at-0-secret", "refresh_token": "rt-0-secret", "account_id": ACCOUNT}
    assert document == {"auth_mode": "chatgpt", "OPENAI_API_KEY": API_KEY, "tokens": tokens}


async def test_the_person_is_sent_there_as_the_issuer_expects() -> None:
    async with under_way(workspace="ws-1") as attempt:
        asked = asked_of(attempt.url)
    assert attempt.url.startswith(f"{attempt.issuer.url}/oauth/authorize?response_type=code&client_id={CLIENT_ID}&")
    assert len(asked.pop("state")) == 43
    assert len(asked.pop("code_challenge")) == 43
    assert asked.pop("redirect_uri") == f"{attempt.place}/auth/callback"
    assert attempt.place.startswith("http://localhost:")
    assert asked == {
        "response_type": "code",
        "client_id": CLIENT_ID,
        "scope": "openid profile email offline_access api.connectors.read api.connectors.invoke",
        "code_challenge_method": "S256",
        "id_token_add_organizations": "true",
        "codex_cli_simplified_flow": "true",
        "originator": "tests",
        "allowed_workspace_id": "ws-1",
    }


async def test_no_secret_is_in_an_address_or_a_page() -> None:
    async with under_way() as attempt:
        attempt.issuer.challenge = asked_of(attempt.url)["code_challenge"]
        seen = await visit(callback(attempt.url, code=CODE))
        page = await visit(seen.headers["location"])
        assert await attempt.ended() is None
    assert seen.headers["location"] == f"{attempt.place}/success"
    assert "secret" not in json.dumps([seen.headers, seen.text, page.headers, page.text, attempt.url])
    assert page.headers["cache-control"] == "no-store"


async def test_a_wrong_state_is_refused_and_the_login_goes_on() -> None:
    async with under_way() as attempt:
        for url in (callback(attempt.url, code=CODE, state="wrong"), f"{attempt.place}/auth/callback?code={CODE}"):
            seen = await visit(url)
            assert (seen.status, seen.text) == (400, "State mismatch")
        assert attempt.issuer.asked("/oauth/token") == []
        await sign_in(attempt.issuer, attempt.url)
        assert await attempt.ended() is None


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"error": "access_denied"}, "Sign-in failed: access_denied"),
        ({"error": "x", "error_description": "Not%20%3Cb%3Eyou"}, "Sign-in failed: Not <b>you"),
        (
            {"error": "access_denied", "error_description": "missing_codex_entitlement"},
            "Codex is not enabled for your workspace. Contact your workspace administrator to request access to Codex.",
        ),
        ({}, "Missing authorization code. Sign-in could not be completed."),
        (
            {"code": "stolen-secret"},
            "Token exchange failed: token endpoint returned status 400 Bad Request: bad code ***",
        ),
    ],
)
async def test_a_callback_that_brings_no_login(fields: dict[str, str], error: str) -> None:
    async with under_way() as attempt:
        page = await visit(callback(attempt.url, **fields))
        assert await attempt.ended() == error
    assert page.status == 200
    assert "<b>" not in page.text
    assert "secret" not in page.text
    assert attempt.kept == []


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (
            lambda _: refuse(500, "down"),
            "Token exchange failed: token endpoint returned status 500 Internal Server Error: down",
        ),
        (lambda _: answered({"access_token": "a"}), "Token exchange failed: the token endpoint did not send all of"),
        (lambda _: Reply(cut_at=0, body=b"x"), "Token exchange failed: the token endpoint did not send all of"),
    ],
)
async def test_an_issuer_that_fails(reply: Callable[[Request], Reply], error: str) -> None:
    async with under_way() as attempt:
        attempt.issuer.instead["/oauth/token"] = reply
        await visit(callback(attempt.url, code=CODE))
        assert (await attempt.ended() or "").startswith(error)


async def test_another_workspace_is_not_let_in() -> None:
    async with under_way(workspace="ws-1") as attempt:
        await sign_in(attempt.issuer, attempt.url)
        assert await attempt.ended() == "Login is restricted to workspace id ws-1."
    assert attempt.kept == []


async def test_a_login_that_cannot_be_kept_is_none() -> None:
    async with under_way(keeps=False) as attempt:
        page = await sign_in(attempt.issuer, attempt.url)
        assert await attempt.ended() == "the disk is full"
    assert "did not come about" in page.text


async def test_a_program_may_cancel_but_no_web_page() -> None:
    async with under_way() as attempt:
        for header in ({"Origin": "http://evil"}, {"Sec_Fetch_Site": "cross-site"}):
            assert (await visit(f"{attempt.place}/cancel", **header)).status == 403
        assert not attempt.over.is_set()
        seen = await visit(f"{attempt.place}/cancel")
        assert (seen.status, seen.text) == (200, "Login cancelled")
        assert await attempt.ended() == "Login cancelled"


async def test_success_is_no_success_before_there_is_a_login() -> None:
    async with under_way() as attempt:
        assert (await visit(f"{attempt.place}/success")).status == 404
        assert (await visit(f"{attempt.place}/other")).status == 404
        assert not attempt.over.is_set()


async def test_a_login_counts_even_if_the_browser_never_sees_the_last_page(mock_clock: Any) -> None:
    mock_clock.rate = 50
    async with under_way() as attempt:
        attempt.issuer.challenge = asked_of(attempt.url)["code_challenge"]
        assert (await visit(callback(attempt.url, code=CODE))).status == 302
        assert await attempt.ended() is None
    assert len(attempt.kept) == 1


async def test_nobody_listens_any_more_when_it_was_cancelled() -> None:
    async with under_way() as attempt:
        attempt.scope.cancel()
        await attempt.over.wait()
        with pytest.raises(OSError, match="all attempts to connect"):
            await visit(f"{attempt.place}/success")
