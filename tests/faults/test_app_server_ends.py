"""A server that ends with turns under way, by its client or by force: nobody is left, every thread can be resumed."""

from collections.abc import Callable, Iterable

import pytest
import trio

from pycodex.supervisor.model.scripted import Reply, Request, say, serve_script
from support.app_server_runs import RunningServer, running_app_server
from support.engine import Place, line_kinds, lines_of, outputs, run, said
from support.exec_runs import GONE_WITHIN_S, thread_id_of
from support.marked import Mark
from support.pools import alive, descendants
from support.waiting import eventually_async

ENDS_WITHIN_S = 10.0
SLEEPERS = 3
"""That each command starts, besides itself."""


def busy(mark: Mark) -> Callable[[Request], Reply]:
    """A model whose commands never end."""

    def reply(request: Request) -> Reply:
        if any(item["type"] == "function_call_output" for item in request.body["input"]):
            return Reply(parts=say("done"))
        return Reply(parts=[*say("working"), *run(mark.family(), "c1", yield_time_ms=30_000)])

    return reply


async def begin_many(server: RunningServer, mark: Mark, count: int) -> list[str]:
    """So many threads, each with a command that runs."""
    await server.client.hello()
    threads = [await server.client.start(sandbox="workspace-write") for _ in range(count)]
    for thread_id in threads:
        await server.begin(thread_id)
    await eventually_async(lambda: len(mark.sleepers()) >= SLEEPERS * count, 120, what="all commands run")
    return threads


async def check_resumable(place: Place, threads: Iterable[str]) -> None:
    """Each goes on, and the model is told of the call that nobody answered."""
    async with serve_script([]) as model:
        place.point_at(model.base_url)
        async with running_app_server(place) as server:
            await server.client.hello()
            for number, thread_id in enumerate(threads):
                resumed = await server.client.call("thread/resume", threadId=thread_id)
                assert [turn["status"] for turn in resumed["thread"]["turns"]] == ["interrupted"]
                await server.client.turn(thread_id, f"go on {number}")
                sent = model.requests[-1].body["input"]
                assert outputs(sent).keys() == {"c1"}
                assert said(sent, "user")[-1] == f"go on {number}"


@pytest.mark.timeout(600)
async def test_client_that_leaves_ends_all_turns_and_the_files_say_so(
    place: Place, scale: Callable[[int, int], int]
) -> None:
    mark = Mark()
    async with serve_script(busy(mark)) as model:
        place.point_at(model.base_url)
        async with running_app_server(place) as server:
            threads = await begin_many(server, mark, scale(4, 32))
            everybody = descendants(server.pid)
            with trio.fail_after(ENDS_WITHIN_S):
                await server.close_stdin()
                assert await server.process.wait() == 0
            await eventually_async(lambda: not alive(everybody) and not mark.alive(), GONE_WITHIN_S, what="nobody")
    assert {line_kinds(lines_of(path))[-1] for path in place.sessions()} == {"turn_aborted"}
    await check_resumable(place, threads)


@pytest.mark.timeout(900)
async def test_killed_server_leaves_nobody_and_loses_no_thread(place: Place, scale: Callable[[int, int], int]) -> None:
    mark = Mark()
    async with serve_script(busy(mark)) as model:
        place.point_at(model.base_url)
        async with running_app_server(place) as server:
            threads = await begin_many(server, mark, scale(8, 64))
            everybody = descendants(server.pid)
            server.process.kill()
            await server.process.wait()
            await eventually_async(lambda: not alive(everybody) and not mark.alive(), GONE_WITHIN_S, what="nobody")
    assert {thread_id_of(path) for path in place.sessions()} == set(threads)
    await check_resumable(place, threads)
