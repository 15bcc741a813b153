"""Which mistake of a request is told."""

import pytest

from pycodex.supervisor.frontends.app_server.methods import table
from support.app_server import Refused, beginning, exactly, open_app_server
from support.engine import Place


async def test_mistakes_are_told_in_order(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        client = scratch.connect()
        with pytest.raises(
            Refused, match=beginning("Invalid request: unknown variant `no/such`, expected one of `initialize`, ")
        ):
            await client.call("no/such")
        with pytest.raises(Refused, match=exactly("Invalid request: missing field `threadId`")):
            await client.call("thread/read")
        with pytest.raises(Refused, match=exactly("Not initialized")):
            await client.call("thread/loaded/list")
        await client.hello(experimental=False)
        with pytest.raises(Refused, match=exactly("Already initialized")):
            await client.hello()
        with pytest.raises(
            Refused, match=exactly("thread/backgroundTerminals/clean requires experimentalApi capability")
        ):
            await client.call("thread/backgroundTerminals/clean", threadId="x")
        with pytest.raises(
            Refused, match=exactly("thread/start.persistFullHistory requires experimentalApi capability")
        ):
            await client.call("thread/start", persistExtendedHistory=True)
        with pytest.raises(Refused, match=beginning("invalid thread id: ")):
            await client.call("turn/start", threadId="nope", input=[])


async def test_params_must_be_there_unless_there_are_none(place: Place) -> None:
    async with open_app_server(place, []) as scratch:
        client = await scratch.connect().hello()
        await client.send({"id": "a", "method": "thread/loaded/list"})
        with pytest.raises(Refused, match=exactly("Invalid request: missing field `params`")):
            await client.answer_to("a")
        await client.send({"id": "b", "method": "configRequirements/read"})
        assert await client.answer_to("b") == {"requirements": None}


def test_some_methods_are_waited_for_and_some_are_not() -> None:
    interrupt, start = table.find("turn/interrupt"), table.find("turn/start")
    assert interrupt is not None
    assert interrupt.may_wait
    assert start is not None
    assert not start.may_wait
