"""Who is asked for newer tokens when the one who lent them is gone."""

import pytest

from pycodex.supervisor.auth.grants import RefreshFailed
from support.app_server import open_app_server
from support.engine import Place
from support.issuer import jwt

REFRESH = "account/chatgptAuthTokens/refresh"
LENT = {"type": "chatgptAuthTokens", "accessToken": jwt("ws-1"), "chatgptAccountId": "ws-1"}


async def test_others_are_asked_who_know_the_question(place: Place) -> None:
    newer = jwt("ws-1", mark="newer")
    async with open_app_server(place, [], requires_openai_auth=True) as scratch:
        lender, plain, knowing = scratch.connect(), scratch.connect(), scratch.connect()
        await lender.hello()
        await plain.hello(experimental=False)
        await knowing.hello()
        await lender.call("account/login/start", **LENT)
        await knowing.until("account/updated")
        await lender.stream.aclose()
        knowing.answers[REFRESH] = lambda _: {"result": {"accessToken": newer, "chatgptAccountId": "ws-1"}}
        keeper = scratch.server.threads.keeper(str(place.home))
        used = await keeper.stored("file")
        assert used is not None
        while len(scratch.server.connections) == 3:
            await plain.call("account/read")
        scratch.nursery.start_soon(knowing.until, REFRESH)
        login = await keeper.renewed("file", used)
        assert login.access_token == newer
        await plain.call("account/read")
        assert REFRESH not in [message.get("method") for message in plain.heard]


async def test_another_workspace_than_the_demanded_one_is_not_taken(place: Place) -> None:
    async with open_app_server(place, [], requires_openai_auth=True) as scratch:
        config = place.home / "config.toml"
        config.write_text(f'forced_chatgpt_workspace_id = "ws-1"\n{config.read_text()}')
        client = await scratch.connect().hello()
        await client.call("account/login/start", **LENT)
        client.answers[REFRESH] = lambda _: {"result": {"accessToken": jwt("ws-2"), "chatgptAccountId": "ws-2"}}
        keeper = scratch.server.threads.keeper(str(place.home))
        used = await keeper.stored("file")
        assert used is not None
        scratch.nursery.start_soon(client.until, REFRESH)
        with pytest.raises(RefreshFailed, match=r'^external auth refresh returned workspace "ws-2", expected "ws-1"$'):
            await keeper.renewed("file", used)
        assert await keeper.stored("file") == used
