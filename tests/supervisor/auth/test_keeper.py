"""Tokens are renewed in time, once, and without harm to what else is stored."""

import json
import logging
import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.auth.auth_file import StoredLogin
from pycodex.supervisor.auth.grants import LoginRefused, RefreshFailed
from pycodex.supervisor.auth.keeper import LoginKeeper
from pycodex.supervisor.auth.web import WebAnswer, WebRequest
from pycodex.supervisor.model.headers import identity_of
from pycodex.supervisor.model.scripted import Hold, Reply, Request, refuse
from pycodex.supervisor.model.web import sender
from pycodex.supervisor.net.http import open_http
from support.issuer import OLD, Issuer, answered, open_issuer, store, stored_login

TOKEN = "/oauth/token"


@asynccontextmanager
async def open_keeper(home: Path) -> AsyncIterator[tuple[Issuer, LoginKeeper]]:
    identity = identity_of({}, originator="tests", client="tests; 1")
    async with open_issuer() as issuer, open_http({}) as http, trio.open_nursery() as nursery:
        yield (
            issuer,
            LoginKeeper(str(home), env=issuer.env, send=sender(http, identity), spawn=nursery.start_soon),
        )
        nursery.cancel_scope.cancel()


async def current(keeper: LoginKeeper, kind: str = "file") -> StoredLogin:
    login = await keeper.current(kind)
    assert login is not None
    return login


async def failure_of(keeper: LoginKeeper, login: StoredLogin) -> UserFacing:
    try:
        await keeper.renewed("file", login)
    except UserFacing as error:
        return error
    raise AssertionError("it was renewed")


async def test_recent_tokens_are_left_alone(tmp_path: Path) -> None:
    path = store(tmp_path, stored_login())
    before = path.read_bytes()
    async with open_keeper(tmp_path) as (issuer, keeper):
        assert (await current(keeper)).access_token == "at-0-secret"
    assert (issuer.server.requests, path.read_bytes()) == ([], before)


@pytest.mark.parametrize("last_refresh", [OLD, "2020-01-01T00:00:00.123456789Z", "yesterday", 5])
async def test_old_tokens_are_renewed_and_nothing_else_is_changed(tmp_path: Path, last_refresh: Any) -> None:
    document = stored_login(last_refresh=last_refresh, OPENAI_API_KEY="sk-own", added={"by": "somebody"})
    document["tokens"]["more"] = "kept"
    path = store(tmp_path, document)
    path.chmod(0o644)
    async with open_keeper(tmp_path) as (issuer, keeper):
        assert (await current(keeper)).access_token == "at-1-secret"
        assert (await current(keeper)).access_token == "at-1-secret"
    (request,) = issuer.server.requests
    sent = {"client_id": "app_EMoamEEZ73f0CkXaXp7hrann", "grant_type": "refresh_token", "refresh_token": "rt-0-secret"}
    assert request.body == sent
    stored = json.loads(path.read_text())
    assert stored.pop("last_refresh") > "2026"
    document.pop("last_refresh")
    document["tokens"] |= {"access_token": "at-1-secret", "refresh_token": "rt-1-secret"}
    assert stored == document
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(os.listdir(tmp_path)) == ["auth.json", "auth.lock"]


async def test_many_who_ask_at_once_cause_one_renewal(tmp_path: Path) -> None:
    store(tmp_path, stored_login(last_refresh=OLD))
    seen: list[str | None] = []

    async with open_keeper(tmp_path) as (issuer, keeper):

        async def ask() -> None:
            seen.append((await current(keeper)).access_token)

        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(ask)
    assert (seen, issuer.renewals) == (["at-1-secret"] * 5, 1)


async def test_what_another_process_has_renewed_is_taken_over(tmp_path: Path) -> None:
    store(tmp_path, stored_login())
    async with open_keeper(tmp_path) as (issuer, keeper):
        used = await current(keeper)
        assert await keeper.changed("file", used) is None
        store(tmp_path, stored_login(access="at-other-secret"))
        found = await keeper.changed("file", used)
        assert found is not None
        assert found.access_token == (await keeper.renewed("file", used)).access_token == "at-other-secret"
        await keeper.refresh("file")
    assert len(issuer.server.requests) == 1


