"""A job believes only what fits its order, and always has an end."""

import pytest
import trio
import trio.testing

from pycodex.protocol.confinement import Confinement, Enforced
from pycodex.protocol.frames import (
    MAX_FRAME_BYTES,
    BadFrame,
    Credit,
    Exited,
    Failed,
    Output,
    Refused,
    RunFileJob,
    Started,
    Stop,
    WriteStdin,
    decode_order,
)
from pycodex.supervisor.workers.endpoint import Congested, JobFact, Unroutable
from pycodex.supervisor.workers.lease import (
    ALLOWANCE_SLACK_BYTES,
    STDIN_CHUNK_BYTES,
    CollectedJob,
    FollowUp,
    JobFailed,
    JobOver,
    JobRefused,
    LiveJob,
    RunOrder,
    WorkerLost,
    flavour_of,
)
from support.fake_worker import command

ENFORCED = Enforced(level="none")
EXITED = Exited(job_id="job", code=0, enforced=ENFORCED)


class Hand:
    """A carrier that writes down what is posted."""

    def __init__(self) -> None:
        self.posted: list[FollowUp] = []
        self.killed: list[str] = []
        self.obstacles: list[Exception] = []

    def post(self, order: FollowUp) -> None:
        if self.obstacles:
            raise self.obstacles.pop(0)
        self.posted.append(order)

    def kill(self, why: str) -> None:
        self.killed.append(why)


def output(data: bytes = b"x", *, sequence: int, stream: str = "stdout", skipped_bytes: int = 0) -> Output:
    return Output(job_id="job", stream=stream, sequence=sequence, data=data, skipped_bytes=skipped_bytes)


def carried(job: LiveJob | CollectedJob) -> Hand:
    hand = Hand()
    job.carried_by(hand)
    return hand


def under_way(job: LiveJob) -> Hand:
    hand = carried(job)
    job.accept(Started(job_id="job", pid=1))
    return hand


@pytest.mark.parametrize(
    ("confinement", "flavour"),
    [
        (Confinement(), "confined"),
        (Confinement(network=True), "network"),
        (Confinement(unconfined_because="approved by user"), "unconfined"),
        (Confinement(unconfined_because="approved by user", network=True), "unconfined"),
    ],
)
def test_flavour_follows_the_confinement(confinement: Confinement, flavour: str) -> None:
    assert flavour_of(confinement) == flavour


def test_empty_job_id_is_filled_with_one_that_cannot_be_guessed() -> None:
    jobs = [CollectedJob(command("true")) for _ in range(2)]
    assert len({job.job_id for job in jobs}) == 2
    for job in jobs:
        assert len(job.job_id) == 32
        assert decode_order(job.frame).job_id == job.job_id


def test_given_job_id_is_kept() -> None:
    assert CollectedJob(command("true", job_id="mine")).job_id == "mine"


def test_order_that_is_too_large_fails_before_a_worker_is_taken() -> None:
    with pytest.raises(BadFrame, match="exceeds"):
        CollectedJob(command("true", stdin_bytes=b"\0" * MAX_FRAME_BYTES))


@pytest.mark.parametrize(
    "fact",
    [
        output(sequence=3, stream="elsewhere"),
        output(sequence=1),
        output(sequence=0),
        output(sequence=3, skipped_bytes=-1),
        Started(job_id="job", pid=2),
        Exited(job_id="job", enforced=ENFORCED),
        Exited(job_id="job", code=0, signal=9, enforced=ENFORCED),
    ],
)
async def test_fact_that_does_not_fit_is_named_and_ignored(fact: JobFact) -> None:
    job = CollectedJob(command("true", job_id="job"))
    carried(job)
    for good in (Started(job_id="job", pid=1), output(b"good", sequence=1)):
        assert job.accept(good) is None
    assert job.accept(fact)
    assert job.end is None
    assert job.accept(EXITED) is None
    assert job.accept(EXITED)
    assert job.completed().stdout.data == b"good"


@pytest.mark.parametrize("sequences", [(0, 1, 2, 3), (0, 0, 1, 1)], ids=["shared", "of their own"])
def test_streams_may_share_a_sequence(sequences: tuple[int, ...]) -> None:
    job = CollectedJob(command("true", job_id="job"))
    for sequence, stream in zip(sequences, ["stdout", "stderr"] * 2, strict=True):
        assert job.accept(output(sequence=sequence, stream=stream)) is None


@pytest.mark.parametrize(
    ("end", "error", "text"),
    [
        (Refused(job_id="job", text="no namespaces"), JobRefused, "no namespaces"),
        (Failed(job_id="job", text="no such file", errno=2), JobFailed, "no such file"),
        (WorkerLost("killed by signal 9"), WorkerLost, "signal 9"),
    ],
)
def test_result_of_a_job_without_one_is_its_error(end: Refused, error: type[Exception], text: str) -> None:
    job = CollectedJob(command("true", job_id="job"))
    job.finish(end)
    with pytest.raises(error, match=text) as raised:
        job.completed()
    assert getattr(raised.value, "errno", 2) == 2


@pytest.mark.parametrize("kind", ["command", "file job"])
async def test_output_beyond_the_allowance_ends_the_worker(kind: str) -> None:
    order: RunOrder
    if kind == "command":
        order = command("true", job_id="job", credit_bytes=1000, output_cap_bytes=2000)
    else:
        order = RunFileJob(
            job_id="job", name="n", arguments=b"", cwd="/", confinement=Confinement(), output_cap_bytes=1500
        )
    job = CollectedJob(order)
    hand = carried(job)
    job.accept(output(b"x" * (3000 + ALLOWANCE_SLACK_BYTES), sequence=1))
    assert not hand.killed
    job.accept(output(b"x", sequence=2))
    assert len(hand.killed) == 1
    with pytest.raises(WorkerLost, match="more output than"):
        job.completed()


