"""A session file that cannot be written: a clear error before any tool runs, exit code 1, and nothing lost."""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable

import pytest

from pycodex.supervisor.model.scripted import Reply, say, serve_script
from support.engine import Place, outputs, run, said
from support.exec_runs import Ran, resumes, run_exec

CANNOT = "cannot write the session file "

# Starts a program that can write no file beyond so many bytes.
LIMITED = "import os, resource, sys; n = int(sys.argv[1]); resource.setrlimit(resource.RLIMIT_FSIZE, (n, n))\n"
LIMITED += "os.execv(sys.argv[2], sys.argv[2:])"


def limited(most_bytes: int) -> list[str]:
    return [sys.executable, "-I", "-c", LIMITED, str(most_bytes)]


def with_mounts(script: str, *arguments: str) -> list[str]:
    """Starts a program after `script`, which may mount."""
    return ["unshare", "-rm", "/bin/sh", "-ec", f'{script}; shift {len(arguments)}; exec "$@"', "sh", *arguments]


def can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode == 0


needs_mounts = pytest.mark.skipif(not can_mount(), reason="no user and mount namespaces here")


# A word, a command that leaves a trace, and an end.
SCRIPT = [Reply(parts=[*say("look"), *run("touch ran", "c")]), Reply(parts=say("done"))]


async def full(place: Place, wrap: list[str]) -> Ran:
    async with serve_script(SCRIPT) as server:
        place.point_at(server.base_url)
        ran = await run_exec(place, "-s", "danger-full-access", "go", wrap=wrap)
    if ran.code:
        assert ran.failure.startswith(CANNOT)
        assert "--ephemeral" in ran.failure
    assert holds_call(place) or not (place.workspace / "ran").exists()
    return ran


def holds_call(place: Place) -> bool:
    """Whether the newest file holds the call, whole but perhaps for the end of its line."""
    paths = place.sessions()
    lines = paths[-1].read_bytes().splitlines() if paths else []
    return any(b'"type":"function_call"' in line and line.endswith(b"}}") for line in lines)


@pytest.mark.timeout(1800)
async def test_file_that_may_not_grow_ends_the_turn(place: Place, scale: Callable[[int, int], int]) -> None:
    """Wherever the last byte that fits lies: in the head, in a call, in an output or behind the answer."""
    async with serve_script(SCRIPT) as server:
        place.point_at(server.base_url)
        assert (await run_exec(place, "-s", "danger-full-access", "go")).code == 0
    (path,) = place.sessions()
    data = path.read_bytes()
    path.unlink()
    call_begins, call_ends = _line_around(data, b'"type":"function_call"')
    answer_ends = _line_around(data, b'"text":"done"')[1]
    after_head = random.Random(3).sample(range(data.index(b"\n"), len(data)), scale(5, 60))
    for most_bytes in (0, 100, call_begins + 10, call_ends - 1, *after_head):
        (place.workspace / "ran").unlink(missing_ok=True)
        ran = await full(place, limited(most_bytes))
        if most_bytes < answer_ends - 200:
            assert ran.code == 1, most_bytes
        if most_bytes < call_ends - 200:
            assert not (place.workspace / "ran").exists(), most_bytes
        for left in place.sessions():
            if left.stat().st_size > data.index(b"\n") + 200:
                sent = await resumes(place, left)
                assert said(sent, "user")[-1] == "go on"
                assert set(outputs(sent)) <= {"c"}
            left.unlink()


def _line_around(data: bytes, word: bytes) -> tuple[int, int]:
    at = data.index(word)
    return data.rindex(b"\n", 0, at) + 1, data.index(b"\n", at) + 1


async def test_file_where_the_folder_of_sessions_should_be(place: Place) -> None:
    (place.home / "sessions").write_text("in the way")
    ran = await full(place, [])
    assert ran.code == 1
    assert "Not a directory" in ran.failure or "File exists" in ran.failure
    assert (place.home / "sessions").read_text() == "in the way"
    assert not (place.workspace / "ran").exists()
    async with serve_script(SCRIPT) as server:
        place.point_at(server.base_url)
        ran = await run_exec(place, "--ephemeral", "-s", "danger-full-access", "go")
    assert (ran.code, ran.kinds[-1]) == (0, "turn.completed")


@needs_mounts
async def test_disk_that_is_full(place: Place) -> None:
    sessions = place.home / "sessions"
    sessions.mkdir()
    ran = await full(place, with_mounts('mount -t tmpfs -o size=4k,nr_inodes=10 tmpfs "$1"', str(sessions)))
    assert ran.code == 1
    assert "No space left on device" in ran.failure
    assert not (place.workspace / "ran").exists()


READ_ONLY = 'mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"'


@needs_mounts
async def test_home_that_cannot_be_written(place: Place) -> None:
    (place.home / "memories").mkdir()
    ran = await full(place, with_mounts(READ_ONLY, str(place.home)))
    assert ran.code == 1
    assert "Read-only file system" in ran.failure
    assert not (place.workspace / "ran").exists()
    assert place.sessions() == []


@needs_mounts
async def test_session_that_cannot_be_written_is_not_resumed(place: Place) -> None:
    async with serve_script([]) as server:
        place.point_at(server.base_url)
        assert (await run_exec(place, "one")).code == 0
        (path,) = place.sessions()
        before = path.read_bytes()
        wrap = with_mounts(READ_ONLY, str(place.home))
        ran = await run_exec(place, "resume", "--last", "two", wrap=wrap)
        assert (ran.code, ran.out) == (1, b"")
        assert ran.err.startswith(f"Error: {CANNOT}{path}: Read-only file system.")
        assert path.read_bytes() == before
        assert len(server.requests) == 1
    assert said(await resumes(place, path), "user")[-2:] == ["one", "go on"]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
async def test_folder_that_belongs_to_somebody_else(place: Place) -> None:
    sessions = place.home / "sessions"
    sessions.mkdir(mode=0o500)
    ran = await full(place, [])
    assert ran.code == 1
    assert "Permission denied" in ran.failure


async def test_log_that_cannot_be_written_is_done_without(place: Place) -> None:
    (place.home / "log").write_text("in the way")
    async with serve_script([Reply(parts=say("x"), is_complete=False)]) as server:
        place.point_at(server.base_url)
        ran = await run_exec(place, "go")
    assert (ran.code, ran.err) == (1, "")


async def test_torn_last_line_costs_nothing_but_itself(place: Place) -> None:
    async with serve_script([]) as server:
        place.point_at(server.base_url)
        await run_exec(place, "one")
    (path,) = place.sessions()
    with path.open("ab") as file:
        file.write(b'{"timestamp":"2026-01-01T00:00:00.000Z","type":"response_item","payl')
    assert said(await resumes(place, path), "user")[-2:] == ["one", "go on"]
    assert said(await resumes(place, path), "user")[-3:] == ["one", "go on", "go on"]