async def test_a_program_without_our_lock_may_be_faster(tmp_path: Path) -> None:
    store(tmp_path, stored_login())
    async with open_keeper(tmp_path) as (issuer, keeper):

        def other_was_faster(_: Request) -> Reply:
            store(tmp_path, stored_login(access="at-other-secret"))
            return answered({"error": {"code": "refresh_token_reused"}}, 401)

        issuer.instead[TOKEN] = other_was_faster
        assert (await keeper.renewed("file", await current(keeper))).access_token == "at-other-secret"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"error": {"code": "refresh_token_expired"}}, " because your refresh token has expired"),
        ({"error": "refresh_token_reused"}, " because your refresh token was already used"),
        ({"code": "Refresh_Token_Invalidated"}, " because your refresh token was revoked"),
        ({"error": {"code": "other"}}, ""),
        ([], ""),
    ],
)
async def test_a_refused_refresh_token_is_told_once_and_not_sent_again(tmp_path: Path, body: Any, reason: str) -> None:
    store(tmp_path, stored_login(last_refresh=OLD))
    async with open_keeper(tmp_path) as (issuer, keeper):
        issuer.instead[TOKEN] = lambda _: answered(body, 401)
        login = await current(keeper)
        assert login.access_token == "at-0-secret"
        text = f"Your access token could not be refreshed{reason}. Please log out and sign in again."
        for _ in range(2):
            failure = await failure_of(keeper, login)
            assert (type(failure), str(failure)) == (LoginRefused, text)
    assert len(issuer.server.requests) == 1


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (refuse(500, "down for rt-0-secret"), "Failed to refresh token: 500 Internal Server Error: down for ***"),
        (answered({}), "Failed to refresh token: the answer holds no access token"),
        (Reply(cut_at=0, status=502, body=b"x"), "Failed to refresh token: 502 Bad Gateway: unknown error"),
    ],
)
async def test_a_failure_that_may_pass_keeps_the_tokens(
    tmp_path: Path, reply: Reply, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = store(tmp_path, stored_login(last_refresh=OLD))
    before = path.read_bytes()
    async with open_keeper(tmp_path) as (issuer, keeper):
        issuer.instead[TOKEN] = lambda _: reply
        with caplog.at_level(logging.DEBUG, logger="pycodex"):
            # The second time it is not even tried: that would hold up every request.
            for _ in range(2):
                login = await current(keeper)
        assert len(issuer.server.requests) == 1
        failure = await failure_of(keeper, login)
    assert (type(failure), str(failure)) == (RefreshFailed, text)
    assert path.read_bytes() == before
    assert "secret" not in caplog.text


async def test_an_issuer_that_is_silent_is_not_waited_for(tmp_path: Path, mock_clock: Any) -> None:
    store(tmp_path, stored_login())
    async with open_keeper(tmp_path) as (issuer, keeper):
        silent = trio.Event()

        def nothing(_: Request) -> Reply:
            silent.set()
            return Reply(parts=[Hold()])

        issuer.instead[TOKEN] = nothing
        login = await current(keeper)

        async def pass_time() -> None:
            await silent.wait()
            mock_clock.jump(60)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(pass_time)
            failure = await failure_of(keeper, login)
    assert str(failure).startswith("Failed to refresh token: ")


async def test_new_tokens_are_kept_even_if_nobody_waits_for_them_any_more(tmp_path: Path) -> None:
    path = store(tmp_path, stored_login())
    asked, go_on = trio.Event(), trio.Event()
    answers = [WebAnswer(200, json.dumps({"access_token": "at-1-secret", "refresh_token": "rt-1-secret"}))]

    async def send(_: WebRequest) -> WebAnswer:
        asked.set()
        await go_on.wait()
        return answers.pop()

    async with trio.open_nursery() as tasks:
        keeper = LoginKeeper(str(tmp_path), env={}, send=send, spawn=tasks.start_soon)
        login = await current(keeper)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(keeper.renewed, "file", login)
            await asked.wait()
            nursery.cancel_scope.cancel()
        tasks.cancel_scope.cancel()
        go_on.set()
    assert json.loads(path.read_text())["tokens"]["refresh_token"] == "rt-1-secret"


@pytest.mark.parametrize("now", [None, {"auth_mode": "apikey", "OPENAI_API_KEY": "sk"}, "other account"])
async def test_nobody_goes_on_as_somebody_else(tmp_path: Path, now: Any) -> None:
    path = store(tmp_path, stored_login())
    async with open_keeper(tmp_path) as (issuer, keeper):
        used = await current(keeper)
        if now is None:
            path.unlink()
        elif now == "other account":
            document = stored_login()
            document["tokens"]["account_id"] = "acct-2"
            store(tmp_path, document)
        else:
            store(tmp_path, now)
        with pytest.raises(LoginRefused, match="signed in to another account"):
            await keeper.changed("file", used)
        assert "signed in to another account" in str(await failure_of(keeper, used))
    assert issuer.server.requests == []


async def test_a_login_in_memory_is_renewed_there(tmp_path: Path) -> None:
    async with open_keeper(tmp_path) as (_, keeper):
        await keeper.save("ephemeral", stored_login(last_refresh=OLD))
        assert (await current(keeper, "ephemeral")).access_token == "at-1-secret"
        assert await keeper.current("file") is None
        assert await keeper.remove("ephemeral")
        assert not await keeper.remove("ephemeral")
    assert os.listdir(tmp_path) == ["auth.lock"]


async def test_tokens_of_a_client_come_first_and_are_asked_for_again(tmp_path: Path) -> None:
    store(tmp_path, stored_login(last_refresh=OLD))
    lent = StoredLogin(access_token="lent-1", account_id="a", is_external=True)
    newer = StoredLogin(access_token="lent-2", account_id="a", is_external=True)
    asked: list[str | None] = []

    async def ask(account_id: str | None) -> StoredLogin:
        asked.append(account_id)
        return newer

    async with open_keeper(tmp_path) as (issuer, keeper):
        keeper.external = lent
        keeper.ask_client = ask
        assert await keeper.current("file") == lent
        assert await keeper.renewed("file", lent) == newer
        assert await keeper.renewed("file", lent) == newer
        await keeper.refresh("file")
        assert (await keeper.current("file"), asked, issuer.server.requests) == (newer, ["a"], [])


async def test_who_logs_out_meanwhile_is_not_logged_in_again(tmp_path: Path) -> None:
    lent = StoredLogin(access_token="lent-1", account_id="a", is_external=True)

    async with open_keeper(tmp_path) as (_, keeper):

        async def ask(_: str | None) -> StoredLogin:
            await keeper.remove("file")
            return StoredLogin(access_token="lent-2", account_id="a", is_external=True)

        keeper.external = lent
        keeper.ask_client = ask
        assert "logged out" in str(await failure_of(keeper, lent))
        assert await keeper.current("file") is None
