"""What a job prints comes up exactly, or with its gaps counted exactly, and never faster than it was asked for."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.protocol.frames import MAX_FRAME_BYTES, STDERR, STDOUT, Output, encode
from pycodex.worker.output import Outflow

STREAMS = (STDOUT, STDERR)


@dataclass
class Receiver:
    """The other side: rebuilds both streams from the frames and checks each frame."""

    sent: list[Output] = field(default_factory=list)

    def __call__(self, output: Output) -> None:
        assert output.job_id == "j"
        self.sent.append(output)

    @property
    def sent_bytes(self) -> int:
        return sum(len(output.data) for output in self.sent)

    def of(self, stream: str) -> list[Output]:
        return [output for output in self.sent if output.stream == stream]

    def matches(self, stream: str, whole: bytes) -> bool:
        """Whether every byte lies where the gaps say."""
        place = 0
        for output in self.of(stream):
            place += output.skipped_bytes
            if whole[place : place + len(output.data)] != output.data:
                return False
            place += len(output.data)
        return place == len(whole)


def numbered(start: int, size: int) -> bytes:
    """Bytes that tell where they come from."""
    return bytes((start + place) % 251 for place in range(size))


FEED = st.tuples(st.sampled_from(STREAMS), st.integers(0, 60))
GRANT = st.tuples(st.just("grant"), st.integers(-5, 60))


@given(st.lists(FEED | GRANT, max_size=40), st.integers(0, 100), st.integers(0, 100))
def test_every_byte_is_sent_or_counted(steps: list[tuple[str, int]], cap_bytes: int, credit_bytes: int) -> None:
    receiver = Receiver()
    outflow = Outflow("j", cap_bytes=cap_bytes, credit_bytes=credit_bytes, send=receiver)
    whole = {STDOUT: b"", STDERR: b""}
    credit = credit_bytes
    for name, size in steps:
        if name == "grant":
            outflow.grant(size)
            credit += max(0, size)
        else:
            data = numbered(len(whole[name]), size)
            whole[name] += data
            outflow.feed(name, data)
        assert receiver.sent_bytes <= credit
    before = receiver.sent_bytes
    outflow.finish()
    assert receiver.sent_bytes - before <= max(2, cap_bytes)
    for name in STREAMS:
        assert receiver.matches(name, whole[name])
        assert [output.sequence for output in receiver.of(name)] == list(range(len(receiver.of(name))))
    assert outflow.total_bytes == sum(map(len, whole.values()))
    assert outflow.dropped_bytes == sum(output.skipped_bytes for output in receiver.sent)
    assert outflow.dropped_bytes == outflow.total_bytes - receiver.sent_bytes


@given(st.lists(st.integers(0, 400), max_size=20), st.integers(1, 150))
def test_with_credit_for_half_the_cap_it_is_head_and_tail(sizes: list[int], half: int) -> None:
    receiver = Receiver()
    outflow = Outflow("j", cap_bytes=2 * half, credit_bytes=half, send=receiver)
    whole = numbered(0, sum(sizes))
    place = 0
    for size in sizes:
        outflow.feed(STDOUT, whole[place : place + size])
        place += size
    outflow.finish()
    gaps = [output for output in receiver.sent if output.skipped_bytes]
    assert len(gaps) <= 1
    if len(whole) <= 2 * half:
        assert b"".join(output.data for output in receiver.sent) == whole
    else:
        tail = receiver.sent[-1]
        assert tail.skipped_bytes == len(whole) - 2 * half
        assert b"".join(output.data for output in receiver.sent[:-1]) == whole[:half]
        assert tail.data == whole[-half:]


def test_waiting_output_is_sent_as_soon_as_there_is_credit() -> None:
    receiver = Receiver()
    outflow = Outflow("j", cap_bytes=100, credit_bytes=0, send=receiver)
    outflow.feed(STDERR, b"abcdef")
    assert receiver.sent == []
    outflow.grant(4)
    assert [output.data for output in receiver.sent] == [b"abcd"]
    outflow.grant(100)
    outflow.feed(STDERR, b"gh")
    assert [output.data for output in receiver.sent] == [b"abcd", b"ef", b"gh"]


def test_finish_without_output_says_nothing() -> None:
    receiver = Receiver()
    outflow = Outflow("j", cap_bytes=100, credit_bytes=100, send=receiver)
    outflow.finish()
    assert receiver.sent == []


@pytest.mark.parametrize("how", ["finish", "grant"])
def test_no_frame_is_too_large_to_be_sent(how: str) -> None:
    """However much may wait, each piece of it fits into a frame."""
    receiver = Receiver()
    size = MAX_FRAME_BYTES + 100_000
    outflow = Outflow("j", cap_bytes=4 * MAX_FRAME_BYTES, credit_bytes=0, send=receiver)
    outflow.feed(STDOUT, bytes(size))
    if how == "grant":
        outflow.grant(size)
    outflow.finish()
    assert receiver.sent_bytes == size
    for output in receiver.sent:
        assert len(encode(output)) <= MAX_FRAME_BYTES


@given(st.lists(FEED, max_size=40), st.integers(0, 100))
def test_where_the_head_is_wanted_each_stream_sends_its_own(steps: list[tuple[str, int]], head_bytes: int) -> None:
    receiver = Receiver()
    outflow = Outflow("j", cap_bytes=100, credit_bytes=2 * head_bytes, head_bytes=head_bytes, send=receiver)
    whole = {STDOUT: b"", STDERR: b""}
    for name, size in steps:
        data = numbered(len(whole[name]), size)
        whole[name] += data
        outflow.feed(name, data)
    outflow.finish()
    for name in STREAMS:
        assert b"".join(output.data for output in receiver.of(name)) == whole[name][:head_bytes]
    assert outflow.total_bytes == sum(map(len, whole.values()))
    assert outflow.dropped_bytes == outflow.total_bytes - receiver.sent_bytes
    assert all(output.skipped_bytes == 0 for output in receiver.sent)


def test_flood_behind_the_head_sends_nothing() -> None:
    receiver = Receiver()
    outflow = Outflow("j", cap_bytes=100, credit_bytes=100, head_bytes=4, send=receiver)
    for _ in range(10):
        outflow.feed(STDOUT, b"abc")
    outflow.finish()
    assert [output.data for output in receiver.sent] == [b"abc", b"a"]


@given(st.lists(FEED | GRANT, max_size=60), st.integers(0, 300), st.integers(0, 100))
def test_whoever_waits_while_it_is_congested_loses_nothing(
    steps: list[tuple[str, int]], lossless_bytes: int, credit_bytes: int
) -> None:
    """Of the first bytes, whatever comes behind them; the cap has room for what one step brings."""
    receiver = Receiver()
    outflow = Outflow("j", cap_bytes=120, credit_bytes=credit_bytes, lossless_bytes=lossless_bytes, send=receiver)
    whole = {STDOUT: b"", STDERR: b""}
    lossless = {STDOUT: 0, STDERR: 0}
    for name, size in steps:
        if name == "grant":
            outflow.grant(size)
        elif not outflow.is_congested:
            data = numbered(len(whole[name]), size)
            lossless[name] += min(size, max(0, lossless_bytes - outflow.total_bytes))
            whole[name] += data
            outflow.feed(name, data)
    outflow.finish()
    for name in STREAMS:
        assert receiver.matches(name, whole[name])
        place = 0
        for output in receiver.of(name):
            place += output.skipped_bytes
            assert not output.skipped_bytes or place - output.skipped_bytes >= lossless[name]
            place += len(output.data)


def test_congestion_lasts_until_there_is_credit_for_all() -> None:
    outflow = Outflow("j", cap_bytes=1000, credit_bytes=10, lossless_bytes=100, send=Receiver())
    seen = [outflow.is_congested]
    outflow.feed(STDOUT, bytes(10))
    seen.append(outflow.is_congested)
    outflow.feed(STDERR, bytes(4))
    seen.append(outflow.is_congested)
    for size_bytes in (3, 1):
        outflow.grant(size_bytes)
        seen.append(outflow.is_congested)
    assert seen == [False, False, True, True, False]


def test_congestion_ends_when_all_that_must_not_be_dropped_was_sent() -> None:
    receiver = Receiver()
    outflow = Outflow("j", cap_bytes=100, credit_bytes=0, lossless_bytes=20, send=receiver)
    outflow.feed(STDOUT, numbered(0, 40))
    seen = [outflow.is_congested]
    outflow.grant(20)
    seen.append(outflow.is_congested)
    outflow.feed(STDOUT, numbered(40, 200))
    seen.append(outflow.is_congested)
    assert seen == [True, False, False]
    outflow.finish()
    assert receiver.sent[0].data == numbered(0, 20)
    assert receiver.sent[-1].data == numbered(190, 50)
    assert outflow.dropped_bytes == 170


def test_without_a_promise_there_is_no_congestion() -> None:
    outflow = Outflow("j", cap_bytes=100, credit_bytes=0, send=Receiver())
    outflow.feed(STDOUT, bytes(1000))
    assert not outflow.is_congested
