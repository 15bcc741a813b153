"""Very many threads in one server: each is there when it is needed."""

import random
from collections.abc import Callable

import pytest

from pycodex.supervisor.model.scripted import Reply, say, serve_script
from support.app_server import told
from support.app_server_runs import running_app_server
from support.engine import Place


@pytest.mark.timeout(600)
async def test_idle_threads_all_answer(place: Place, scale: Callable[[int, int], int]) -> None:
    chooser = random.Random(3)
    async with serve_script(lambda _: Reply(parts=say("here"))) as model:
        place.point_at(model.base_url)
        async with running_app_server(place) as server:
            client = await server.client.hello()
            threads = [await client.start() for _ in range(scale(200, 1000))]
            loaded = await client.call("thread/loaded/list")
            assert sorted(loaded["data"]) == sorted(threads)
            for thread_id in threads:
                read = await client.call("thread/read", threadId=thread_id)
                assert read["thread"]["status"] == {"type": "idle"}
            for thread_id in chooser.sample(threads, 20):
                assert "item/completed agentMessage" in told(await client.turn(thread_id, "hi"))
