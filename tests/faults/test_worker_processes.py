"""Real workers: results are exact, every end is the end of the whole tree, and nobody outlives the supervisor."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from pycodex.protocol.confinement import Confinement
from pycodex.protocol.frames import STDIN_BYTES, STDIN_OPEN, Exited, Output, RunCommand, Started
from pycodex.supervisor.workers.lease import JobFailed, WorkerLost
from pycodex.supervisor.workers.pool import Pool
from pycodex.supervisor.workers.pty import PtySessions
from support.fake_worker import TERMINAL, command
from support.interpreter import python_argv
from support.pools import Pools, alive, descendants
from support.waiting import eventually, eventually_async

CONFINED = Confinement()
UNCONFINED = Confinement(unconfined_because="a test")
BOTH = pytest.mark.parametrize("confinement", [CONFINED, UNCONFINED], ids=["confined", "unconfined"])

# Two levels, one of them in a session of its own; the line says that all are there.
FAMILY = "setsid sleep 1000 & sleep 1000 & echo complete; sleep 1000"


def shell(script: str, **fields: object) -> RunCommand:
    return command("/bin/sh", "-c", script, **fields)


async def family_of(job: object, pool: Pool) -> set[int]:
    """Everybody below the zygote, once the job's family is complete."""
    async for fact in job:  # type: ignore[attr-defined]
        if isinstance(fact, Output) and b"complete" in fact.data:
            return descendants(pool.zygote_pid)
    raise AssertionError("the family never was complete")


@BOTH
async def test_result_is_exact(real_pools: Pools, confinement: Confinement) -> None:
    script = 'cat; echo "$WORD"; pwd; echo problem >&2; exit 7'
    order = shell(
        script,
        cwd="/usr",
        env={"WORD": "hello", "PATH": "/usr/bin:/bin"},
        stdin=STDIN_BYTES,
        stdin_bytes=b"input\n",
        confinement=confinement,
    )
    async with real_pools.open() as pool:
        done = await pool.run(order)
    assert (done.code, done.signal) == (7, None)
    assert done.stdout.data == b"input\nhello\n/usr\n"
    assert done.stderr.data == b"problem\n"


@BOTH
async def test_signal_is_told(real_pools: Pools, confinement: Confinement) -> None:
    async with real_pools.open() as pool:
        done = await pool.run(shell("kill -TERM $$", confinement=confinement))
    assert (done.code, done.signal) == (None, signal.SIGTERM)


async def test_command_that_does_not_exist_fails_with_its_errno(real_pools: Pools) -> None:
    async with real_pools.open() as pool:
        with pytest.raises(JobFailed) as raised:
            await pool.run(command("/nonesuch/program"))
    assert raised.value.errno == 2


