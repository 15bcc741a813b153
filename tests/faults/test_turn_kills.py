"""The program killed in the midst of a turn: nobody is left, nothing that was written is lost, nothing runs again."""

import json
import os
import random
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from select import select
from typing import Any

import psutil
import pytest
import trio

from pycodex.supervisor.model.scripted import Pause, Reply, Request, say, serve_script
from support.engine import Place, outputs, run, said
from support.exec_runs import GONE_WITHIN_S, Running, resumes, run_exec, running_exec
from support.marked import Mark
from support.pools import alive, descendants
from support.waiting import eventually_async

WRITABLE = ("-s", "workspace-write")


def script_of(mark: Mark) -> Callable[[Request], Reply]:
    """Three requests with commands, some of which are left running; each notes that it ran."""

    def reply(request: Request) -> Reply:
        number = sum(item["type"] == "function_call_output" for item in request.body["input"])
        if number >= 4:
            return Reply(parts=say("done"))
        noted = [f"echo {name} >> noted; " for name in (f"c{number}", f"c{number + 1}")]
        return Reply(
            parts=[
                *say(f"step {number}", pieces=3),
                *run(noted[0] + mark.family(), f"c{number}", yield_time_ms=250),
                Pause(0.01),
                *run(noted[1] + "echo hi", f"c{number + 1}"),
                *say("and"),
            ]
        )

    return reply


def calls_in(lines: list[dict[str, Any]], kind: str) -> list[str]:
    return [line["payload"]["call_id"] for line in lines if line["payload"].get("type") == kind]


def readable(path: Path) -> list[dict[str, Any]]:
    """All lines; the last one may be torn."""
    *whole, last = path.read_bytes().split(b"\n")
    if last:
        with pytest.raises(json.JSONDecodeError):
            json.loads(last)
    return [json.loads(line) for line in whole]


class Killed:
    """What was found after one kill."""

    def __init__(self, place: Place, before: bytes) -> None:
        self.place = place
        self.before = before

    async def check(self) -> str:
        paths = self.place.sessions()
        if not paths:
            assert self.before == b""
            return "before the file"
        (path,) = paths
        assert path.read_bytes().startswith(self.before)
        lines = readable(path)
        called, answered = calls_in(lines, "function_call"), calls_in(lines, "function_call_output")
        noted = self.place.workspace / "noted"
        ran = noted.read_text().split() if noted.exists() else []
        assert len(set(ran)) == len(ran)
        # No command ran whose call the file does not hold.
        assert set(ran) <= set(called)
        sent = await resumes(self.place, path)
        assert said(sent, "user")[-1] == "go on"
        told = outputs(sent)
        assert set(told) == set(called)
        assert {call for call, text in told.items() if text == "aborted"} == set(called) - set(answered)
        # Being told is not being run again.
        assert (noted.read_text().split() if noted.exists() else []) == ran
        noted.unlink(missing_ok=True)
        path.unlink()
        return "with open calls" if set(called) - set(answered) else "between calls"


async def killed_after(place: Place, lines: int, delay_s: float, mark: Mark) -> Killed:
    async with serve_script(script_of(mark)) as server:
        place.point_at(server.base_url)
        async with running_exec(place, *WRITABLE, "go") as running:
            for _ in range(lines):
                if await running.line() is None:
                    break
            await trio.sleep(delay_s)
            before = b"".join(path.read_bytes() for path in place.sessions())
            everybody = descendants(running.pid)
            running.process.kill()
            await running.process.wait()
            await eventually_async(
                lambda: not alive(everybody) and not mark.alive(), GONE_WITHIN_S, what="everybody gone"
            )
    return Killed(place, before)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(4))
async def test_killed_at_any_moment(place: Place, seed: int, scale: Callable[[int, int], int]) -> None:
    chooser = random.Random(seed)
    found = set()
    for _ in range(scale(5, 125)):
        killed = await killed_after(place, chooser.randrange(12), chooser.uniform(0, 0.06), Mark())
        found.add(await killed.check())
    assert "with open calls" in found


