"""Messages survive the wire; whatever else comes in is refused with BadFrame and nothing else."""

from collections.abc import Callable
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pycodex.protocol.confinement import Confinement, Enforced, Entry, Limits
from pycodex.protocol.frames import (
    MAX_FRAME_BYTES,
    MAX_ITEMS,
    VERSION,
    BadFrame,
    Credit,
    Exited,
    Fact,
    Failed,
    Order,
    Output,
    Pty,
    Ready,
    Refused,
    Resize,
    RunCommand,
    RunFileJob,
    Started,
    Stop,
    WriteStdin,
    decode_fact,
    decode_order,
    encode,
)

CONFINEMENT = Confinement(
    base="none",
    entries=(Entry(path="/w", access="write"), Entry(path="/w/.git", access="read")),
    placeholders=("/w/.codex",),
    ledger="/l",
    hidden=("/h",),
    network=True,
    landlock_only=True,
    limits=Limits(memory_bytes=1, cpu_seconds=2),
)
ENFORCED = Enforced(level="full", landlock_abi=7, scopes=("signal",), degraded=("x",))

ORDERS: list[Order] = [
    RunCommand(
        job_id="j",
        argv=("a", "", "ü\n"),
        cwd="/w",
        env={"K": "v=w", "": ""},
        confinement=CONFINEMENT,
        stdin="bytes",
        stdin_bytes=b"\x00\xff",
        merge_streams=True,
        pty=Pty(rows=1, cols=2),
        timeout_ms=5,
    ),
    RunCommand(job_id="", argv=(), cwd="", env={}, confinement=Confinement(unconfined_because="x")),
    RunFileJob(job_id="j", name="read_file", arguments=b"\x80", cwd="/", confinement=CONFINEMENT, timeout_ms=None),
    WriteStdin(job_id="j", data=b"x" * 70000, close=True),
    Resize(job_id="j", rows=1, cols=2),
    Stop(job_id="j"),
    Credit(job_id="j", size_bytes=1 << 40),
]
FACTS: list[Fact] = [
    Ready(token="t", pid=1, flavour="confined", enforced=ENFORCED),
    Started(job_id="j", pid=2),
    Output(job_id="j", stream="stdout", sequence=0, data=b"\x80\x81", skipped_bytes=3),
    Exited(job_id="j", code=0, wall_ms=1.5, left_running=(1, 2), notes=("n",), enforced=ENFORCED),
    Exited(job_id="j", signal=9, reason="timeout", enforced=ENFORCED),
    Refused(job_id="j", text="no"),
    Failed(job_id="j", text="no", errno=2),
]


def decoded_or_refused(data: bytes) -> None:
    """The one property of all decoding: a message, or BadFrame with few words, as they go into the log."""
    assert len(outcome(decode_order, data)) < 1000
    assert len(outcome(decode_fact, data)) < 1000


def outcome(decode: Callable[[bytes], Order | Fact], data: bytes) -> str:
    try:
        return type(decode(data)).__name__
    except BadFrame as error:
        return str(error)


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: type(order).__name__)
def test_orders_come_through(order: Order) -> None:
    assert decode_order(encode(order)) == order


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: type(fact).__name__)
def test_facts_come_through(fact: Fact) -> None:
    assert decode_fact(encode(fact)) == fact


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: type(order).__name__)
def test_an_order_is_no_fact(order: Order) -> None:
    with pytest.raises(BadFrame):
        decode_fact(encode(order))


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: type(fact).__name__)
def test_a_fact_is_no_order(fact: Fact) -> None:
    with pytest.raises(BadFrame):
        decode_order(encode(fact))


@given(st.binary(max_size=300))
def test_random_bytes_are_refused(data: bytes) -> None:
    decoded_or_refused(data)


PLAIN: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 64) - 1) | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text() | st.binary(), inner, max_size=4),
    max_leaves=20,
)
KINDS = [type(message).__name__ for message in (*ORDERS, *FACTS)]


@given(PLAIN)
def test_random_values_are_refused(value: object) -> None:
    decoded_or_refused(msgpack.packb(value))


@given(st.integers(0, 2) | PLAIN, st.sampled_from(KINDS), PLAIN)
def test_random_fields_are_refused(version: object, kind: str, fields: object) -> None:
    decoded_or_refused(msgpack.packb([version, kind, fields]))


@given(st.sampled_from([*ORDERS, *FACTS]), st.data())
def test_mutated_fields_are_refused(message: Order | Fact, data: st.DataObject) -> None:
    plain = message.to_plain()
    name = data.draw(st.sampled_from(sorted(plain)))
    plain[name] = data.draw(PLAIN)
    decoded_or_refused(msgpack.packb([VERSION, type(message).__name__, plain]))


