"""Very many threads and clients of one server: each is there when it is needed, and leaves nothing when it goes."""

import random
from collections.abc import Callable
from functools import partial

import psutil
import pytest
import trio
from trio_websocket import open_websocket_url

from pycodex.supervisor.frontends.app_server.listening import listen
from pycodex.supervisor.model.scripted import Hold, Reply, say, serve_script
from support.app_server import Client, open_app_server, text_input, told
from support.app_server_runs import running_app_server
from support.engine import Place
from support.waiting import eventually_async

OWN_FDS, OWN_TASKS = 12, 12
"""Of the workers, which get ready beside the first turn."""


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


@pytest.mark.timeout(600)
async def test_clients_that_come_and_go_leave_nothing(place: Place, scale: Callable[[int, int], int]) -> None:
    """Some go without a word, in the midst of a turn."""
    path = f"{place.runtime}/s"
    async with (
        open_app_server(place, lambda _: Reply(parts=[*say("half"), Hold()])) as scratch,
        trio.open_nursery() as nursery,
    ):
        await nursery.start(partial(listen, f"unix://{path}", scratch.server))
        address = await nursery.start(partial(listen, "ws://127.0.0.1:0", scratch.server))
        watcher = await scratch.connect().hello()

        async def come_and_go(number: int) -> None:
            async with await trio.open_unix_socket(path) as stream:
                client = await Client(stream, cwd=place.workspace).hello()
                thread_id = await client.start(ephemeral=True)
                if number % 2:
                    await client.call("turn/start", threadId=thread_id, input=[text_input("go")])
                    await client.until("item/completed", item__type="agentMessage")
            await watcher.until("thread/closed", threadId=thread_id)
            async with open_websocket_url(address) as socket:
                await socket.send_message("{}")

        await come_and_go(1)
        process = psutil.Process()
        most_fds, most_tasks = process.num_fds() + OWN_FDS, _tasks() + OWN_TASKS
        for number in range(scale(50, 1000)):
            await come_and_go(number)
        assert scratch.server.live.ids() == []
        await eventually_async(lambda: _tasks() <= most_tasks, what=f"no more than {most_tasks} tasks")
        await eventually_async(lambda: process.num_fds() <= most_fds, what=f"no more than {most_fds} descriptors")
        nursery.cancel_scope.cancel()


def _tasks() -> int:
    return trio.lowlevel.current_statistics().tasks_living
