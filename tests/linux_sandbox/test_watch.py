"""What a whole tree uses is measured from outside."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pycodex.linux_sandbox import watch
from pycodex.protocol.confinement import Limits
from support.waiting import eventually

MIB = 1 << 20
# A parent that waits for children, each of which has written to some memory and says so by a line.
PROGRAM = """
import os, sys
for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        kept = b"x" * int(sys.argv[2])
        os.write(1, b"ready\\n")
        sys.stdin.read()
        os._exit(0)
os.write(1, b"ready\\n")
sys.stdin.read()
"""


@contextmanager
def family(children: int, each_bytes: int) -> Iterator[int]:
    """The pid of a process with so many children; all end with the block."""
    argv = [sys.executable, "-I", "-S", "-c", PROGRAM, str(children), str(each_bytes)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for _ in range(children + 1):
            assert process.stdout.readline() == b"ready\n"
        yield process.pid


@pytest.mark.parametrize(
    ("limits", "needed"),
    [
        (Limits(), False),
        (Limits(file_bytes=1, open_files=1, cpu_seconds=1), False),
        (Limits(memory_bytes=1), True),
        (Limits(processes=1), True),
    ],
)
def test_only_some_limits_need_watching(limits: Limits, needed: bool) -> None:
    assert watch.is_needed(limits) is needed


def test_processes_are_counted_without_the_root() -> None:
    with family(3, 0) as pid:
        assert watch.exceeded(pid, Limits(processes=3)) == ""
        assert watch.exceeded(pid, Limits(processes=2)) == "limit processes = 2 exceeded"


def test_memory_is_summed_over_the_tree() -> None:
    with family(3, 30 * MIB) as pid:
        assert watch.exceeded(pid, Limits(memory_bytes=200 * MIB)) == ""
        assert watch.exceeded(pid, Limits(memory_bytes=80 * MIB)) == f"limit memory_bytes = {80 * MIB} exceeded"


def test_pages_shared_with_the_parent_are_told_apart_from_a_leak() -> None:
    """Many small children of one program stay far below what each of them maps."""
    with family(10, 0) as pid:
        assert watch.exceeded(pid, Limits(memory_bytes=100 * MIB)) == ""


def test_tree_that_is_gone_exceeds_nothing() -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
        eventually(lambda: watch.exceeded(process.pid, Limits(memory_bytes=0, processes=0)) == "")
