"""Trees are ended whole, and nothing outside them is touched."""

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial

import pytest
import trio

from pycodex.supervisor.workers.orphans import become_subreaper, kill_trees, reap, tree_of
from support.waiting import eventually_async

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


# The first adopts and reaps whoever is orphaned; the others hand on a baton for about a second.
RELAY = """
import ctypes, os, signal, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
if os.fork():
    while True:
        os.wait()
for _ in range(500):
    time.sleep(0.001)
    if os.fork():
        os._exit(0)
signal.pause()
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


async def test_tree_that_keeps_forking_is_caught(scale: Callable[[int, int], int]) -> None:
    """Each member forks its successor and exits; whoever is missed goes on, and comes to us."""
    become_subreaper()
    before = children()
    for _ in range(scale(3, 30)):
        async with trio.open_nursery() as nursery:
            root = await nursery.start(partial(trio.run_process, [sys.executable, "-c", RELAY], check=False))
            await eventually_async(lambda root=root: len(tree_of([root.pid])) > 1)  # type: ignore[misc]
            killed = kill_trees([root.pid])
        assert await reap(killed, within_s=20) == []
        # Corpses that were never seen alive come to us, too; nobody who lives may.
        await eventually_async(lambda: all(_is_reaped(pid) for pid in children() - before))


def _is_reaped(pid: int) -> bool:
    return os.waitpid(pid, os.WNOHANG)[0] == pid


def children() -> set[int]:
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
        return {int(pid) for pid in file.read().split()}


async def test_process_that_cannot_be_reaped_is_told() -> None:
    async with trio.open_nursery() as nursery:
        stubborn = await nursery.start(trio.run_process, ["sleep", "60"])
        assert await reap([stubborn.pid], within_s=0) == [stubborn.pid]
        nursery.cancel_scope.cancel()
