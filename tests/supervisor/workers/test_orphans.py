"""Trees are ended whole, and nothing outside them is touched."""

import os
import subprocess
import sys

import pytest
import trio

from pycodex.supervisor.workers.orphans import become_subreaper, kill_trees, reap, tree_of
from support.waiting import eventually

# A child, a grandchild in a session of its own, and a line with their numbers when all are there.
FAMILY = """
import os, signal, sys
def member(depth):
    if depth:
        pid = os.fork()
        if pid == 0:
            os.setsid()
            member(depth - 1)
    else:
        print("complete", flush=True)
    while True:
        signal.pause()
member(3)
"""


@pytest.fixture
def family() -> "subprocess.Popen[str]":
    process = subprocess.Popen([sys.executable, "-c", FAMILY], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "complete\n"
    process.stdout.close()
    return process


async def test_whole_tree_is_killed_across_sessions(family: "subprocess.Popen[str]") -> None:
    become_subreaper()
    members = tree_of([family.pid])
    assert len(members) == 4
    assert set(kill_trees([family.pid])) == set(members)
    family.wait()
    assert await reap(members, within_s=20) == []
    assert tree_of(members) == []


async def test_other_processes_are_not_touched(family: "subprocess.Popen[str]") -> None:
    become_subreaper()
    async with trio.open_nursery() as nursery:
        bystander = await nursery.start(trio.run_process, ["sleep", "60"])
        killed = kill_trees([family.pid])
        family.wait()
        await reap(killed, within_s=20)
        assert bystander.poll() is None
        nursery.cancel_scope.cancel()


def test_ourselves_and_init_are_never_killed() -> None:
    assert kill_trees([os.getpid(), 1, 0, -1]) == []


def test_tree_that_keeps_forking_is_caught() -> None:
    """Each member forks its successor and exits, some hundred times a second."""
    become_subreaper()
    runner = """
import os, time
for _ in range(2000):
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0) if _ % 7 == 0 else time.sleep(0.005)
        if _ % 7:
            os._exit(0)
    elif _ % 7 == 0:
        os._exit(0)
"""
    program = f"import os, signal\nif os.fork() == 0:\n    exec({runner!r})\nelse:\n    signal.pause()"
    with subprocess.Popen([sys.executable, "-c", f"import ctypes; ctypes.CDLL(None).prctl(36, 1)\n{program}"]) as root:
        eventually(lambda: len(tree_of([root.pid])) > 1)
        killed = kill_trees([root.pid])
        root.wait()
        assert len(killed) > 1
        eventually(lambda: not tree_of(killed))
        for pid in killed:
            try:
                os.waitpid(pid, 0)
            except ChildProcessError:
                continue


async def test_process_that_cannot_be_reaped_is_told() -> None:
    async with trio.open_nursery() as nursery:
        stubborn = await nursery.start(trio.run_process, ["sleep", "60"])
        assert await reap([stubborn.pid], within_s=0) == [stubborn.pid]
        nursery.cancel_scope.cancel()
