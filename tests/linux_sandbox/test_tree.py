"""Every descendant is found and ended, however it hides, and the spared are spared with theirs."""

import json
import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from pycodex.linux_sandbox import tree
from support.interpreter import MINIMAL_ENV, python_argv
from support.marked import Mark
from support.waiting import eventually

# Each request is a line of Python; its value comes back as JSON. In a process of its own, as it adopts orphans.
SERVANT = """
import json, os, subprocess, threading, time
from pycodex.linux_sandbox import kernel, tree
kernel.become_subreaper()
for line in sys.stdin:
    print(json.dumps(eval(line)), flush=True)
"""


class Servant:
    """A subreaper that does as it is told."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            python_argv(SERVANT), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=MINIMAL_ENV
        )
        self.pid = self._process.pid

    def ask(self, expression: str) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(expression + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def start(self, script: str) -> int:
        pid = self.ask(f"subprocess.Popen(['sh', '-c', {script!r}], stdout=subprocess.DEVNULL).pid")
        assert isinstance(pid, int)
        return pid

    def close(self) -> None:
        self.ask("tree.kill_descendants(os.getpid())")
        self._process.communicate()


@pytest.fixture
def servant() -> Iterator[Servant]:
    made = Servant()
    yield made
    made.close()


def test_children_and_descendants_are_listed(servant: Servant) -> None:
    mark = Mark()
    shell = servant.start(f"sleep {mark} & sleep {mark} & wait")
    eventually(lambda: len(mark.sleepers()) == 2)
    assert tree.children(servant.pid) == [shell]
    assert set(tree.children(shell)) == mark.sleepers()
    found = tree.descendants(servant.pid)
    assert found[0] == shell
    assert set(found[1:]) == mark.sleepers()


def test_nobody_has_no_children() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert tree.children(gone.pid) == []
    assert tree.descendants(gone.pid) == []
    assert tree.state_and_parent(gone.pid) == ("", 0)


def test_children_of_other_threads_are_found(servant: Servant) -> None:
    mark = Mark()
    code = f"subprocess.Popen(['sleep', '{mark}'])"
    work = f"lambda: ({code}, time.sleep(1000))"
    servant.ask(f"threading.Thread(target={work}, daemon=True).start()")
    eventually(mark.sleepers)
    assert set(tree.children(servant.pid)) == mark.sleepers()


def test_state_is_told_for_any_name(servant: Servant) -> None:
    """A process may be called what it likes."""
    servant.ask("open('/proc/self/comm', 'w').write(') Z 1 (')")
    eventually(lambda: tree.state_and_parent(servant.pid) == ("S", os.getpid()))


@pytest.mark.parametrize("script", ["{family}", "trap '' TERM INT HUP; {family}", "{family} & {family}"])
def test_all_are_killed_and_reaped(servant: Servant, script: str) -> None:
    mark = Mark()
    servant.start(script.format(family=mark.family()))
    eventually(lambda: len(mark.sleepers()) == 3 * script.count("{family}"))
    assert servant.ask("tree.kill_descendants(os.getpid())") == []
    assert mark.alive() == set()
    assert servant.ask("tree.children(os.getpid())") == []


def test_those_that_go_on_forking_are_caught(servant: Servant) -> None:
    """Ten at a time at most, each only for a moment: it keeps ahead of one who looks only once."""
    mark = Mark()
    servant.start(f"while :; do (sleep 0.01; : {mark}) & (setsid sleep 0.01 &); sleep 0.005; done")
    eventually(mark.alive)
    assert servant.ask("tree.kill_descendants(os.getpid())") == []
    assert mark.alive() == set()
    assert servant.ask("tree.children(os.getpid())") == []


def test_the_spared_are_spared_with_theirs(servant: Servant) -> None:
    spared, doomed = Mark(), Mark()
    kept = servant.start(f"sleep {spared} & wait")
    servant.start(doomed.family())
    eventually(lambda: len(doomed.sleepers()) == 3 and spared.sleepers())
    before = spared.alive()
    assert servant.ask(f"tree.kill_descendants(os.getpid(), spare=frozenset([{kept}]))") == []
    assert doomed.alive() == set()
    assert spared.alive() == before


def test_without_anybody_it_returns_at_once(servant: Servant) -> None:
    assert servant.ask("tree.kill_descendants(os.getpid())") == []
