"""One call with a real worker: what the command gets, what comes back, and that its end is the end of everything."""

import errno
import os
import signal
from functools import partial
from pathlib import Path

import psutil
import pytest
import trio
import trio.testing

from pycodex.protocol.confinement import Confinement, Entry
from pycodex.protocol.frames import STDIN_BYTES, STDIN_OPEN, BadFrame, Exited, Output, Pty, Started
from pycodex.supervisor.workers.lease import JobFailed, JobRefused, LiveJob
from pycodex.supervisor.workers.pool import Pool
from support.marked import Mark
from support.orders import BOTH, UNCONFINED, boxes_of, python, run, shell, signal_all, started_pid, until_said, writing
from support.pools import Pools, alive, descendants, workers_of
from support.waiting import eventually_async

needs_ordinary_user = pytest.mark.skipif(os.geteuid() == 0, reason="root may enter any directory")

# What the command gets


@BOTH
async def test_arguments_environment_and_directory_are_the_orders_own(
    real_pools: Pools, confinement: Confinement, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYCODEX_TEST_SECRET", "of the supervisor")
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "a folder"
    folder.mkdir()
    odd = ("", " ", "two words", "new\nline", "ü€😀", "--", "$HOME", "'\"\\", "*", "caf\udce9")
    env = {"ONLY": "this", "EMPTY": "", "ODD": "a=b\nc ü", "lower.case-name": "x", "RAW": "\udcff"}
    program = "import os, sys; print(ascii((sys.argv[1:], dict(os.environ), os.getcwd())))"
    async with real_pools.open() as pool:
        done = await pool.run(python(program, *odd, cwd=str(folder), env=env, confinement=confinement))
    assert done.stderr.data == b""
    argv, seen_env, cwd = eval(done.stdout.data)
    assert argv == list(odd)
    # The interpreter itself may add this one when it finds the C locale.
    seen_env.pop("LC_CTYPE", None)
    assert seen_env == env
    assert cwd == str(folder)


@BOTH
async def test_nothing_but_the_standard_streams_is_open(real_pools: Pools, confinement: Confinement) -> None:
    program = "import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd')))"
    async with real_pools.open() as pool:
        done = await pool.run(python(program, confinement=confinement))
    # The fourth is the listing itself.
    assert done.stdout.data == b"[0, 1, 2, 3]\n"


@BOTH
async def test_signals_session_and_core_size_are_fresh(real_pools: Pools, confinement: Confinement) -> None:
    script = "grep -E '^Sig(Blk|Ign)' /proc/self/status; ps -o pid=,sid= $$; ulimit -c; ulimit -Hc"
    async with real_pools.open() as pool:
        done = await pool.run(shell(script, confinement=confinement))
    blocked, ignored, session, *cores = done.stdout.data.splitlines()
    assert int(blocked.split()[1], 16) == 0
    # The C library keeps two for itself.
    assert int(ignored.split()[1], 16) & ~(1 << 31 | 1 << 32) == 0
    assert len(set(session.split())) == 1
    assert cores == [b"0", b"0"]


@BOTH
async def test_exec_failures_tell_what_and_why(real_pools: Pools, confinement: Confinement, tmp_path: Path) -> None:
    plain, broken = tmp_path / "plain", tmp_path / "broken"
    plain.write_text("no program", encoding="ascii")
    broken.write_bytes(b"\x7fELF" + bytes(60))
    broken.chmod(0o755)
    orphan = tmp_path / "orphan"
    orphan.write_text("#!/nonesuch/interpreter\n", encoding="ascii")
    orphan.chmod(0o755)
    cases: list[tuple[tuple[str, ...], int]] = [
        (("/nonesuch/program",), errno.ENOENT),
        (("nonesuch-program",), errno.ENOENT),
        (("",), errno.ENOENT),
        ((str(plain),), errno.EACCES),
        ((str(tmp_path),), errno.EACCES),
        ((str(plain / "x"),), errno.ENOTDIR),
        ((str(broken),), errno.ENOEXEC),
        ((str(orphan),), errno.ENOENT),
        (("/" + "x" * 5000,), errno.ENAMETOOLONG),
        (("/bin/true", "x" * (1 << 18)), errno.E2BIG),
    ]
    async with real_pools.open() as pool:
        for argv, number in cases:
            with pytest.raises(JobFailed) as raised:
                await pool.run(run(*argv, confinement=confinement))
            assert raised.value.errno == number, argv
            assert os.strerror(number) in str(raised.value), argv
            assert argv[0][:100] in str(raised.value)


@BOTH
async def test_command_is_found_by_the_orders_own_path(
    real_pools: Pools, confinement: Confinement, tmp_path: Path
) -> None:
    for name, mode in (("denied", 0o644), ("found", 0o755)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "pick-me").write_text(f"#!/bin/sh\necho {name}\n", encoding="ascii")
        (folder / "pick-me").chmod(mode)
    env = {"PATH": f"/nonesuch:{tmp_path}/denied:{tmp_path}/found:/usr/bin:/bin"}
    async with real_pools.open() as pool:
        assert (await pool.run(run("pick-me", env=env, confinement=confinement))).stdout.data == b"found\n"
        with pytest.raises(JobFailed) as raised:
            await pool.run(run("pick-me", env={"PATH": f"{tmp_path}/denied"}, confinement=confinement))
    assert raised.value.errno == errno.EACCES


@BOTH
async def test_directory_that_cannot_be_entered_is_named(
    real_pools: Pools, confinement: Confinement, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.touch()
    async with real_pools.open() as pool:
        for cwd, number in (("/nonesuch/cwd", errno.ENOENT), (str(file), errno.ENOTDIR)):
            with pytest.raises(JobFailed, match=cwd) as raised:
                await pool.run(run("/bin/true", cwd=cwd, confinement=confinement))
            assert raised.value.errno == number


@needs_ordinary_user
@BOTH
async def test_directory_without_permission_gives_none(
    real_pools: Pools, confinement: Confinement, tmp_path: Path
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    (closed / "secret").touch()
    closed.chmod(0)
    async with real_pools.open() as pool:
        try:
            seen = (await pool.run(run("/bin/ls", cwd=str(closed), confinement=confinement))).stdout.data
        except JobFailed as error:
            seen = str(error).encode()
    assert b"secret" not in seen
    assert seen in (b"", f"{closed}: Permission denied".encode())


@BOTH
async def test_command_that_is_none_is_refused_in_words(real_pools: Pools, confinement: Confinement) -> None:
    async with real_pools.open() as pool:
        for order in (run(confinement=confinement), run("/bin/true", "nul\0byte", confinement=confinement)):
            with pytest.raises(JobFailed) as raised:
                await pool.run(order)
            assert "Traceback" not in str(raised.value)
            assert "IndexError" not in str(raised.value)
        for env in ({"NUL": "a\0b"}, {"A=B": "c"}):
            with pytest.raises(JobFailed):
                await pool.run(run("/bin/true", env=env, confinement=confinement))
        assert (await pool.run(run("/bin/true", confinement=confinement))).code == 0


async def test_large_arguments_and_environments_come_through(real_pools: Pools) -> None:
    argv = ["x" * 100_000] * 5
    env = {f"NAME{number}": "v" * 1000 for number in range(500)}
    program = "import os, sys; print(sum(map(len, sys.argv[1:])), sum(map(len, os.environ.values())))"
    async with real_pools.open() as pool:
        done = await pool.run(python(program, *argv, env=env))
    in_argv, in_env = (int(word) for word in done.stdout.data.split())
    assert in_argv == 500_000
    assert in_env >= 500_000


async def test_order_that_no_frame_holds_is_refused_at_once(real_pools: Pools) -> None:
    async with real_pools.open() as pool:
        with trio.fail_after(20):
            for order in (run("/bin/true", *["x"] * 70_000), run("/bin/true", "x" * (9 << 20))):
                with pytest.raises((BadFrame, JobFailed)):
                    await pool.run(order)
        assert (await pool.run(run("/bin/true"))).code == 0


# Standard input


@BOTH
async def test_without_input_there_is_none(real_pools: Pools, confinement: Confinement) -> None:
    async with real_pools.open() as pool:
        done = await pool.run(shell("cat; readlink /proc/self/fd/0", confinement=confinement))
    assert done.stdout.data == b"/dev/null\n"


@BOTH
@pytest.mark.parametrize("size", [0, 1, 65_537, 5_000_000])
async def test_bytes_are_the_whole_input(real_pools: Pools, confinement: Confinement, size: int) -> None:
    data = os.urandom(size)
    order = run("/bin/cat", stdin=STDIN_BYTES, stdin_bytes=data, output_cap_bytes=16 << 20, credit_bytes=8 << 20)
    async with real_pools.open() as pool:
        done = await pool.run(order.replace(confinement=confinement))
    assert done.stdout.data == data


@BOTH
async def test_input_is_written_while_it_runs(real_pools: Pools, confinement: Confinement) -> None:
    order = shell("while read -r line; do echo got $line; done; echo end", stdin=STDIN_OPEN, confinement=confinement)
    async with real_pools.open() as pool, pool.running(order) as job:
        for word in (b"one", b"two"):
            await job.write(word + b"\n")
            assert await until_said(job, b"got " + word) == b"got " + word + b"\n"
        await job.write(b"", close=True)
        assert await until_said(job, b"end") == b"end\n"


@BOTH
async def test_orders_that_follow_at_once_are_not_lost(real_pools: Pools, confinement: Confinement) -> None:
    """A busy worker finds them together with the first."""
    async with real_pools.open() as pool:
        await pool.run(run("/bin/true", confinement=confinement))
        stopped = await boxes_of(pool, at_least=2)
        signal_all(stopped, signal.SIGSTOP)
        order = run("/bin/cat", stdin=STDIN_OPEN, confinement=confinement)
        async with pool.running(order) as job, trio.open_nursery() as nursery:
            nursery.start_soon(partial(job.write, b"first", close=True))
            await trio.testing.wait_all_tasks_blocked()
            signal_all(stopped, signal.SIGCONT)
            assert await until_said(job, b"first") == b"first"
            assert isinstance(await job.wait(), Exited)


async def test_large_input_for_a_slow_reader_is_not_lost(real_pools: Pools, tmp_path: Path) -> None:
    """More than anybody keeps: whoever writes has to wait."""
    gate = tmp_path / "gate"
    order = shell(f"while ! [ -e {gate} ]; do sleep 0.01; done; cat | wc -c", stdin=STDIN_OPEN)
    size = 12 << 20
    async with real_pools.open() as pool, pool.running(order) as job, trio.open_nursery() as nursery:

        async def write() -> None:
            await job.write(bytes(size), close=True)

        nursery.start_soon(write)
        await started_pid(job)
        gate.touch()
        assert int(await until_said(job, b"\n")) == size


@BOTH
async def test_command_that_reads_nothing_is_not_waited_for(real_pools: Pools, confinement: Confinement) -> None:
    order = run("/bin/true", stdin=STDIN_BYTES, stdin_bytes=bytes(3_000_000), confinement=confinement)
    async with real_pools.open() as pool:
        assert (await pool.run(order)).code == 0
        with trio.fail_after(20):
            closed = shell("exec 0<&-; echo closed; sleep 0.1", stdin=STDIN_OPEN, confinement=confinement)
            async with pool.running(closed) as job:
                await until_said(job, b"closed")
                await job.write(bytes(200_000))
                assert isinstance(await job.wait(), Exited)


# Output


@BOTH
async def test_streams_are_told_apart(real_pools: Pools, confinement: Confinement) -> None:
    async with real_pools.open() as pool:
        done = await pool.run(shell("echo out; echo err >&2; echo out2", confinement=confinement))
    assert (done.stdout.data, done.stderr.data) == (b"out\nout2\n", b"err\n")


@BOTH
async def test_merged_streams_are_in_true_order(real_pools: Pools, confinement: Confinement) -> None:
    program = "import os\nfor n in range(5000): os.write(1 + n % 2, b'%d\\n' % n)"
    async with real_pools.open() as pool:
        done = await pool.run(python(program, merge_streams=True, confinement=confinement))
    assert done.stderr.data == b""
    assert done.stdout.data == b"".join(b"%d\n" % number for number in range(5000))


async def test_dropped_bytes_are_counted_for_each_stream(real_pools: Pools) -> None:
    sizes = {1: 700_000, 2: 300_001}
    program = "import os, sys\nfor fd, size in %r.items():\n    f = open(fd, 'wb', closefd=False); f.write(bytes(size))"
    async with real_pools.open() as pool:
        done = await pool.run(python(program % sizes, output_cap_bytes=20_000, credit_bytes=10_000))
    for captured, size in ((done.stdout, 700_000), (done.stderr, 300_001)):
        assert len(captured.head) + captured.dropped_bytes + len(captured.tail) == size
    assert len(done.stdout.head) + len(done.stderr.head) <= 10_000
    assert len(done.stdout.tail) == len(done.stderr.tail) == 10_000
    assert done.exited.output_bytes == sum(sizes.values())
    assert done.exited.dropped_bytes == done.stdout.dropped_bytes + done.stderr.dropped_bytes


async def test_no_more_is_sent_than_was_asked_for(real_pools: Pools) -> None:
    order = shell("head -c 50000 /dev/zero; echo; cat", stdin=STDIN_OPEN, output_cap_bytes=200_000, credit_bytes=1000)
    async with real_pools.open() as pool, pool.running(order) as job:
        seen = 0
        async for fact in job:
            seen += len(fact.data) if isinstance(fact, Output) else 0
            if seen == 1000:
                break
        # An answer to what is asked now can only come after what would have been sent too early.
        await job.grant(500)
        async for fact in job:
            seen += len(fact.data) if isinstance(fact, Output) else 0
            if seen >= 1500:
                break
        assert seen == 1500
        await job.write(b"", close=True)
        async for fact in job:
            seen += len(fact.data) if isinstance(fact, Output) else 0
        assert isinstance(job.end, Exited)
        assert job.end.dropped_bytes == 0
    assert seen == 50_001


async def test_large_tail_comes_whole(real_pools: Pools) -> None:
    """More than one frame can hold."""
    size = 12 << 20
    order = run("/usr/bin/head", "-c", str(size), "/dev/zero", output_cap_bytes=40 << 20, credit_bytes=0)
    async with real_pools.open() as pool:
        done = await pool.run(order)
    assert len(done.stdout.data) == size
    assert done.exited.dropped_bytes == 0


# Output that must not be lost

# Longer than what may wait for credit, and every place looks different.
COUNTING = "import sys; sys.stdout.write(''.join(f'{n:08}' for n in range(%d)))"
NUMBER_BYTES = 8
PIPE_OR_TERMINAL = pytest.mark.parametrize("pty", [None, Pty()], ids=["pipes", "terminal"])


def counted(size: int) -> bytes:
    return b"".join(b"%08d" % number for number in range(size // NUMBER_BYTES))


async def read_with_credit(job: LiveJob, most_bytes: int) -> bytes:
    """What it says up to so many bytes, each piece asked for when the one before is here; nothing may be missing."""
    said = b""
    async for fact in job:
        if isinstance(fact, Output):
            assert fact.skipped_bytes == 0
            said += fact.data
            if len(said) >= most_bytes:
                break
            await job.grant(len(fact.data))
    return said


async def read_on(job: LiveJob) -> tuple[bytes, int]:
    """The rest of what it says, and how much is missing."""
    said, missing = b"", 0
    async for fact in job:
        if isinstance(fact, Output):
            said += fact.data
            missing += fact.skipped_bytes
    return said, missing


@PIPE_OR_TERMINAL
@BOTH
async def test_nothing_is_dropped_that_was_promised_however_slowly_it_is_read(
    real_pools: Pools, confinement: Confinement, pty: Pty | None
) -> None:
    size = 1_600_000
    order = python(
        COUNTING % (size // NUMBER_BYTES), pty=pty, confinement=confinement, lossless_bytes=size, credit_bytes=10_000
    )
    async with real_pools.open() as pool, pool.running(order) as job:
        assert await read_with_credit(job, size + 1) == counted(size)
    assert isinstance(job.end, Exited)
    assert (job.end.code, job.end.output_bytes, job.end.dropped_bytes) == (0, size, 0)


@PIPE_OR_TERMINAL
async def test_beyond_the_promise_the_newest_is_kept_and_the_rest_dropped(real_pools: Pools, pty: Pty | None) -> None:
    size, promised = 3_200_000, 200_000
    order = python(COUNTING % (size // NUMBER_BYTES), pty=pty, lossless_bytes=promised, credit_bytes=10_000)
    async with real_pools.open() as pool, pool.running(order) as job:
        head = await read_with_credit(job, promised)
        tail, missing = await read_on(job)
    whole = counted(size)
    assert whole.startswith(head)
    assert whole.endswith(tail[-500_000:])
    assert len(head) + len(tail) + missing == size
    assert missing > 1_000_000
    assert isinstance(job.end, Exited)
    assert job.end.dropped_bytes == missing


@BOTH
@pytest.mark.parametrize("drain_ms", [0, 50])
@pytest.mark.parametrize("how", ["exit", "stop", "timeout"])
async def test_end_of_a_command_that_was_held_back_tells_all_that_it_had_said(
    real_pools: Pools, confinement: Confinement, tmp_path: Path, how: str, drain_ms: int
) -> None:
    """Some of it is still in the pipe, since nobody gave credit for what was before."""
    size = 100_000
    written = tmp_path / "written"
    if not confinement.unconfined_because:
        confinement = writing(tmp_path)
    program = COUNTING % (size // NUMBER_BYTES) + f"; sys.stdout.flush(); open({str(written)!r}, 'x'); import time"
    order = python(
        program if how == "exit" else f"{program}; time.sleep(1000)",
        confinement=confinement,
        lossless_bytes=1 << 20,
        credit_bytes=1000,
        drain_ms=drain_ms,
        timeout_ms=3000 if how == "timeout" else None,
    )
    async with real_pools.open() as pool, pool.running(order) as job:
        await eventually_async(written.exists)
        if how == "stop":
            await job.stop("enough")
        said, missing = await read_on(job)
    assert (said, missing) == (counted(size), 0)
    assert isinstance(job.end, Exited)
    assert job.end.reason == {"exit": "", "stop": "enough", "timeout": "timeout"}[how]


async def test_end_of_a_held_back_terminal_tells_all_that_was_said(real_pools: Pools, tmp_path: Path) -> None:
    script = f"printf %01000d 0; printf %01000d 1; touch {tmp_path}/written; exit 3"
    order = shell(script, pty=Pty(), confinement=writing(tmp_path), lossless_bytes=1 << 20, credit_bytes=0)
    async with real_pools.open() as pool, pool.running(order) as job:
        await eventually_async((tmp_path / "written").exists)
        said, missing = await read_on(job)
    assert (said, missing) == (b"%01000d%01000d" % (0, 1), 0)
    assert isinstance(job.end, Exited)
    assert job.end.code == 3


async def test_terminal_that_is_held_back_can_be_written_to(real_pools: Pools, tmp_path: Path) -> None:
    """More than the terminal takes at once."""
    size = 50_000
    script = f"stty raw -echo; printf %01000d 0; touch {tmp_path}/ready; head -c {size} | wc -c >{tmp_path}/n; exec cat"
    order = shell(script, pty=Pty(), confinement=writing(tmp_path), lossless_bytes=1 << 20, credit_bytes=0)
    async with real_pools.open() as pool, pool.running(order) as job:
        await eventually_async((tmp_path / "ready").exists)
        await job.write(b"x" * size)
        counted_path = tmp_path / "n"
        await eventually_async(lambda: counted_path.exists() and counted_path.read_text(encoding="ascii").strip())
        assert int(counted_path.read_text(encoding="ascii")) == size
        assert job.end is None
        await job.stop("enough")
        assert (await read_on(job))[0].startswith(b"0" * 1000)


@PIPE_OR_TERMINAL
async def test_holding_a_command_back_takes_no_processor_time(real_pools: Pools, pty: Pty | None) -> None:
    order = run("/usr/bin/yes", pty=pty, lossless_bytes=1 << 20, credit_bytes=0)
    async with real_pools.open() as pool, pool.running(order) as job:
        command = psutil.Process(await started_pid(job))
        (worker,) = (process for process in command.parents() if process.pid in workers_of(pool))
        await eventually_async(lambda: command.status() == psutil.STATUS_SLEEPING)
        before = sum(worker.cpu_times()[:2])
        assert (await pool.run(run("/bin/sleep", "1"))).code == 0
        assert sum(worker.cpu_times()[:2]) - before < 0.1


@BOTH
async def test_command_that_closes_its_output_is_still_waited_for(real_pools: Pools, confinement: Confinement) -> None:
    async with real_pools.open() as pool:
        done = await pool.run(shell("exec >&- 2>&-; sleep 0.1; exit 3", confinement=confinement))
    assert done.code == 3
    assert not done.exited.pipe_held


# The end


@BOTH
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGPIPE, signal.SIGINT])
async def test_death_by_signal_is_told(real_pools: Pools, confinement: Confinement, number: int) -> None:
    async with real_pools.open() as pool:
        done = await pool.run(python(f"import os; os.kill(os.getpid(), {number})", confinement=confinement))
    if number in (signal.SIGPIPE, signal.SIGINT):
        # The interpreter ignores the first and makes an exception of the second.
        assert done.code == 0 or done.signal == signal.SIGINT
    else:
        assert (done.code, done.signal) == (None, number)
    assert done.exited.reason == ""


@BOTH
@pytest.mark.parametrize("code", [0, 1, 126, 255])
async def test_exit_code_is_told(real_pools: Pools, confinement: Confinement, code: int) -> None:
    async with real_pools.open() as pool:
        done = await pool.run(shell(f"exit {code}", confinement=confinement))
    assert (done.code, done.signal) == (code, None)


@BOTH
async def test_usage_is_plausible(real_pools: Pools, confinement: Confinement) -> None:
    program = "import time; b = bytearray(80 << 20)\nwhile time.process_time() < 0.2: pass"
    async with real_pools.open() as pool:
        exited = (await pool.run(python(program, confinement=confinement))).exited
        idle = (await pool.run(run("/bin/sleep", "0.2", confinement=confinement))).exited
    assert 190 <= exited.cpu_ms <= exited.wall_ms * (os.cpu_count() or 1) + 100
    assert (80 << 20) <= exited.peak_rss_bytes < (200 << 20)
    assert idle.wall_ms >= 200
    assert idle.cpu_ms < 190
    assert 0 < idle.peak_rss_bytes < (80 << 20)


@BOTH
@pytest.mark.parametrize("how", ["timeout", "cancel", "stop"])
async def test_ending_a_call_ends_its_whole_tree(real_pools: Pools, confinement: Confinement, how: str) -> None:
    mark = Mark()
    order = shell(mark.family(), timeout_ms=None if how != "timeout" else 2000, confinement=confinement)
    async with real_pools.open() as pool:
        async with pool.running(order) as job:
            await until_said(job, b"complete")
            await eventually_async(lambda: len(mark.sleepers()) >= 3 or job.end, what="all three")
            if how == "stop":
                await job.stop("enough")
            if how != "cancel":
                await job.wait()
        assert isinstance(job.end, Exited)
        assert (job.end.code, job.end.signal) == (None, signal.SIGKILL)
        assert job.end.reason == {"timeout": "timeout", "cancel": "cancelled", "stop": "enough"}[how]
        # Not "eventually": the answer itself promises that nothing of it is alive.
        assert mark.alive() == set()


async def test_confined_call_leaves_nobody_and_says_so(real_pools: Pools) -> None:
    mark = Mark()
    async with real_pools.open() as pool:
        done = await pool.run(shell(mark.family("exit 4")))
        assert mark.alive() == set()
    assert done.code == 4
    assert done.exited.survivors_killed
    assert done.exited.left_running == ()
    assert not done.exited.pipe_held


async def test_call_that_left_nobody_does_not_say_so(real_pools: Pools) -> None:
    async with real_pools.open() as pool:
        done = await pool.run(shell("sleep 0 & wait"))
    assert not done.exited.survivors_killed
    assert not done.exited.pipe_held


async def end_daemons(pool: Pool, mark: Mark) -> None:
    """Kill what was left running, and wait until it was reaped, which happens at the end of some worker."""
    pids = mark.alive()
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    while descendants(pool.zygote_pid) & pids:
        await pool.run(run("/bin/true", confinement=UNCONFINED))


async def test_unconfined_call_leaves_its_daemons_running_and_names_them(real_pools: Pools) -> None:
    mark = Mark()
    script = f"setsid sleep {mark} >/dev/null 2>&1 & exit 5"
    async with real_pools.open() as pool:
        done = await pool.run(shell(script, confinement=UNCONFINED))
        try:
            assert done.code == 5
            left = set(done.exited.left_running)
            assert left
            assert not done.exited.survivors_killed
            assert not done.exited.pipe_held
            # Another call, and the end of its worker, change nothing for them.
            assert (await pool.run(run("/bin/true", confinement=UNCONFINED))).code == 0
            assert alive(left) == left == mark.alive()
        finally:
            await end_daemons(pool, mark)


@pytest.mark.parametrize("drain_ms", [0, 300])
async def test_held_pipe_delays_the_answer_no_longer_than_ordered(real_pools: Pools, drain_ms: int) -> None:
    mark = Mark()
    script = f"echo said; setsid sleep {mark} & exit 0"
    async with real_pools.open() as pool:
        done = await pool.run(shell(script, confinement=UNCONFINED, drain_ms=drain_ms))
        try:
            assert done.code == 0
            assert done.exited.pipe_held
            # The child of the shell may not have become `sleep` yet.
            await eventually_async(lambda: mark.alive() == set(done.exited.left_running) != set())
            assert drain_ms <= done.exited.wall_ms < 10_000
            if drain_ms:
                assert done.stdout.data == b"said\n"
        finally:
            await end_daemons(pool, mark)


async def test_what_a_descendant_says_while_the_output_drains_is_kept(real_pools: Pools) -> None:
    script = "(sleep 0.2; echo late) & echo early"
    async with real_pools.open() as pool:
        done = await pool.run(shell(script, confinement=UNCONFINED, drain_ms=20_000))
    assert done.stdout.data == b"early\nlate\n"
    assert not done.exited.pipe_held
    assert done.exited.left_running == ()


async def test_timeout_does_not_count_after_the_end(real_pools: Pools) -> None:
    mark = Mark()
    script = f"setsid sleep {mark} & exit 0"
    async with real_pools.open() as pool:
        done = await pool.run(shell(script, confinement=UNCONFINED, drain_ms=500, timeout_ms=400))
        await end_daemons(pool, mark)
    assert (done.code, done.exited.reason) == (0, "")


async def test_started_names_the_command_on_the_host(real_pools: Pools) -> None:
    mark = Mark()
    async with real_pools.open() as pool, pool.running(run("/bin/sleep", str(mark))) as job:
        pid = await started_pid(job)
        await eventually_async(lambda: mark.sleepers() == {pid} or mark.alive() == {pid})


async def test_command_that_fails_to_start_is_never_called_started(real_pools: Pools) -> None:
    async with real_pools.open() as pool, pool.running(run("/nonesuch")) as job:
        facts = [fact async for fact in job]
    assert not any(isinstance(fact, Started) for fact in facts)


async def test_rule_that_cannot_be_kept_is_refused_and_nothing_runs(real_pools: Pools, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    gone = Confinement(
        entries=(Entry(path=str(tmp_path), access="write"), Entry(path=str(tmp_path / "gone"), access="read"))
    )
    async with real_pools.open() as pool:
        with pytest.raises(JobRefused, match="gone"):
            await pool.run(run("/usr/bin/touch", str(trace), confinement=gone))
        assert not trace.exists()
        assert (await pool.run(run("/usr/bin/touch", str(trace), confinement=writing(tmp_path)))).code == 0
    assert trace.exists()
