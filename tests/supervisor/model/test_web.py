"""Short requests over real connections."""

from typing import Any

import pytest
import trio

from pycodex.supervisor.auth.web import Unreachable, WebRequest, json_request
from pycodex.supervisor.model.headers import identity_of
from pycodex.supervisor.model.scripted import Hold, Reply, Request, serve_script
from pycodex.supervisor.model.web import sender
from pycodex.supervisor.net.http import open_http
from support.issuer import answered

IDENTITY = identity_of({}, originator="tests", client="tests; 1")


async def test_the_program_says_who_it_is() -> None:
    async with serve_script([answered({"a": 1}), answered({}, 404)]) as server, open_http({}) as http:
        send = sender(http, IDENTITY)
        got = await send(WebRequest(method="GET", url=f"{server.base_url}/x?y", headers={"authorization": "Bearer t"}))
        posted = await send(json_request(f"{server.base_url}/z", {"b": 2}))
        first, second = server.requests
    assert (got.status, got.text, posted.status) == (200, '{"a": 1}', 404)
    assert (first.method, first.path, first.headers["authorization"]) == ("GET", "/v1/x?y", "Bearer t")
    assert (second.method, second.body) == ("POST", {"b": 2})
    assert (first.headers["originator"], first.headers["user-agent"]) == ("tests", IDENTITY.user_agent)


async def test_nobody_there_is_told_without_the_query() -> None:
    async with open_http({}) as http:
        with pytest.raises(Unreachable) as caught:
            await sender(http, IDENTITY)(WebRequest(method="GET", url="http://127.0.0.1:9/x?secret"))
    assert str(caught.value).startswith("error sending request for url (http://127.0.0.1:9/x): ")


async def test_a_silent_server_is_not_waited_for(mock_clock: Any) -> None:
    silent = trio.Event()

    def nothing(_: Request) -> Reply:
        silent.set()
        return Reply(parts=[Hold()])

    async with serve_script(nothing) as server, open_http({}) as http, trio.open_nursery() as nursery:

        async def pass_time() -> None:
            await silent.wait()
            mock_clock.jump(25)

        nursery.start_soon(pass_time)
        error = ""
        try:
            await sender(http, IDENTITY)(json_request(f"{server.base_url}/z", {}))
        except Unreachable as failure:
            error = str(failure)
    assert error.endswith("/v1/z): no answer within 20 seconds")
