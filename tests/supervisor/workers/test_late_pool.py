"""A pool that opens when it is wanted: before that nothing is started, afterwards nothing is left."""

import os

import pytest
import trio

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.workers import pool
from pycodex.supervisor.workers.late_pool import NoWorkers, open_late_pool
from pycodex.supervisor.workers.launch import launch
from support.orders import run
from support.pools import descendants, short_base
from support.waiting import eventually


async def test_opens_for_the_first_who_needs_it() -> None:
    before = descendants()
    with short_base() as base:
        async with open_late_pool({"XDG_RUNTIME_DIR": base}, None) as late:
            assert os.listdir(base) == []
            opened = await late.ready()
            assert await late.ready() is opened
            done = await opened.run(run("/bin/echo", "hi"))
            assert done.stdout.data == b"hi\n"
        assert os.listdir(base) == []
    assert eventually(lambda: descendants() <= before)


async def test_opens_ahead_of_need() -> None:
    before = descendants()
    with short_base() as base:
        async with open_late_pool({"XDG_RUNTIME_DIR": base}, launch()) as late, trio.open_nursery() as nursery:
            nursery.start_soon(late.ready)
            with trio.fail_after(30):
                while not os.listdir(base):
                    await trio.lowlevel.checkpoint()
    assert eventually(lambda: descendants() <= before)


async def test_zygote_that_nobody_needed_is_gone() -> None:
    launched = launch()
    async with open_late_pool({}, launched):
        await trio.lowlevel.checkpoint()
    with pytest.raises(ProcessLookupError):
        os.kill(launched.pid, 0)


async def test_why_it_cannot_open_is_told_to_everyone_who_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_place(_: object) -> None:
        raise UserFacing("there is no place for a runtime directory")

    monkeypatch.setattr(pool, "open_runtime_dir", no_place)
    async with open_late_pool({}, None) as late:
        for _ in range(2):
            with pytest.raises(NoWorkers, match="no worker process can be started: there is no place"):
                await late.ready()


async def test_error_of_the_caller_comes_out_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        async with open_late_pool({}, None):
            raise ZeroDivisionError
