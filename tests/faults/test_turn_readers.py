"""Readers of stdout that are slow or leave, and two processes that write one session."""

import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
import trio

from pycodex.supervisor.model.scripted import Hold, Reply, Until, say, serve_script
from support.engine import Place, line_kinds, lines_of, outputs, run, said
from support.exec_runs import argv_of, resumes, run_exec, running_exec, thread_id_of
from support.waiting import eventually_async


async def test_reader_that_leaves_ends_the_run_quietly(place: Place, tmp_path: Path) -> None:
    gone = trio.Event()
    script = [Reply(parts=[*say("first"), Until(gone), *run("echo hi", "c"), *say("second"), Hold()])]
    async with serve_script(script) as server:
        place.point_at(server.base_url)
        with (tmp_path / "err").open("wb") as err:
            async with running_exec(place, "go", stderr=err) as running:
                await running.until("item.completed")
                assert running.process.stdout is not None
                await running.process.stdout.aclose()
                gone.set()
                code = await running.process.wait()
    assert (code, (tmp_path / "err").read_text()) == (141, "")
    (path,) = place.sessions()
    assert line_kinds(lines_of(path))[-1] == "turn_aborted"
    sent = await resumes(place, path)
    assert set(outputs(sent)) == {"c"}
    assert said(sent, "assistant")[0] == "first"


@pytest.mark.parametrize("how", ["closed", "full"])
async def test_stdout_that_takes_nothing(place: Place, how: str) -> None:
    async with serve_script([Reply(parts=run("touch ran", "c"))]) as server:
        place.point_at(server.base_url)
        redirect = {"closed": ">&-", "full": ">/dev/full"}[how]
        done = await trio.run_process(
            ["/bin/sh", "-c", f'exec "$@" {redirect}', "sh", *argv_of("-s", "danger-full-access", "go")],
            cwd=place.workspace,
            env=place.env,
            stdin=subprocess.DEVNULL,
            capture_stderr=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.decode().startswith("Error: cannot write to standard output: ")
    assert b"Traceback" not in done.stderr
    for path in place.sessions():
        await resumes(place, path)


async def test_slow_reader_loses_nothing(place: Place) -> None:
    """It reads only when everything has been said, many times what a pipe holds."""
    texts = [f"{number} " + "x" * 50_000 for number in range(40)]
    size = 900_000
    script = [
        Reply(parts=run(f"head -c {size} /dev/zero | tr '\\0' y", "c")),
        Reply(parts=[part for text in texts for part in say(text, pieces=3)]),
    ]
    async with serve_script(script) as server:
        place.point_at(server.base_url)
        async with running_exec(place, "go") as running:
            await eventually_async(lambda: len(server.requests) == 2)
            await eventually_async(lambda: b"task_complete" in place.sessions()[0].read_bytes())
            assert await running.ended() == 0
            items = [line["item"] for line in running.lines if line["type"] == "item.completed"]
            assert [item["text"] for item in items if item["type"] == "agent_message"] == texts
            (command,) = [item for item in items if item["type"] == "command_execution"]
            assert command["aggregated_output"] == "y" * size
            assert running.lines[-1]["type"] == "turn.completed"


async def test_stuck_reader_does_not_keep_a_second_interrupt_from_ending_it(place: Place) -> None:
    text = "x" * 1_000_000
    async with serve_script([Reply(parts=[*say(text), *run("sleep 1000", "c")])]) as server:
        place.point_at(server.base_url)
        async with running_exec(place, "go") as running:
            await eventually_async(place.sessions)
            await eventually_async(lambda: b"function_call" in place.sessions()[0].read_bytes())
            running.signal(signal.SIGINT)
            await eventually_async(lambda: b"turn_aborted" in place.sessions()[0].read_bytes())
            running.signal(signal.SIGINT)
            assert await running.process.wait() == 130
    (path,) = place.sessions()
    assert said(await resumes(place, path), "assistant") == [text]


async def test_two_processes_that_resume_one_session_both_get_their_turn(place: Place) -> None:
    async with serve_script([]) as server:
        place.point_at(server.base_url)
        assert (await run_exec(place, "first")).code == 0
    (path,) = place.sessions()
    both_asked = trio.Event()
    asked: list[str] = []

    def answer(request: Any) -> Reply:
        body = request.body
        if body["input"][-1]["type"] == "function_call_output":
            return Reply(parts=say(f"done {said(body['input'], 'user')[-1]}"))
        asked.append(said(body["input"], "user")[-1])
        if len(asked) == 2:
            both_asked.set()
        return Reply(parts=[Until(both_asked), *say("long " + "x" * 20_000), *run("echo hi", f"c{len(asked)}")])

    codes: list[int] = []

    async def resume(text: str) -> None:
        ran = await run_exec(place, "resume", thread_id_of(path), text)
        codes.append(ran.code)
        assert ran.kinds[-1] == "turn.completed"

    async with serve_script(answer) as server:
        place.point_at(server.base_url)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(resume, "left")
            nursery.start_soon(resume, "right")
    assert codes == [0, 0]
    assert place.sessions() == [path]
    kinds = line_kinds(lines_of(path))
    assert (kinds.count("task_started"), kinds.count("task_complete"), kinds.count("function_call_output")) == (3, 3, 2)
    sent = await resumes(place, path)
    assert {"first", "left", "right"} <= set(said(sent, "user"))
    assert {"done left", "done right"} <= set(said(sent, "assistant"))
    assert set(outputs(sent)) == {"c1", "c2"}
