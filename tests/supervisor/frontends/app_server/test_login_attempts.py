"""One login at a time, and an end for each. What clients hear of it: `methods/test_logins`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.auth.chatgpt_login import LoginTerms
from pycodex.supervisor.auth.web import Unreachable, WebAnswer, WebRequest
from pycodex.supervisor.frontends.app_server.login_attempts import LoginAttempts

CODE = '{"device_auth_id": "d", "user_code": "A"}'


class Told:
    """How logins have ended, by their ids."""

    def __init__(self) -> None:
        self.ends: dict[str, str | None] = {}
        self.news = trio.Event()

    async def completed(self, login_id: str, error: str | None) -> None:
        self.ends[login_id] = error
        self.news.set()


async def not_yet(request: WebRequest) -> WebAnswer:
    return WebAnswer(200, CODE) if request.url.endswith("/usercode") else WebAnswer(403, "")


async def away(_: WebRequest) -> WebAnswer:
    raise Unreachable("nobody there")


async def keep(_: Any) -> None:
    raise AssertionError("nothing is to be kept")


def terms(send: Any) -> LoginTerms:
    return LoginTerms(send=send, keep=keep, originator="tests", issuer="http://issuer")


@asynccontextmanager
async def open_nursery() -> AsyncIterator[trio.Nursery]:
    async with trio.open_nursery() as nursery:
        yield nursery
        nursery.cancel_scope.cancel()


async def test_a_second_one_waits_for_the_end_of_the_first() -> None:
    attempts, told = LoginAttempts(), Told()
    async with open_nursery() as nursery:
        first, _ = await attempts.start_device(nursery, terms(not_yet), told.completed)
        second, code = await attempts.start_device(nursery, terms(not_yet), told.completed)
        await told.news.wait()
        assert (told.ends, code.url) == ({first: "Login cancelled"}, "http://issuer/codex/device")
        assert (attempts.cancel(first), attempts.cancel(second), attempts.cancel(second)) == (False, True, False)
        await attempts.end("too late to be a reason")
    assert told.ends == {first: "Login cancelled", second: "Login was not completed"}


async def test_one_that_cannot_begin_is_an_error_and_no_login() -> None:
    attempts, told = LoginAttempts(), Told()
    async with open_nursery() as nursery:
        with pytest.raises(UserFacing, match="nobody there"):
            await attempts.start_device(nursery, terms(away), told.completed)
        await attempts.end()
    assert told.ends == {}


async def test_one_ends_with_the_nursery_that_it_was_started_in() -> None:
    attempts, told = LoginAttempts(), Told()
    async with open_nursery() as nursery:
        login_id, _ = await attempts.start_device(nursery, terms(not_yet), told.completed)
    assert told.ends == {login_id: "Login was not completed"}
    assert not attempts.cancel(login_id)
