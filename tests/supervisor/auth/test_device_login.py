"""Logging in with a code that is typed on another device."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.auth.chatgpt_login import LoginTerms
from pycodex.supervisor.auth.device_login import NoDeviceLogin, device_login, new_device_code
from pycodex.supervisor.model.headers import identity_of
from pycodex.supervisor.model.scripted import Reply, Request, refuse
from pycodex.supervisor.model.web import sender
from pycodex.supervisor.net.http import open_http
from support.issuer import ACCOUNT, Issuer, answered, open_issuer

USERCODE = "/api/accounts/deviceauth/usercode"
TOKEN = "/api/accounts/deviceauth/token"


@asynccontextmanager
async def open_terms(kept: list[Any], workspace: str | None = None) -> AsyncIterator[tuple[Issuer, LoginTerms]]:
    async def keep(document: Any) -> None:
        kept.append(document)

    identity = identity_of({}, originator="tests", client="tests; 1")
    async with open_issuer() as issuer, open_http({}) as http:
        terms = LoginTerms(
            send=sender(http, identity), keep=keep, originator="tests", issuer=issuer.url, workspace=workspace
        )
        yield issuer, terms


async def test_a_code_that_was_typed_is_a_login(mock_clock: Any) -> None:
    mock_clock.rate = 100
    kept: list[Any] = []
    async with open_terms(kept) as (issuer, terms):
        issuer.polls_before_grant = 2
        code = await new_device_code(terms)
        assert (code.url, code.user_code) == (f"{issuer.url}/codex/device", "ABCD-1234")
        await device_login(terms, code)
        polls = [request.body for request in issuer.asked(TOKEN)]
        (exchange,) = issuer.asked("/oauth/token")
    assert polls == [{"device_auth_id": "device-secret", "user_code": "ABCD-1234"}] * 3
    assert f"redirect_uri={issuer.url}/deviceauth/callback".encode() in exchange.raw.replace(b"%3A", b":").replace(
        b"%2F", b"/"
    )
    (document,) = kept
    assert (document["OPENAI_API_KEY"], document["tokens"]["account_id"]) == (None, ACCOUNT)


async def test_an_issuer_without_it_says_so() -> None:
    async with open_terms([]) as (issuer, terms):
        issuer.instead[USERCODE] = lambda _: refuse(404, "no")
        with pytest.raises(NoDeviceLogin, match=r"^device code login is not enabled for this Codex server"):
            await new_device_code(terms)


@pytest.mark.parametrize(
    ("path", "reply", "error"),
    [
        (USERCODE, lambda _: refuse(500, "x"), "device code request failed with status 500 Internal Server Error"),
        (USERCODE, lambda _: answered([]), "the issuer sent no device code"),
        (
            USERCODE,
            lambda _: answered({"device_auth_id": "d", "user_code": "\x1b[2J"}),
            "the issuer sent no device code",
        ),
        (TOKEN, lambda _: refuse(500, "x"), "device auth failed with status 500 Internal Server Error"),
        (TOKEN, lambda _: answered({}), "the issuer sent no authorization code"),
        ("/oauth/token", lambda _: refuse(400, "x"), "device code exchange failed: token endpoint returned status 400"),
    ],
)
async def test_what_goes_wrong_is_said(path: str, reply: Callable[[Request], Reply], error: str) -> None:
    kept: list[Any] = []
    async with open_terms(kept) as (issuer, terms):
        issuer.instead[path] = reply
        with pytest.raises(UserFacing, match=f"^{error}"):
            await device_login(terms, await new_device_code(terms))
    assert kept == []


async def test_another_workspace_is_not_let_in() -> None:
    async with open_terms([], workspace="ws-1") as (_, terms):
        with pytest.raises(UserFacing, match=r"^Login is restricted to workspace id ws-1\.$"):
            await device_login(terms, await new_device_code(terms))


async def test_nobody_waits_longer_than_the_code_is_good(mock_clock: Any) -> None:
    async with open_terms([]) as (issuer, terms):
        issuer.instead[USERCODE] = lambda _: answered({"device_auth_id": "d", "usercode": "A", "interval": 60})
        asked = trio.Event()

        def not_yet(_: Request) -> Reply:
            asked.set()
            return refuse(403, "not yet")

        issuer.instead[TOKEN] = not_yet
        code = await new_device_code(terms)
        assert (code.user_code, code.pause_s) == ("A", 60)
        async with trio.open_nursery() as nursery:

            async def pass_time() -> None:
                await asked.wait()
                mock_clock.jump(15 * 60 + 1)

            nursery.start_soon(pass_time)
            error = ""
            try:
                await device_login(terms, code)
            except UserFacing as failure:
                error = str(failure)
    assert error == "device auth timed out after 15 minutes"
