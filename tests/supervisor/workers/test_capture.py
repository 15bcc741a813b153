"""Output is kept in order, with exact counts, in bounded memory."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pycodex.protocol.frames import Output
from pycodex.supervisor.workers.capture import MAX_ENTRIES, Captured, Collector, OutputQueue, PollBuffer

PIECES = st.lists(
    st.tuples(st.sampled_from(["stdout", "stderr"]), st.binary(max_size=5), st.integers(0, 2)), max_size=40
)


def piece(stream: str, data: bytes, skipped_bytes: int = 0) -> Output:
    return Output(job_id="j", stream=stream, sequence=0, data=data, skipped_bytes=skipped_bytes)


def drained(queue: OutputQueue) -> list[tuple[str, bytes, int]]:
    return [(output.stream, output.data, output.skipped_bytes) for output in iter(queue.take, None)]


def test_collector_separates_streams_and_marks_the_gap() -> None:
    collector = Collector()
    for output in (piece("stdout", b"a"), piece("stderr", b"x"), piece("stdout", b"b"), piece("stdout", b"z", 7)):
        assert collector.add(output)
    collector.add(piece("stdout", b"!"))
    assert collector.captured("stdout") == Captured(b"ab", 7, b"z!")
    assert collector.captured("stderr") == Captured(b"x", 0, b"")
    assert collector.captured("stdout").data == b"abz!"


@settings(database=None)
@given(PIECES)
def test_collector_counts_every_byte(pieces: list[tuple[str, bytes, int]]) -> None:
    collector = Collector()
    for stream, data, skipped in pieces:
        collector.add(piece(stream, data, skipped))
    for name in ("stdout", "stderr"):
        got = collector.captured(name)
        expected = sum(len(data) + skipped for stream, data, skipped in pieces if stream == name)
        assert len(got.head) + got.dropped_bytes + len(got.tail) == expected


def test_queue_joins_what_its_reader_is_late_for() -> None:
    queue = OutputQueue()
    for output in (piece("stdout", b"a"), piece("stdout", b"b"), piece("stderr", b"x"), piece("stdout", b"c")):
        queue.add(output)
    assert drained(queue) == [("stdout", b"ab", 0), ("stderr", b"x", 0), ("stdout", b"c", 0)]


def test_queue_does_not_join_across_a_gap() -> None:
    queue = OutputQueue()
    queue.add(piece("stdout", b"a"))
    queue.add(piece("stdout", b"b", 3))
    assert drained(queue) == [("stdout", b"a", 0), ("stdout", b"b", 3)]


def test_queue_of_tiny_alternating_pieces_stays_small_and_loses_nothing() -> None:
    queue = OutputQueue()
    for _ in range(50_000):
        assert queue.add(piece("stdout", b"o"))
        assert queue.add(piece("stderr", b"e"))
    pieces = drained(queue)
    assert len(pieces) < MAX_ENTRIES
    assert sum(data.count(b"o") for _, data, _ in pieces) == 50_000
    assert sum(data.count(b"e") for _, data, _ in pieces) == 50_000


def test_queue_refuses_more_entries_than_an_honest_worker_makes() -> None:
    queue = OutputQueue()
    results = [queue.add(piece("stdout", b"", 1)) for _ in range(MAX_ENTRIES + 1)]
    assert results[-2:] == [True, False]


def test_poll_takes_the_oldest_and_keeps_the_rest() -> None:
    buffer = PollBuffer()
    buffer.add(piece("stdout", b"abc"))
    buffer.add(piece("stderr", b"def"))
    assert buffer.take(4) == Captured(b"abcd")
    assert buffer.waiting_bytes == 2
    assert buffer.take(100) == Captured(b"ef")
    assert buffer.is_empty


def test_poll_tells_a_gap_between_head_and_tail() -> None:
    buffer = PollBuffer()
    buffer.add(piece("stdout", b"abc"))
    buffer.add(piece("stdout", b"xyz", 10))
    assert buffer.take(100) == Captured(b"abc", 10, b"xyz")


@settings(database=None)
@given(PIECES, st.integers(1, 7))
def test_polls_together_give_everything_once(pieces: list[tuple[str, bytes, int]], max_bytes: int) -> None:
    buffer = PollBuffer()
    for stream, data, skipped in pieces:
        buffer.add(piece(stream, data, skipped))
    polled = []
    while not buffer.is_empty:
        polled.append(buffer.take(max_bytes))
        assert len(polled[-1].data) <= max_bytes
    assert b"".join(one.data for one in polled) == b"".join(data for _, data, _ in pieces)
    assert sum(one.dropped_bytes for one in polled) == sum(skipped for _, _, skipped in pieces)
    assert buffer.waiting_bytes == 0


@settings(database=None)
@given(PIECES, st.integers(1, 7))
def test_rest_has_everything_that_was_not_polled(pieces: list[tuple[str, bytes, int]], max_bytes: int) -> None:
    buffer = PollBuffer()
    for stream, data, skipped in pieces:
        buffer.add(piece(stream, data, skipped))
    first, rest = buffer.take(max_bytes), buffer.take_rest()
    assert buffer.is_empty
    total = sum(len(one.data) + one.dropped_bytes for one in (first, rest))
    assert total == sum(len(data) + skipped for _, data, skipped in pieces)
