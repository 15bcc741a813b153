"""`exec review` as a whole process: what it says, what it writes, and how it ends."""

import json
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio

from pycodex.supervisor.model.scripted import Reply, Script, refuse, say, serve_script
from support.cli import cli_argv
from support.engine import Place, line_kinds, lines_of, run, said
from support.exec_runs import Running, resumes, running_exec
from support.marked import Mark
from support.reviews import RENDERED, REPORT
from support.waiting import eventually_async


async def ran(
    place: Place, script: Script, *arguments: str, stdin: bytes = b""
) -> "subprocess.CompletedProcess[bytes]":
    async with serve_script(script) as server:
        place.point_at(server.base_url)
        done = await trio.run_process(
            cli_argv(*arguments),
            cwd=place.workspace,
            env=place.env,
            stdin=stdin,
            capture_stdout=True,
            capture_stderr=True,
            check=False,
        )
    assert b"Traceback" not in done.stderr
    return done


async def test_people_read_the_report_on_stderr(place: Place) -> None:
    done = await ran(place, [Reply(parts=say(REPORT))], "exec", "--color", "never", "review", " look here ")
    assert (done.returncode, done.stdout) == (0, b"")
    _, _, told = done.stderr.decode().partition("--------\nuser\n")
    servers = "mcp startup: no servers\n"
    assert told == f"look here\n{servers}{servers}codex\n{RENDERED}\n"


async def test_hint_stands_for_the_task(place: Place) -> None:
    done = await ran(place, [Reply(parts=say(REPORT))], "review", "--base", "main")
    assert done.returncode == 0
    assert "user\nchanges against 'main'\n" in done.stderr.decode()


async def test_prompt_may_come_from_stdin_and_the_report_go_to_a_file(place: Place) -> None:
    arguments = ("exec", "--json", "review", "-o", "report.txt", "-")
    done = await ran(place, [Reply(parts=say(REPORT))], *arguments, stdin=b"see plums\n")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr) == (0, b"")
    assert [line["type"] for line in lines] == ["thread.started", "turn.started", "item.completed", "turn.completed"]
    assert lines[2]["item"] == {"id": "item_0", "type": "agent_message", "text": RENDERED}
    assert set(lines[3]["usage"].values()) == {0}
    assert (place.workspace / "report.txt").read_text() == RENDERED


async def test_failed_review_fails_the_run(place: Place) -> None:
    done = await ran(place, [refuse(400, "bad thing")], "exec", "--json", "review", "-o", "report.txt", "--uncommitted")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1
    assert (lines[-1]["type"], "bad thing" in lines[-1]["error"]["message"]) == ("turn.failed", True)
    assert b"no last agent message" in done.stderr
    assert (place.workspace / "report.txt").read_text() == ""


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--base", " "), "Error: branch must not be empty\n"),
        (("--commit", ""), "Error: sha must not be empty\n"),
        (("-",), "No prompt provided via stdin.\n"),
    ],
)
async def test_empty_target_is_told_before_anything_is_asked(
    place: Place, arguments: tuple[str, ...], text: str
) -> None:
    done = await ran(place, [], "exec", "review", *arguments)
    assert (done.returncode, done.stdout, done.stderr.decode()) == (1, b"", text)


@asynccontextmanager
async def reviewing(place: Place, mark: Mark) -> AsyncIterator[Running]:
    """While a command of the reviewer runs."""
    async with serve_script([Reply(parts=run(f"sleep {mark}"))]) as server:
        place.point_at(server.base_url)
        async with running_exec(place, "review", "look") as running:
            await running.until("item.started", "command_execution")
            await eventually_async(mark.sleepers)
            yield running


async def test_interrupt_ends_the_run_and_the_commands_of_the_reviewer(place: Place) -> None:
    mark = Mark()
    async with reviewing(place, mark) as running:
        running.signal(signal.SIGINT)
        assert await running.ended() == 1
        assert running.lines[-1] == {"type": "turn.failed", "error": {"message": "task interrupted"}}
    assert not mark.alive()
    ours, theirs = sorted(place.sessions(), key=lambda path: '"subagent"' in path.read_text())
    assert line_kinds(lines_of(ours))[-1] == line_kinds(lines_of(theirs))[-1] == "turn_aborted"


async def test_killed_run_leaves_a_session_that_goes_on(place: Place) -> None:
    mark = Mark()
    async with reviewing(place, mark) as running:
        thread_id = running.lines[0]["thread_id"]
        running.signal(signal.SIGKILL)
        await running.ended()
    await eventually_async(lambda: not mark.alive())
    (path,) = [path for path in place.sessions() if thread_id in path.name]
    assert said(await resumes(place, path), "user")[-1] == "go on"
