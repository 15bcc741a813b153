"""Complete writes, whatever the reader does."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
import trio.testing

from pycodex.protocol.errors import UserFacing
from pycodex.supervisor.frontends.exec.output import STDERR, Output, ReaderGone

BIG = "line of text\n" * 50_000


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    for fd in (reader, writer):
        try:
            os.close(fd)
        except OSError:
            pass


def read_all(fd: int, into: list[bytes]) -> None:
    while chunk := os.read(fd, 1000):
        into.append(chunk)


@pytest.mark.parametrize("blocking", [True, False])
def test_everything_is_written_before_flush_now_returns(blocking: bool, pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    os.set_blocking(writer, blocking)
    got: list[bytes] = []
    thread = threading.Thread(target=read_all, args=(reader, got))
    thread.start()
    output = Output(writer)
    output.write(BIG)
    output.write_line("end")
    output.flush_now()
    os.close(writer)
    thread.join()
    assert b"".join(got).decode() == BIG + "end\n"


async def test_flush_waits_for_a_slow_reader_without_stopping_others(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    output = Output(writer)
    output.write(BIG)
    got: list[bytes] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(output.flush)
        await trio.testing.wait_all_tasks_blocked()
        while sum(map(len, got)) < len(BIG):
            await trio.lowlevel.wait_readable(reader)
            got.append(os.read(reader, 1 << 20))
    assert b"".join(got).decode() == BIG


async def test_cancelled_flush_loses_nothing(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    output = Output(writer)
    output.write(BIG)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(output.flush)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    got: list[bytes] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.to_thread.run_sync, read_all, reader, got)
        await output.flush()
        os.close(writer)
    assert b"".join(got).decode() == BIG


async def test_two_tasks_may_flush(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    output = Output(writer)
    output.write("once")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(output.flush)
        nursery.start_soon(output.flush)
    assert os.read(reader, 100) == b"once"


async def test_files_take_everything_at_once(tmp_path: Path) -> None:
    fd = os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT)
    output = Output(fd)
    output.write(BIG)
    await output.flush()
    os.close(fd)
    assert (tmp_path / "out").read_text() == BIG


async def test_reader_that_went_away(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    os.close(reader)
    output = Output(writer)
    output.write_line("unheard")
    with pytest.raises(ReaderGone):
        output.flush_now()
    output.write_line("unheard, too")
    with pytest.raises(ReaderGone):
        await output.flush()


def test_full_disk_is_an_error() -> None:
    with open("/dev/full", "wb") as full:
        output = Output(full.fileno())
        output.write_line("text")
        with pytest.raises(UserFacing, match="cannot write to standard output: No space left on device"):
            output.flush_now()


def test_lost_stderr_is_no_reason_to_stop() -> None:
    kept = os.dup(STDERR)
    try:
        with open("/dev/full", "wb") as full:
            os.dup2(full.fileno(), STDERR)
            output = Output(STDERR)
            output.write_line("text")
            output.flush_now()
            output.write_line("more")
            output.flush_now()
    finally:
        os.dup2(kept, STDERR)
        os.close(kept)


def test_lone_surrogates_are_replaced(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    output = Output(writer)
    output.write("a\ud800b")
    output.flush_now()
    assert os.read(reader, 10) == b"a?b"


def test_terminals_are_recognised(pipe: tuple[int, int]) -> None:
    master, terminal = os.openpty()
    assert Output(terminal).is_terminal()
    assert not Output(pipe[1]).is_terminal()
    os.close(master)
    os.close(terminal)