@given(st.sampled_from([*ORDERS, *FACTS]), st.data())
def test_mutated_frames_are_refused(message: Order | Fact, data: st.DataObject) -> None:
    frame = bytearray(encode(message))
    for _ in range(data.draw(st.integers(1, 4))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    decoded_or_refused(bytes(frame[: data.draw(st.integers(0, len(frame)))]))
    decoded_or_refused(bytes(frame))


@pytest.mark.parametrize("message", [*ORDERS, *FACTS], ids=lambda message: type(message).__name__)
def test_cut_and_prolonged_frames_are_refused(message: Order | Fact) -> None:
    frame = encode(message)
    decode = decode_order if isinstance(message, Order) else decode_fact
    for wrong in (b"", frame[:-1], frame[1:], frame + b"\x00", frame + frame):
        with pytest.raises(BadFrame):
            decode(wrong)


@pytest.mark.parametrize(
    "message",
    [
        [],
        [VERSION],
        [VERSION, "Stop"],
        [VERSION, "Stop", {"job_id": "j"}, None],
        [VERSION + 1, "Stop", {"job_id": "j"}],
        [VERSION, "Nonesuch", {}],
        [VERSION, "Record", {}],
        [VERSION, "Confinement", {}],
        [VERSION, ["Stop"], {"job_id": "j"}],
        [VERSION, "Stop", [["job_id", "j"]]],
        [VERSION, "Stop", {b"job_id": "j"}],
        [VERSION, "Stop", {"job_id": b"j"}],
        [VERSION, "Stop", {"job_id": "j", "extra": 1}],
        [VERSION, "Stop" * 100_000, {"job_id": "j"}],
        [VERSION, "Stop", {"extra" * 100_000: 1}],
        {"0": VERSION, "1": "Stop", "2": {"job_id": "j"}},
    ],
    ids=lambda message: repr(message)[:60],
)
def test_other_shapes_are_refused_in_few_words(message: object) -> None:
    with pytest.raises(BadFrame) as raised:
        decode_order(msgpack.packb(message))
    assert len(str(raised.value)) < 1000


@pytest.mark.parametrize("size", [0, 1, 4, 8, 12, 100])
@pytest.mark.parametrize("code", [-1, 0, 5])
def test_extension_types_are_refused(code: int, size: int) -> None:
    extension = b"\xc7" + bytes([size, code & 0xFF]) + bytes(size)
    for data in (extension, b"\x93\x01" + msgpack.packb("Stop") + extension, b"\x93\x01" + extension + b"\x80"):
        with pytest.raises(BadFrame):
            decode_order(data)
    with pytest.raises(BadFrame):
        decode_order(b"\x93\x01" + msgpack.packb("Stop") + b"\x81" + msgpack.packb("job_id") + extension)


@pytest.mark.parametrize("depth", [10, 400, 900, 1000, 1020, 1100, 100_000])
@pytest.mark.parametrize("opening", [b"\x91", b"\x81\xa1k"], ids=["lists", "maps"])
@pytest.mark.parametrize("place", ["message", "version", "kind", "fields", "field", "key"])
def test_deep_nesting_is_refused(depth: int, opening: bytes, place: str) -> None:
    nest = opening * depth + b"\xc0"
    stop = msgpack.packb("Stop")
    data = {
        "message": nest,
        "version": b"\x93" + nest + stop + b"\x80",
        "kind": b"\x93\x01" + nest + b"\x80",
        "fields": b"\x93\x01" + stop + nest,
        "field": b"\x93\x01" + stop + b"\x81" + msgpack.packb("job_id") + nest,
        "key": b"\x93\x01" + stop + b"\x81" + nest + b"\xc0",
    }[place]
    with pytest.raises(BadFrame):
        decode_order(data)


def test_frames_beyond_the_size_are_neither_made_nor_read() -> None:
    with pytest.raises(BadFrame):
        encode(WriteStdin(job_id="j", data=bytes(MAX_FRAME_BYTES)))
    room = MAX_FRAME_BYTES - len(encode(WriteStdin(job_id="j", data=bytes(1 << 16)))) + (1 << 16)
    assert len(encode(WriteStdin(job_id="j", data=bytes(room)))) == MAX_FRAME_BYTES
    with pytest.raises(BadFrame):
        encode(WriteStdin(job_id="j", data=bytes(room + 1)))
    with pytest.raises(BadFrame):
        decode_order(bytes(MAX_FRAME_BYTES + 1))


@pytest.mark.parametrize("header", [b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff"])
def test_claimed_size_is_not_believed(header: bytes) -> None:
    for data in (header, b"\x93\x01\xa4Stop" + header):
        with pytest.raises(BadFrame):
            decode_order(data)


def test_number_of_items_is_bounded_on_both_sides() -> None:
    """What the other side would not read is refused before it is sent: its sender would wait for ever."""
    order = RunCommand(job_id="j", argv=("x",) * MAX_ITEMS, cwd="/", env={}, confinement=Confinement())
    assert decode_order(encode(order)) == order
    with pytest.raises(BadFrame):
        encode(order.replace(argv=("x",) * (MAX_ITEMS + 1)))
    with pytest.raises(BadFrame):
        encode(order.replace(argv=(), env={str(number): "" for number in range(MAX_ITEMS + 1)}))


def test_text_that_is_not_unicode_comes_through_or_is_refused() -> None:
    """File names and environment values that are no UTF-8 reach Python as lone surrogates."""
    order = RunCommand(job_id="j", argv=("caf\udce9",), cwd="/", env={"K": "\udcff"}, confinement=Confinement())
    try:
        frame = encode(order)
    except BadFrame:
        return
    assert decode_order(frame) == order
