"""Limits that are asked for hold, end what exceeds them, and say so by the usual signals."""

import signal
import sys

import pytest

from support.escape.attack import confined, finish, start
from support.escape.world import Mode, World

MEGABYTE = 1 << 20
FORKS = """
import os, time
made = 0
try:
    for _ in range(60):
        if os.fork() == 0:
            time.sleep(5)
            os._exit(0)
        made += 1
except BlockingIOError:
    pass
time.sleep(0.5)
print(made)
"""
MANY_FILES = """
import os
opened = 0
try:
    for _ in range(200):
        os.open("/dev/null", os.O_RDONLY)
        opened += 1
except OSError as error:
    print(error.errno == 24 and opened < 64)
"""
MUCH_MEMORY = """
kept = []
for _ in range(60):
    kept.append(bytearray(b"x") * (10 << 20))
print("all of it")
"""

SHARED_FILES = """
import errno, os, sys, time
written = 0
try:
    for number in range(60):
        fd = os.open(f"/dev/shm/{number}", os.O_WRONLY | os.O_CREAT)
        written += os.write(fd, bytes(10 << 20))
except OSError as error:
    assert error.errno == errno.ENOSPC
print(written, flush=True)
time.sleep(float(sys.argv[1]))
"""


def limited(**limits: int) -> Mode:
    options = [word for name, value in limits.items() for word in ("-c", f"sandbox.limits.{name}={value}")]
    return Mode("limited", ("--full-auto", *options))


def run_python(world: World, mode: Mode, program: str) -> tuple[bytes, int]:
    process = start(world, confined(world, mode, [sys.executable, "-I", "-S", "-c", program]))
    out, _ = finish(process)
    assert world.survivors() == set()
    return out, process.returncode


def test_no_more_processes_than_allowed(world: World) -> None:
    """K13: the count is the call's own, whatever else its user runs."""
    process = start(world, confined(world, limited(processes=20), [sys.executable, "-I", "-S", "-c", FORKS]))
    out, err = finish(process)
    assert (out, process.returncode) == (b"", 128 + signal.SIGKILL)
    assert b"limit processes = 20 exceeded" in err


def test_without_a_limit_there_are_more(world: World) -> None:
    assert run_python(world, limited(), FORKS) == (b"60\n", 0)


def test_memory_beyond_the_limit_ends_the_command(world: World) -> None:
    """K14: 600 MB in steps of ten, of which 128 are allowed."""
    out, code = run_python(world, limited(memory_bytes=128 * MEGABYTE), MUCH_MEMORY)
    assert out == b""
    assert code != 0


def test_files_in_shared_memory_are_memory(world: World) -> None:
    """K14: they belong to no process. The directory is no larger than the limit, and together with it too much."""
    program = [sys.executable, "-I", "-S", "-c", SHARED_FILES]
    process = start(world, confined(world, limited(), [*program, "0"]))
    assert (finish(process)[0], process.returncode) == (b"%d\n" % (600 * MEGABYTE), 0)
    mode = limited(memory_bytes=128 * MEGABYTE)
    process = start(world, confined(world, mode, [*program, "20"]))
    out, err = finish(process)
    assert int(out or b"0") <= 128 * MEGABYTE
    assert process.returncode == 128 + signal.SIGKILL
    assert b"limit memory_bytes" in err


def test_what_is_mapped_from_shared_memory_counts_once(world: World) -> None:
    program = """
from multiprocessing import shared_memory
import time
block = shared_memory.SharedMemory(create=True, size=80 << 20)
for at in range(0, 80 << 20, 4096):
    block.buf[at] = 1
time.sleep(0.3)
block.close(); block.unlink()
print("done")
"""
    assert run_python(world, limited(memory_bytes=128 * MEGABYTE), program) == (b"done\n", 0)


def test_a_file_grows_to_the_limit_only(world: World) -> None:
    """K15: SIGXFSZ ends the writer."""
    mode = limited(file_bytes=MEGABYTE)
    process = start(world, confined(world, mode, ["/bin/sh", "-c", "head -c 3000000 /dev/zero > big"]))
    finish(process)
    assert process.returncode == 128 + 25
    assert (world.ws / "big").stat().st_size == MEGABYTE


def test_no_more_open_files_than_allowed(world: World) -> None:
    assert run_python(world, limited(open_files=64), MANY_FILES) == (b"True\n", 0)


def test_a_busy_loop_ends_when_its_time_is_up(world: World) -> None:
    process = start(world, confined(world, limited(cpu_seconds=1), ["/bin/sh", "-c", "while :; do :; done"]))
    finish(process)
    assert process.returncode == 128 + 24


@pytest.mark.parametrize("name", ["processes", "file_bytes", "open_files", "cpu_seconds", "memory_bytes"])
def test_what_is_no_limit_is_refused(world: World, name: str) -> None:
    mode = Mode("wrong", ("--full-auto", "-c", f"sandbox.limits.{name}=-1"))
    process = start(world, confined(world, mode, ["/bin/echo", "ran"]))
    out, err = finish(process)
    assert (out, process.returncode) == (b"", 1)
    assert err.startswith(b"Error")
