"""Processes go on between calls, hold back when nobody polls, and are ended at the latest with the pool."""

import pytest
import trio

from pycodex.protocol.frames import RunCommand
from pycodex.supervisor.workers.lease import JobFailed, JobOver, JobRefused, WorkerLost
from pycodex.supervisor.workers.pty import Polled, PtySessions, TooManyProcesses, UnknownProcess
from support.fake_worker import TERMINAL, command
from support.pools import Pools, alive, workers_of
from support.waiting import eventually_async

LONG_MS = 60_000


def terminal(*argv: str) -> RunCommand:
    return command(*argv, pty=TERMINAL)


async def poll_until(sessions: PtySessions, process_id: int, text: bytes) -> bytes:
    """Everything up to and with `text`."""
    seen = b""
    while text not in seen:
        polled = await sessions.poll(process_id, yield_ms=50, max_bytes=10_000)
        seen += polled.output.data
        assert polled.exited is None
    return seen


async def poll_to_end(sessions: PtySessions, process_id: int, *, max_bytes: int = 10_000) -> list[Polled]:
    polls: list[Polled] = []
    while not polls or polls[-1].exited is None:
        polls.append(await sessions.poll(process_id, yield_ms=LONG_MS, max_bytes=max_bytes))
    return polls


async def test_process_goes_on_between_polls(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool:
        sessions = PtySessions(pool)
        process_id = await sessions.start(terminal("cat"))
        await sessions.write(process_id, b"one")
        assert await poll_until(sessions, process_id, b"one") == b"one"
        await sessions.write(process_id, b"two")
        assert await poll_until(sessions, process_id, b"two") == b"two"
        await sessions.write(process_id, b"", close=True)
        last = (await poll_to_end(sessions, process_id))[-1]
        assert last.exited is not None
        assert last.exited.code == 0


async def test_poll_without_news_returns_after_its_time(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool:
        sessions = PtySessions(pool)
        process_id = await sessions.start(terminal("cat"))
        polled = await sessions.poll(process_id, yield_ms=1, max_bytes=100)
        assert (polled.output.data, polled.exited, polled.more) == (b"", None, False)


async def test_end_is_kept_until_it_is_polled_and_told_once(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool:
        sessions = PtySessions(pool)
        process_id = await sessions.start(command("say", "bye", "", "4"))
        await eventually_async(lambda: sessions.list()[0].ended)
        polled = await sessions.poll(process_id, yield_ms=0, max_bytes=100)
        assert polled.output.data == b"bye"
        assert polled.exited is not None
        assert polled.exited.code == 4
        with pytest.raises(UnknownProcess, match=str(process_id)):
            await sessions.poll(process_id, yield_ms=0, max_bytes=100)


async def test_end_is_told_after_the_last_byte(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool:
        sessions = PtySessions(pool)
        process_id = await sessions.start(command("say", "abcdefgh"))
        polls = await poll_to_end(sessions, process_id, max_bytes=3)
    assert [polled.output.data for polled in polls] == [b"abc", b"def", b"gh"]
    assert [polled.more for polled in polls] == [True, True, False]


async def test_gap_is_told_with_its_size(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool:
        sessions = PtySessions(pool)
        polls = await poll_to_end(sessions, await sessions.start(command("gap")))
    assert sum(polled.output.dropped_bytes for polled in polls) == 100
    assert b"".join(polled.output.data for polled in polls) == b"headtail"


async def test_worker_sends_more_only_when_output_was_polled(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool:
        sessions = PtySessions(pool)
        process_id = await sessions.start(command("credits", credit_bytes=10_000))
        total = 0
        while True:
            polled = await sessions.poll(process_id, yield_ms=LONG_MS, max_bytes=10_000)
            total += len(polled.output.data)
            if polled.exited is not None:
                break
            assert len(polled.output.data) <= 10_000
    assert total == 100_000


async def test_interrupt_of_a_terminal_is_control_c(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool:
        sessions = PtySessions(pool)
        process_id = await sessions.start(terminal("cat"))
        await sessions.interrupt(process_id)
        assert await poll_until(sessions, process_id, b"\x03") == b"\x03"


async def test_interrupt_without_a_terminal_ends_the_process(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool:
        sessions = PtySessions(pool)
        process_id = await sessions.start(command("hang"))
        await sessions.interrupt(process_id)
        last = (await poll_to_end(sessions, process_id))[-1]
        assert last.exited is not None
        assert last.exited.reason == "interrupt"


async def test_ended_process_is_gone_and_tells_its_last_words(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool:
        sessions = PtySessions(pool)
        process_id = await sessions.start(terminal("cat"))
        await sessions.write(process_id, b"last")
        polled = await sessions.end(process_id)
        assert polled.output.data == b"last"
        assert polled.exited is not None
        assert polled.exited.reason == "ended"
        assert sessions.list() == ()


async def test_list_tells_what_runs(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool:
        sessions = PtySessions(pool)
        first = await sessions.start(terminal("cat"))
        second = await sessions.start(command("hang"))
        assert first != second
        assert [(info.process_id, info.argv, info.tty, info.ended) for info in sessions.list()] == [
            (first, ("cat",), True, False),
            (second, ("hang",), False, False),
        ]


@pytest.mark.parametrize(
    ("behaviour", "error"), [("refuse", JobRefused), ("fail", JobFailed), ("die", WorkerLost), ("flood", WorkerLost)]
)
async def test_failure_is_raised_by_the_poll_once(fake_pools: Pools, behaviour: str, error: type[Exception]) -> None:
    async with fake_pools.open() as pool:
        sessions = PtySessions(pool)
        process_id = await sessions.start(command(behaviour))
        await eventually_async(lambda: sessions.list()[0].ended)
        with pytest.raises(error):
            await poll_to_end(sessions, process_id, max_bytes=100 << 20)
        assert sessions.list() == ()


async def test_write_after_the_end_is_an_error_for_the_model(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool:
        sessions = PtySessions(pool)
        process_id = await sessions.start(command("true"))
        await eventually_async(lambda: sessions.list()[0].ended)
        with pytest.raises(JobOver):
            await sessions.write(process_id, b"x")


async def test_number_of_processes_is_bounded(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool:
        sessions = PtySessions(pool, max_sessions=2)
        first = await sessions.start(command("hang"))
        await sessions.start(command("hang"))
        with pytest.raises(TooManyProcesses, match="2 processes"):
            await sessions.start(command("hang"))
        await sessions.end(first)
        await sessions.start(command("hang"))


async def test_processes_take_no_place_from_calls(fake_pools: Pools) -> None:
    async with fake_pools.open(max_running=1) as pool:
        sessions = PtySessions(pool)
        for _ in range(3):
            await sessions.start(command("hang"))
        assert (await pool.run(command("true"))).code == 0


async def test_closing_the_pool_ends_processes(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool:
        sessions = PtySessions(pool)
        process_id = await sessions.start(command("hang"))
        workers = workers_of(pool)
    assert not alive(workers)
    polled = await sessions.poll(process_id, yield_ms=0, max_bytes=100)
    assert polled.exited is not None
    assert polled.exited.reason == "shutdown"


async def test_cancelled_poll_loses_nothing(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool:
        sessions = PtySessions(pool)
        process_id = await sessions.start(terminal("cat"))
        with trio.move_on_after(0.01):
            await sessions.poll(process_id, yield_ms=LONG_MS, max_bytes=100)
        await sessions.write(process_id, b"kept")
        assert await poll_until(sessions, process_id, b"kept") == b"kept"


async def test_resize_reaches_the_worker(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool:
        sessions = PtySessions(pool)
        process_id = await sessions.start(terminal("size"))
        await sessions.resize(process_id, 40, 100)
        assert (await poll_to_end(sessions, process_id))[-1].output.data == b"40x100"


async def test_start_can_be_awaited(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool:
        sessions = PtySessions(pool)
        process_id = await sessions.start(command("hang"))
        await sessions.started(process_id)
        await sessions.started(process_id)
        quick = await sessions.start(command("true"))
        await sessions.started(quick)


@pytest.mark.parametrize(("behaviour", "error"), [("refuse", JobRefused), ("fail", JobFailed), ("die", WorkerLost)])
async def test_failure_to_start_is_raised_and_frees_the_number(
    fake_pools: Pools, behaviour: str, error: type[Exception]
) -> None:
    async with fake_pools.open() as pool:
        sessions = PtySessions(pool)
        process_id = await sessions.start(command(behaviour))
        with pytest.raises(error):
            await sessions.started(process_id)
        assert sessions.list() == ()


async def test_read_gives_all_there_is_and_then_the_end(fake_pools: Pools) -> None:
    async with fake_pools.open() as pool:
        sessions = PtySessions(pool)
        process_id = await sessions.start(terminal("cat"))
        await sessions.write(process_id, b"one")
        assert (await sessions.read(process_id)).output.data == b"one"
        await sessions.write(process_id, b"", close=True)
        await sessions.over(process_id)
        polled = await sessions.read(process_id)
        assert polled.exited is not None
        with pytest.raises(UnknownProcess):
            await sessions.read(process_id)


async def test_numbers_are_free_ones(fake_pools: Pools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pycodex.supervisor.workers.pty.PROCESS_IDS", (1, 2, 3))
    async with fake_pools.open() as pool:
        sessions = PtySessions(pool)
        first = await sessions.start(command("hang"))
        second = await sessions.start(command("hang"), besides={3})
        assert {first, second} <= {1, 2, 3}
        assert first != second
        assert second != 3
