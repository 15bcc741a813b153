"""A browser that comes back."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio

from pycodex.supervisor.auth.browser_return import BrowserReturn
from pycodex.supervisor.auth.callback_server import bind
from pycodex.supervisor.auth.grants import LoginFailed
from support.issuer import visit


class Waiting:
    def __init__(self, *, leads_on: bool = False, problem: str | None = None) -> None:
        self.leads_on = leads_on
        self.problem = problem
        self.taken: list[str] = []
        self.failure: LoginFailed | None = None
        self.over = trio.Event()

    async def take(self, fields: dict[str, str]) -> None:
        self.taken.append(fields["code"])
        if self.problem is not None:
            raise LoginFailed(self.problem)

    async def run(self, back: BrowserReturn, listener: trio.SocketListener) -> None:
        try:
            await back.wait(listener)
        except LoginFailed as failure:
            self.failure = failure
        self.over.set()


@asynccontextmanager
async def waiting(waits: Waiting) -> AsyncIterator[tuple[str, str]]:
    """The address to come back to, and our state."""
    listener = await bind(0)
    origin = f"http://127.0.0.1:{listener.socket.getsockname()[1]}"
    back = BrowserReturn(path="/back", take=waits.take, leads_on_to=origin if waits.leads_on else None)
    async with listener, trio.open_nursery() as nursery:
        nursery.start_soon(waits.run, back, listener)
        yield origin, back.state
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("leads_on", [False, True])
async def test_the_one_with_our_state_counts_once(leads_on: bool) -> None:
    waits = Waiting(leads_on=leads_on)
    async with waiting(waits) as (origin, state):
        assert (await visit(f"{origin}/back?code=a&state=x")).status == 400
        assert (await visit(f"{origin}/back?code=a")).status == 400
        assert (await visit(f"{origin}/success")).status == 404
        assert (await visit(f"{origin}/other?code=a&state={state}")).status == 404
        assert (await visit(f"{origin}/back?{'&'.join('a=1' for _ in range(200))}")).status == 400
        page = await visit(f"{origin}/back?code=b&state={state}")
        if leads_on:
            assert (page.status, page.headers["location"]) == (302, f"{origin}/success")
            page = await visit(page.headers["location"])
        assert "You are logged in" in page.text
        await waits.over.wait()
    assert (waits.taken, waits.failure) == (["b"], None)


async def test_a_failure_is_shown_as_text() -> None:
    waits = Waiting(problem="<b>no</b>")
    async with waiting(waits) as (origin, state):
        page = await visit(f"{origin}/back?code=b&state={state}")
        assert "&lt;b&gt;no&lt;/b&gt; Go back" in page.text
        await waits.over.wait()
    assert str(waits.failure) == "<b>no</b>"


async def test_no_web_page_ends_it_but_another_login_does() -> None:
    waits = Waiting()
    async with waiting(waits) as (origin, _):
        assert (await visit(f"{origin}/cancel", origin="http://evil")).status == 403
        assert not waits.over.is_set()
        assert (await visit(f"{origin}/cancel")).status == 200
        await waits.over.wait()
    assert str(waits.failure) == "Login cancelled"
