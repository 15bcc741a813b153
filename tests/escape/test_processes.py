"""No process of the host is seen, stopped or changed, and none of the call's own outlives it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.escape.attack import (
    EXIT_CODE,
    Attack,
    attacker_argv,
    confined,
    finish,
    prove,
    run,
    start,
    stop,
    unconfined,
)
from support.escape.command import Command
from support.escape.world import MODES, READ_ONLY, WORKSPACE_WRITE, Mode, World, changes
from support.waiting import eventually

FAMILY = "processes"
INIT = "the host's pid 1 is not ours to touch"
ATTACKS = [
    Attack("trace", "P01", by_report=True),
    Attack("read_memory", "P02", by_report=True),
    Attack("write_memory", "P02"),
    Attack("write_memory_file", "P03"),
    Attack("read_secrets", "P04", by_report=True),
    Attack("signal_victim", "P05"),
    Attack("signal_by_descriptor_owner", "P05"),
    Attack("visible_processes", "P06", by_report=True),
    Attack("signal_init", "P06", never=INIT),
    Attack("steal_descriptor", "P07"),
    Attack("steal_from_init", "P07", never=INIT),
    Attack("schedule_victim", "P08"),
    Attack("limits_of_victim", "P08", never="limits of other processes are not ours to touch"),
    Attack("renice_user", "P08", never="it would reach everything this user runs", harmless_inside=True),
    Attack("lower_own_badness", "P08", never="it would shield a hostile process from the kernel"),
    Attack("read_parent", "P10", by_report=True),
    Attack("trace_init", "P10", never=INIT),
]


@pytest.fixture
def haunted(world: World) -> World:
    world.add_victim()
    return world


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_works_without_a_sandbox(haunted: World, attack: Attack) -> None:
    prove(haunted, FAMILY, attack)


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_is_stopped(haunted: World, attack: Attack, mode: Mode) -> None:
    stop(haunted, FAMILY, attack, mode)


@pytest.mark.parametrize("hold", [False, True], ids=["silent", "holding the output"])
class TestDaemon:
    """P09: it detaches, ignores what can be ignored, and writes once the call has ended."""

    def test_outlives_its_parent_without_a_sandbox(self, world: World, hold: bool) -> None:
        process = start(world, unconfined(world, attacker_argv(FAMILY, "outlive", world, hold=hold)))
        assert process.wait() == EXIT_CODE
        (world.ws / "go").touch()
        eventually((world.ws / "late").exists)
        finish(process)
        eventually(lambda: not world.survivors())

    def test_ends_with_the_call(self, world: World, hold: bool) -> None:
        outcome = run(world, confined(world, WORKSPACE_WRITE, attacker_argv(FAMILY, "outlive", world, hold=hold)))
        assert outcome.returncode == EXIT_CODE
        assert world.survivors() == set()
        (world.ws / "go").touch()
        assert not (world.ws / "late").exists()


def test_a_crowd_of_deaf_sleepers_ends_with_the_call(world: World) -> None:
    for mode in (READ_ONLY, WORKSPACE_WRITE):
        outcome = run(world, confined(world, mode, attacker_argv(FAMILY, "leave_a_crowd", world)))
        assert outcome.returncode == EXIT_CODE
        assert world.survivors() == set()


def test_the_death_of_the_launcher_ends_everything(world: World) -> None:
    """Killed without a chance to clean up, it must not leave its command behind."""
    process = start(world, confined(world, WORKSPACE_WRITE, ["/bin/sh", "-c", "echo ready; exec sleep 30"]))
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.kill()
    finish(process)
    eventually(lambda: not world.survivors())


@pytest.fixture
def bystander(world: World) -> Iterator["subprocess.Popen[bytes]"]:
    """Leader of the group in which a launcher is then started, as in any pipeline or script."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", "import sys; print('up', flush=True); sys.stdin.read()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        process_group=0,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        world.expected.add(process.pid)
        yield process
    finally:
        process.kill()
        process.communicate()


def beside(bystander: "subprocess.Popen[bytes]") -> dict[str, Any]:
    return {"start_new_session": False, "process_group": bystander.pid}


def on_an_older_kernel(command: Command) -> Command:
    """Landlock as it was before it confined signals."""
    older = "import pycodex.linux_sandbox.landlock_rules as rules; rules.landlock_abi = lambda: 5\n"
    argv = [word.replace("from pycodex.supervisor.cli", f"{older}from pycodex.supervisor.cli") for word in command.argv]
    assert argv != command.argv
    return Command(argv, command.env)


@pytest.mark.parametrize("older", [False, True], ids=["this kernel", "an older kernel"])
def test_a_signal_to_its_own_group_stays_inside(
    world: World, bystander: "subprocess.Popen[bytes]", older: bool
) -> None:
    """The launcher shares its group with whatever the user's shell put there."""
    argv = attacker_argv(FAMILY, "signal_group", world)
    command = confined(world, WORKSPACE_WRITE, argv)
    outcome = run(world, on_an_older_kernel(command) if older else command, **beside(bystander))
    assert outcome.returncode == EXIT_CODE
    assert bystander.poll() is None
    run(world, unconfined(world, argv), **beside(bystander))
    eventually(lambda: bystander.poll() is not None, what="the bystander's end without a sandbox")


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_its_own_group_is_not_rescheduled(world: World, bystander: "subprocess.Popen[bytes]", mode: Mode) -> None:
    """P08: the group spans namespaces."""
    argv = attacker_argv(FAMILY, "schedule_group", world)
    before = os.getpriority(os.PRIO_PROCESS, bystander.pid)
    outcome = run(world, confined(world, mode, argv), **beside(bystander))
    assert not outcome.achieved, outcome.report
    assert os.getpriority(os.PRIO_PROCESS, bystander.pid) == before
    assert run(world, unconfined(world, argv), **beside(bystander)).achieved
    assert os.getpriority(os.PRIO_PROCESS, bystander.pid) != before


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_no_descriptor_but_the_standard_streams_is_inherited(world: World, mode: Mode) -> None:
    argv = attacker_argv(FAMILY, "open_descriptors", world)
    descriptors = [os.open(world.out / "file", os.O_WRONLY | os.O_APPEND) for _ in range(12)]
    descriptors.append(os.open("/", os.O_RDONLY | os.O_DIRECTORY))
    high = os.dup2(descriptors[0], 200, inheritable=True)
    passed = {"pass_fds": (*descriptors, high)}
    try:
        before = world.observe(mode)
        outcome = run(world, confined(world, mode, argv), **passed)
        assert outcome.report["detail"] == {}
        assert changes(before, world.observe(mode)) == []
        proof = run(world, unconfined(world, argv), **passed)
        assert len(proof.report["detail"]) == len(descriptors) + 1
    finally:
        for descriptor in (*descriptors, high):
            os.close(descriptor)


def test_the_launcher_cannot_be_read_from_its_own_directory_of_processes(world: World) -> None:
    """Inside, /proc lists the call's own processes and nothing else."""
    listing = ["/bin/sh", "-c", "echo /proc/[0-9]*"]
    process = start(world, confined(world, WORKSPACE_WRITE, listing))
    out, _ = finish(process)
    assert {Path(name).name for name in out.decode().split()} <= {"1", "2", "3"}
