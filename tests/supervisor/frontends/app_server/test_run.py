"""The server as a process of its own, on standard input and output."""

import json
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio

from pycodex.supervisor.model.scripted import Hold, Reply, call, say, serve_script
from support.app_server import Client, text_input
from support.cli import cli_argv
from support.engine import Place, run

ENDS_WITHIN_S = 10.0


@asynccontextmanager
async def running(place: Place, *arguments: str) -> AsyncIterator[tuple[trio.Process, Client]]:
    process = await trio.lowlevel.open_process(
        cli_argv("app-server", *arguments),
        cwd=place.workspace,
        env=place.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process, Client(trio.StapledStream(process.stdin, process.stdout))
    finally:
        # In good order, so that nothing of it is left.
        with trio.CancelScope(shield=True), trio.move_on_after(ENDS_WITHIN_S):
            await process.stdin.aclose()
            await process.wait()
        process.kill()
        await process.wait()


async def test_goal_is_pursued_again_by_the_next_process(place: Place) -> None:
    script = [
        Reply(parts=[*say("half")[:2], Hold()]),
        Reply(parts=call("update_goal", {"status": "complete"})),
        Reply(parts=say("reached")),
    ]
    async with serve_script(script) as model:
        place.point_at(model.base_url)
        async with running(place) as (_, client):
            await client.hello()
            thread_id = await client.start()
            await client.call("thread/goal/set", threadId=thread_id, objective="win")
            await client.until("turn/started")
            await client.until("item/agentMessage/delta")
        async with running(place) as (_, client):
            await client.hello()
            await client.call("thread/resume", threadId=thread_id)
            await client.until("turn/started")
            await client.until("thread/goal/updated", goal__status="complete")
            await client.until("turn/completed", turn__status="completed")


async def test_client_that_closes_its_end_ends_the_server_at_once(place: Place) -> None:
    async with serve_script([Reply(parts=run("sleep 60", yield_time_ms=50_000))]) as model:
        place.point_at(model.base_url)
        async with running(place) as (process, client):
            await client.hello()
            thread_id = await client.start(sandbox="danger-full-access")
            await client.call("turn/start", threadId=thread_id, input=[text_input("go")])
            await client.until("item/started", item__type="commandExecution")
            assert process.stdin is not None
            await process.stdin.aclose()
            assert await process.wait() == 0
            assert process.stderr is not None
            assert await process.stderr.receive_some() == b""
            with pytest.raises(EOFError):
                await client.until("turn/completed")
    # The file says that it was cut short, so that the model will be told.
    assert [line["payload"].get("type") for line in place.lines()][-1] == "turn_aborted"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_signals_mean_what_they_always_do(place: Place, number: signal.Signals) -> None:
    async with running(place) as (process, client):
        await client.hello()
        process.send_signal(number)
        assert await process.wait() == -number


async def test_client_that_hangs_up_and_terminates_at_once_leaves_a_whole_file(place: Place) -> None:
    async with serve_script([Reply(parts=run("sleep 600"))]) as model:
        place.point_at(model.base_url)
        async with running(place) as (process, client):
            await client.hello()
            thread_id = await client.start()
            await client.call("turn/start", threadId=thread_id, input=[text_input("go")])
            await client.until("item/started", item__type="commandExecution")
            assert process.stdin is not None
            await process.stdin.aclose()
            process.send_signal(signal.SIGTERM)
            assert await process.wait() in (0, -signal.SIGTERM)
    assert [line["payload"].get("type") for line in place.lines()][-1] == "turn_aborted"


async def test_source_is_told_and_written_down(place: Place) -> None:
    async with serve_script([Reply(parts=say("hello"))]) as model:
        place.point_at(model.base_url)
        async with running(place, "--session-source", "my-editor", "-c", "model=gpt-5.2") as (_, client):
            await client.hello()
            started = await client.call("thread/start", approvalPolicy="never")
            assert started["thread"]["source"] == {"custom": "my-editor"}
            assert started["model"] == "gpt-5.2"
            await client.turn(started["thread"]["id"], "hi")
        assert place.lines()[0]["payload"]["source"] == {"custom": "my-editor"}
        (request,) = model.requests
        assert request.headers["originator"] == "tester"
        assert json.loads(request.headers["x-codex-turn-metadata"])
