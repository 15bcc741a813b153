"""Commands on a terminal of the sandbox's own, reached from outside."""

import signal

import pytest
import trio
import trio.testing

from pycodex.protocol.confinement import Confinement
from pycodex.protocol.frames import Exited, Pty
from support.marked import Mark
from support.orders import BOTH, boxes_of, run, shell, signal_all, until_said
from support.pools import Pools
from support.waiting import eventually_async

SIZE = Pty(rows=31, cols=97)


@BOTH
async def test_command_has_a_terminal_of_the_ordered_size(real_pools: Pools, confinement: Confinement) -> None:
    script = "stty size; tty; test -t 0 -a -t 1 -a -t 2 && echo all three; echo said >/dev/tty; echo wrong >&2"
    async with real_pools.open() as pool:
        done = await pool.run(shell(script, pty=SIZE, confinement=confinement))
    size, name, *rest = done.stdout.data.decode().splitlines()
    assert size == "31 97"
    assert name.startswith("/dev/pts/")
    assert rest == ["all three", "said", "wrong"]
    assert done.stderr.data == b""
    assert done.code == 0


@BOTH
async def test_resize_reaches_the_command_as_a_signal(real_pools: Pools, confinement: Confinement) -> None:
    script = "trap 'stty size; exit 6' WINCH; echo ready; while :; do sleep 0.02; done"
    async with real_pools.open() as pool, pool.running(shell(script, pty=SIZE, confinement=confinement)) as job:
        await until_said(job, b"ready")
        await job.resize(50, 132)
        await until_said(job, b"50 132")
        end = await job.wait()
    assert isinstance(end, Exited)
    assert end.code == 6


@BOTH
async def test_keys_do_what_keys_do(real_pools: Pools, confinement: Confinement) -> None:
    mark = Mark()
    script = f"trap 'echo interrupted' INT; sleep {mark}; echo after; read line; echo read $line; cat; echo closed"
    async with real_pools.open() as pool, pool.running(shell(script, pty=SIZE, confinement=confinement)) as job:
        await eventually_async(mark.sleepers)
        await job.write(b"\x03")
        await until_said(job, b"after")
        await job.write(b"a line\n")
        await until_said(job, b"read a line")
        await job.write(b"\x04")
        await until_said(job, b"closed")
        end = await job.wait()
    assert isinstance(end, Exited)
    assert end.code == 0


@BOTH
async def test_interrupt_ends_a_command_that_does_not_care(real_pools: Pools, confinement: Confinement) -> None:
    order = shell("echo ready; exec sleep 1000", pty=SIZE, confinement=confinement)
    async with real_pools.open() as pool, pool.running(order) as job:
        await until_said(job, b"ready")
        await job.write(b"\x03")
        end = await job.wait()
    assert isinstance(end, Exited)
    assert (end.code, end.signal) == (None, signal.SIGINT)


@BOTH
async def test_job_control_works(real_pools: Pools, confinement: Confinement) -> None:
    """Which takes a controlling terminal and the right to choose its foreground group."""
    mark = Mark()
    order = run("/bin/bash", "--norc", "-i", pty=SIZE, confinement=confinement)
    async with real_pools.open() as pool, pool.running(order) as job:
        await job.write(b"sleep %s\n" % str(mark).encode())
        await eventually_async(mark.sleepers)
        await job.write(b"\x1a")
        await until_said(job, b"Stopped")
        await job.write(b"kill -9 %1; echo on''ward\n")
        await until_said(job, b"onward")
        await eventually_async(lambda: not mark.sleepers())


@BOTH
async def test_ending_a_terminal_ends_its_whole_tree(real_pools: Pools, confinement: Confinement) -> None:
    mark = Mark()
    async with real_pools.open() as pool:
        async with pool.running(shell(mark.family(), pty=SIZE, confinement=confinement)) as job:
            await until_said(job, b"complete")
            await eventually_async(lambda: len(mark.sleepers()) >= 3)
        assert isinstance(job.end, Exited)
        assert mark.alive() == set()


@BOTH
async def test_much_input_and_output_pass_a_terminal(real_pools: Pools, confinement: Confinement) -> None:
    """More than a terminal holds, in both directions at once."""
    lines = b"".join(b"%0100d\n" % number for number in range(2000))
    order = shell("stty -echo -onlcr; echo ready; cat; echo done", pty=SIZE, confinement=confinement)
    async with real_pools.open() as pool, pool.running(order) as job, trio.open_nursery() as nursery:
        await until_said(job, b"ready\n")

        async def write() -> None:
            await job.write(lines)
            await job.write(b"\x04")

        nursery.start_soon(write)
        said = await until_said(job, b"done\n")
    assert said == lines + b"done\n"


@BOTH
async def test_what_is_sent_before_the_terminal_is_there_is_not_lost(
    real_pools: Pools, confinement: Confinement
) -> None:
    async with real_pools.open() as pool:
        await pool.run(run("/bin/true", confinement=confinement))
        children = (await boxes_of(pool, at_least=2)).values()
        signal_all(children, signal.SIGSTOP)
        order = shell("read line; stty size; echo $line", pty=SIZE, confinement=confinement)
        async with pool.running(order) as job, trio.open_nursery() as nursery:

            async def send() -> None:
                await job.resize(40, 140)
                await job.write(b"typed early\n")

            nursery.start_soon(send)
            await trio.testing.wait_all_tasks_blocked()
            signal_all(children, signal.SIGCONT)
            # As the terminal echoes it, the size, and the line itself.
            said = await until_said(job, b"\r\ntyped early\r\n")
        assert b"40 140\r\n" in said


@BOTH
@pytest.mark.parametrize("size", [(0, 0), (1 << 16, 80), (80, 1 << 40), (-1, 80)])
async def test_senseless_size_does_no_harm(real_pools: Pools, confinement: Confinement, size: tuple[int, int]) -> None:
    rows, cols = size
    async with real_pools.open() as pool:
        order = shell("echo ready; read line; tty; echo got $line", pty=SIZE, confinement=confinement)
        async with pool.running(order) as job:
            await until_said(job, b"ready")
            await job.resize(rows, cols)
            await job.write(b"this\n")
            await until_said(job, b"got this")
        done = await pool.run(shell("tty", pty=Pty(rows=rows, cols=cols), confinement=confinement))
        assert done.stdout.data.startswith(b"/dev/pts/")