async def until_all_sleep(running: Running, mark: Mark) -> None:
    await running.until("item.started", "command_execution")
    await eventually_async(lambda: len(mark.sleepers()) == 3)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
async def test_signal_that_ends_it_ends_the_whole_tree(place: Place, number: signal.Signals) -> None:
    mark = Mark()
    async with serve_script([Reply(parts=run(mark.family(), "c"))]) as server:
        place.point_at(server.base_url)
        async with running_exec(place, *WRITABLE, "go") as running:
            await until_all_sleep(running, mark)
            everybody = descendants(running.pid)
            running.signal(number)
            assert await running.process.wait() == -number
            await eventually_async(
                lambda: not alive(everybody) and not mark.alive(), GONE_WITHIN_S, what="everybody gone"
            )
    (path,) = place.sessions()
    assert outputs(await resumes(place, path)) == {"c": "aborted"}


async def test_interrupt_ends_the_turn_and_its_commands_in_good_order(place: Place) -> None:
    mark = Mark()
    async with serve_script([Reply(parts=run(mark.family(), "c"))]) as server:
        place.point_at(server.base_url)
        async with running_exec(place, *WRITABLE, "go") as running:
            await until_all_sleep(running, mark)
            running.signal(signal.SIGINT)
            assert await running.ended() == 1
            assert running.lines[-1]["type"] == "turn.failed"
            assert not mark.alive()
    (path,) = place.sessions()
    sent = await resumes(place, path)
    assert outputs(sent)["c"].startswith("aborted by user after ")
    assert said(sent, "user")[-2].startswith("<turn_aborted>")


async def test_interrupt_before_there_is_a_turn(place: Place) -> None:
    """It waits for the rest of its prompt."""
    place.point_at("http://127.0.0.1:1/v1")
    read, write = os.pipe()
    os.write(write, b"half a promp")
    try:
        async with running_exec(place, stdin=read, stderr=subprocess.PIPE) as running:
            await eventually_async(lambda: not select([read], [], [], 0)[0], what="the half is read")
            running.signal(signal.SIGINT)
            assert await running.ended() == 130
            assert running.lines == []
            assert running.process.stderr is not None
            assert await running.process.stderr.receive_some() == b"Reading prompt from stdin...\n"
            assert await running.process.stderr.receive_some() == b""
            await running.process.stderr.aclose()
    finally:
        os.close(read)
        os.close(write)
    assert place.sessions() == []


async def test_zygote_killed_in_the_midst_of_a_turn_costs_one_call(place: Place) -> None:
    mark = Mark()
    script = [Reply(parts=run(mark.family(), "c")), Reply(parts=run("echo again", "d")), Reply(parts=say("done"))]
    async with serve_script(script) as server:
        place.point_at(server.base_url)
        async with running_exec(place, *WRITABLE, "go") as running:
            await until_all_sleep(running, mark)
            (zygote,) = children_of(running.pid)
            zygote.kill()
            assert await running.ended() == 0
            told = outputs(server.requests[-1].body["input"])
            assert "Process lost without a result" in told["c"]
            assert told["d"].endswith("Output:\nagain\n")
            assert not mark.alive()


def children_of(pid: int) -> list[psutil.Process]:
    return list(psutil.Process(pid).children())


async def test_runs_beside_each_other_in_one_home(place: Place) -> None:
    async with serve_script(lambda _: Reply(parts=say("hi"))) as server:
        place.point_at(server.base_url)
        codes: list[int] = []

        async def one() -> None:
            codes.append((await run_exec(place, "go")).code)

        async with trio.open_nursery() as nursery:
            for _ in range(6):
                nursery.start_soon(one)
    assert codes == [0] * 6
    assert len(place.sessions()) == 6