async def test_granted_credit_widens_the_allowance() -> None:
    job = LiveJob(command("true", job_id="job", credit_bytes=0, output_cap_bytes=0))
    hand = carried(job)
    await job.grant(5000)
    job.accept(output(b"x" * (5000 + ALLOWANCE_SLACK_BYTES), sequence=1))
    assert hand.posted == [Credit(job_id="job", size_bytes=5000)]
    assert not hand.killed


async def test_facts_are_read_in_order_up_to_the_end() -> None:
    job = LiveJob(command("true", job_id="job"))
    carried(job)
    started = Started(job_id="job", pid=1)
    for fact in (started, output(b"a", sequence=1), EXITED):
        job.accept(fact)
    assert [fact async for fact in job] == [started, output(b"a", sequence=1), EXITED]


async def test_reader_sees_output_as_it_comes() -> None:
    job = LiveJob(command("true", job_id="job"))
    carried(job)
    async with trio.open_nursery() as nursery:
        read: list[JobFact] = []

        async def reader() -> None:
            async for fact in job:
                read.append(fact)

        nursery.start_soon(reader)
        for number in range(3):
            await trio.testing.wait_all_tasks_blocked()
            assert len(read) == number
            job.accept(output(sequence=number))
        await trio.testing.wait_all_tasks_blocked()
        job.accept(EXITED)
    assert read[-1] == EXITED


async def test_reader_of_a_lost_job_gets_what_there_was_and_then_the_error() -> None:
    job = LiveJob(command("true", job_id="job"))
    carried(job)
    job.accept(output(b"a", sequence=1))
    job.finish(WorkerLost("gone"))
    assert await anext(job) == output(b"a", sequence=1)
    with pytest.raises(WorkerLost, match="gone"):
        await anext(job)


async def test_large_input_is_written_in_pieces_and_closed() -> None:
    job = LiveJob(command("true", job_id="job"))
    hand = under_way(job)
    data = bytes(range(256)) * (STDIN_CHUNK_BYTES // 100)
    await job.write(data, close=True)
    assert all(isinstance(order, WriteStdin) and len(order.data) <= STDIN_CHUNK_BYTES for order in hand.posted)
    assert b"".join(order.data for order in hand.posted if isinstance(order, WriteStdin)) == data
    assert [order.close for order in hand.posted if isinstance(order, WriteStdin)][-1]


async def test_write_waits_for_a_worker_that_is_behind(autojump_clock: trio.testing.MockClock) -> None:
    job = LiveJob(command("true", job_id="job"))
    hand = under_way(job)
    hand.obstacles = [Congested(), Congested()]
    await job.write(b"x")
    assert [order.data for order in hand.posted if isinstance(order, WriteStdin)] == [b"x"]


@pytest.mark.parametrize("gone", ["ended", "unroutable"])
async def test_write_to_a_process_that_is_gone_says_so(gone: str) -> None:
    job = LiveJob(command("true", job_id="job"))
    hand = under_way(job)
    if gone == "ended":
        job.accept(EXITED)
    else:
        hand.obstacles = [Unroutable()]
    with pytest.raises(JobOver):
        await job.write(b"x")


async def test_input_waits_until_the_command_is_there() -> None:
    job = LiveJob(command("true", job_id="job"))
    hand = carried(job)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(job.write, b"x")
        nursery.start_soon(job.resize, 1, 2)
        await trio.testing.wait_all_tasks_blocked()
        assert hand.posted == []
        job.accept(Started(job_id="job", pid=1))
    assert len(hand.posted) == 2


async def test_stop_after_the_end_does_nothing() -> None:
    job = LiveJob(command("true", job_id="job"))
    hand = carried(job)
    job.accept(EXITED)
    await job.stop()
    assert hand.posted == []


async def test_settle_stops_and_waits_even_when_the_caller_is_cancelled() -> None:
    job = LiveJob(command("true", job_id="job"))
    hand = carried(job)
    async with trio.open_nursery() as nursery:
        nursery.cancel_scope.cancel()
        nursery.start_soon(job.settle, "cancelled")
        with trio.CancelScope(shield=True):
            await trio.testing.wait_all_tasks_blocked()
            assert hand.posted == [Stop(job_id="job", reason="cancelled")]
            job.accept(EXITED)
    assert job.end == EXITED
    assert not hand.killed


@pytest.mark.parametrize("obstacle", [None, Congested()])
async def test_settle_kills_what_does_not_stop(
    autojump_clock: trio.testing.MockClock, obstacle: Exception | None
) -> None:
    job = LiveJob(command("true", job_id="job"))
    hand = carried(job)
    hand.obstacles = [obstacle] * 10_000 if obstacle else []
    end = await job.settle("cancelled")
    assert isinstance(end, WorkerLost)
    assert len(hand.killed) == 1


async def test_worker_that_misses_its_own_timeout_is_killed(autojump_clock: trio.testing.MockClock) -> None:
    job = CollectedJob(command("true", job_id="job", timeout_ms=1000, drain_ms=500))
    hand = carried(job)
    assert isinstance(await job.wait(), WorkerLost)
    assert "no answer" in hand.killed[0]
    assert 1.5 < trio.current_time() < 60


async def test_job_without_a_timeout_is_waited_for(autojump_clock: trio.testing.MockClock) -> None:
    job = CollectedJob(command("true", job_id="job"))
    carried(job)
    with trio.move_on_after(1_000_000) as scope:
        await job.wait()
    assert scope.cancelled_caught
    assert job.end is None