async def test_head_and_tail_of_large_output_are_exact(real_pools: Pools) -> None:
    size, cap = 3_000_000, 100_000
    program = f"import sys; sys.stdout.write(''.join('%09d\\n' % n for n in range({size // 10})))"
    order = command(sys.executable, "-I", "-c", program, output_cap_bytes=cap, credit_bytes=cap // 2)
    async with real_pools.open() as pool:
        done = await pool.run(order)
    whole = b"".join(b"%09d\n" % number for number in range(size // 10))
    out = done.stdout
    assert whole.startswith(out.head)
    assert whole.endswith(out.tail)
    assert len(out.head) + out.dropped_bytes + len(out.tail) == size
    assert len(out.head) <= cap // 2
    assert len(out.tail) == cap // 2
    assert done.exited.dropped_bytes == out.dropped_bytes


async def test_result_after_thousands_of_tiny_pieces_is_not_lost(real_pools: Pools) -> None:
    program = "import os\nfor _ in range(20000):\n    os.write(1, b'o')\n    os.write(2, b'e')"
    async with real_pools.open() as pool:
        done = await pool.run(command(sys.executable, "-I", "-c", program))
    assert done.stdout.data == b"o" * 20000
    assert done.stderr.data == b"e" * 20000


@BOTH
async def test_running_command_is_written_to(real_pools: Pools, confinement: Confinement) -> None:
    order = command("/bin/cat", stdin=STDIN_OPEN, confinement=confinement)
    data = os.urandom(300_000)
    async with real_pools.open() as pool, pool.running(order) as job:
        await job.write(data, close=True)
        facts = [fact async for fact in job]
    assert isinstance(facts[0], Started)
    assert b"".join(fact.data for fact in facts if isinstance(fact, Output)) == data
    assert isinstance(facts[-1], Exited)


@BOTH
async def test_timeout_ends_the_whole_tree(real_pools: Pools, confinement: Confinement) -> None:
    async with real_pools.open() as pool:
        done = await pool.run(shell(FAMILY, timeout_ms=300, confinement=confinement))
        assert done.exited.reason == "timeout"
        assert done.stdout.data == b"complete\n"


@BOTH
async def test_cancelling_the_caller_ends_the_whole_tree(real_pools: Pools, confinement: Confinement) -> None:
    async with real_pools.open(warm=0) as pool:
        with trio.CancelScope() as scope:
            async with pool.running(shell(FAMILY, confinement=confinement)) as job:
                family = await family_of(job, pool)
                scope.cancel()
                await trio.sleep_forever()
        assert isinstance(job.end, Exited)
        await eventually_async(lambda: not alive(family))


@BOTH
async def test_killed_worker_loses_its_call_and_leaves_nobody(real_pools: Pools, confinement: Confinement) -> None:
    async with real_pools.open(warm=0) as pool:
        async with pool.running(shell(FAMILY, confinement=confinement)) as job:
            family = await family_of(job, pool)
            [worker] = zygote_children(pool)
            os.kill(worker, signal.SIGKILL)
            with pytest.raises(WorkerLost, match="killed by signal 9"):
                async for _ in job:
                    pass
        await eventually_async(lambda: not alive(family))
        assert (await pool.run(command("/bin/true"))).code == 0


def zygote_children(pool: Pool) -> list[int]:
    with open(f"/proc/{pool.zygote_pid}/task/{pool.zygote_pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


@BOTH
async def test_killed_zygote_is_replaced_and_leaves_nobody(real_pools: Pools, confinement: Confinement) -> None:
    async with real_pools.open() as pool:
        async with pool.running(shell(FAMILY, confinement=confinement)) as job:
            family = await family_of(job, pool)
            assert pool.zygote_pid is not None
            os.kill(pool.zygote_pid, signal.SIGKILL)
            # Whoever notices first tells: the supervisor, or the worker itself.
            await job.wait()
            assert not isinstance(job.end, Exited)
        await eventually_async(lambda: not alive(family))
        assert (await pool.run(command("/bin/true", confinement=confinement))).code == 0


@BOTH
async def test_killed_worker_that_is_idle_is_replaced(real_pools: Pools, confinement: Confinement) -> None:
    async with real_pools.open() as pool:
        await pool.run(command("/bin/true", confinement=confinement))
        await eventually_async(lambda: len(zygote_children(pool)) >= 2)
        killed = zygote_children(pool)
        for pid in killed:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                # The one that served the first call has just exited.
                continue
        await eventually_async(lambda: not alive(set(killed)))
        assert (await pool.run(command("/bin/true", confinement=confinement))).code == 0


@BOTH
async def test_closing_with_running_jobs_leaves_nobody(real_pools: Pools, confinement: Confinement) -> None:
    with trio.CancelScope() as scope:
        async with real_pools.open() as pool, trio.open_nursery() as nursery:
            for _ in range(4):
                nursery.start_soon(pool.run, shell(FAMILY, confinement=confinement))
            await eventually_async(lambda: len(descendants(pool.zygote_pid)) >= 16)
            family = descendants(pool.zygote_pid)
            scope.cancel()
    assert not alive(family)


SUPERVISOR = """
import sys, trio
from pycodex.protocol.confinement import Confinement
from pycodex.protocol.frames import Output, RunCommand
from pycodex.supervisor.workers.pool import open_pool

def order(confinement):
    return RunCommand(job_id="", argv=("/bin/sh", "-c", sys.argv[2]), cwd="/", env={"PATH": "/usr/bin:/bin"},
                      confinement=confinement)

async def follow(pool, confinement, complete):
    async with pool.running(order(confinement)) as job:
        async for fact in job:
            if isinstance(fact, Output):
                complete.set()

async def main():
    async with open_pool(env={"XDG_RUNTIME_DIR": sys.argv[1]}) as pool, trio.open_nursery() as nursery:
        for confinement in (Confinement(), Confinement(network=True), Confinement(unconfined_because="a test")):
            complete = trio.Event()
            nursery.start_soon(follow, pool, confinement, complete)
            await complete.wait()
        print("all run", flush=True)
        await trio.sleep_forever()

trio.run(main)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_killed_supervisor_leaves_nobody(real_pools: Pools, number: signal.Signals) -> None:
    with subprocess.Popen(
        python_argv(SUPERVISOR, real_pools.base, FAMILY), stdout=subprocess.PIPE, text=True, cwd="/"
    ) as supervisor:
        assert supervisor.stdout is not None
        assert supervisor.stdout.readline() == "all run\n"
        everybody = descendants(supervisor.pid)
        assert len(everybody) > 10
        supervisor.send_signal(number)
        supervisor.wait()
        eventually(lambda: not alive(everybody), 2, what="everybody gone")
    # Pools of earlier tests have made this process the one that adopts them.
    for pid in everybody:
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            continue


async def test_many_calls_at_once_all_end(real_pools: Pools, scale: Callable[[int, int], int]) -> None:
    count = scale(100, 1000)
    seen: list[bytes] = []
    async with real_pools.open() as pool:

        async def call(number: int) -> None:
            done = await pool.run(command("/bin/echo", str(number)), session_id=str(number % 10))
            seen.append(done.stdout.data)

        async with trio.open_nursery() as nursery:
            for number in range(count):
                nursery.start_soon(call, number)
    assert sorted(seen) == sorted(b"%d\n" % number for number in range(count))


async def test_file_job_reads_a_file(real_pools: Pools, tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("one\ntwo\n", encoding="utf-8")
    async with real_pools.open() as pool:
        answer = (await pool.run_file_job("read_file", {"path": str(path)}, cwd="/", confinement=CONFINED)).value
        assert isinstance(answer, dict)
        assert answer["lines"] == ["one", "two"]
        with pytest.raises(JobFailed, match="No such file"):
            await pool.run_file_job("read_file", {"path": "/nonesuch"}, cwd="/", confinement=CONFINED)


async def poll_for(sessions: PtySessions, process_id: int, text: bytes) -> bytes:
    seen = b""
    while text not in seen:
        polled = await sessions.poll(process_id, yield_ms=100, max_bytes=1 << 16)
        seen += polled.output.data
        assert polled.exited is None
    return seen


@BOTH
async def test_terminal_is_written_resized_interrupted_and_left(real_pools: Pools, confinement: Confinement) -> None:
    async with real_pools.open() as pool:
        sessions = PtySessions(pool)
        process_id = await sessions.start(command("/bin/sh", pty=TERMINAL, confinement=confinement))
        await sessions.write(process_id, b"stty size\n")
        await poll_for(sessions, process_id, b"24 80")
        await sessions.resize(process_id, 50, 132)
        await sessions.write(process_id, b"stty size\n")
        await poll_for(sessions, process_id, b"50 132")
        await sessions.write(process_id, b"trap 'echo caught' INT; echo rea''dy; sleep 1000\n")
        await poll_for(sessions, process_id, b"ready")
        await sessions.interrupt(process_id)
        await poll_for(sessions, process_id, b"caught")
        await sessions.write(process_id, b"exit 9\n")
        exited = None
        while exited is None:
            exited = (await sessions.poll(process_id, yield_ms=1000, max_bytes=1 << 16)).exited
        assert exited.code == 9


async def test_process_that_is_not_polled_is_held_in_bounded_memory(real_pools: Pools) -> None:
    """An endless writer: what is not polled is dropped by its worker and counted; calls beside it are not disturbed."""
    async with real_pools.open() as pool:
        sessions = PtySessions(pool)
        order = shell("while :; do echo 0123456789; done", output_cap_bytes=200_000, credit_bytes=100_000)
        process_id = await sessions.start(order)
        for _ in range(5):
            assert (await pool.run(command("/bin/true"))).code == 0
        kept = dropped = 0
        while dropped == 0:
            polled = await sessions.poll(process_id, yield_ms=20, max_bytes=50_000)
            kept += len(polled.output.data)
            dropped += polled.output.dropped_bytes
            await trio.sleep(0.05)
        last = await sessions.end(process_id)
        assert last.exited is not None
        assert len(last.output.data) <= 100_000 + 2 * 100_000 + kept
        total = kept + dropped + len(last.output.data) + last.output.dropped_bytes
        assert total == last.exited.output_bytes
