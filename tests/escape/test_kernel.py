"""The kernel's rare doors stay shut, and privilege, once dropped, stays dropped."""

import os
import pty
import shutil
import struct
import sys
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.escape.attack import Attack, attacker_argv, confined, prove, run, stop, unconfined
from support.escape.command import Command
from support.escape.victim import PROGRAMS
from support.escape.world import MODES, WORKSPACE_WRITE, Mode, World

FAMILY = "kernel"
MACHINE = "the machine itself is not ours to touch"
ATTACKS = [
    Attack("bpf", "K01", by_report=True, root_only=True, may_be_missing=True),
    Attack("performance_events", "K02", by_report=True, root_only=True, may_be_missing=True),
    Attack("page_faults", "K03", by_report=True, root_only=True, may_be_missing=True),
    Attack("keyrings", "K04", by_report=True, may_be_missing=True),
    Attack("run_from_memory", "K05"),
    Attack("change_personality_and_write", "K06"),
    Attack("set_user_id_program", "K07", by_report=True, root_only=True),
    Attack("file_capabilities", "K07", by_report=True, root_only=True),
    Attack("status_of_privilege", "K07", by_report=True),
    Attack("regain_privilege", "K07", never="root would succeed, and this process is ours"),
    Attack("devices", "K09", never=MACHINE),
    Attack("unexpected_devices", "K09", never=MACHINE),
    Attack("other_terminals", "K09", never="somebody may be looking at them"),
    Attack("system_files", "K10", never=MACHINE),
    Attack("control_groups", "K11", never=MACHINE),
    Attack("rare_calls", "K12", never=MACHINE),
    Attack("core_dumps", "K13", never="whether they are on is the machine's choice"),
]


@pytest.fixture
def machine(world: World) -> Iterator[World]:
    """Programs with privilege of their own, terminals and control groups to try."""
    programs = {"set_user_id": "id", "capable": "cat"}
    for key, name in programs.items():
        copy = world.out / key
        shutil.copy(shutil.which(name) or f"/bin/{name}", copy)
        world.extra[key] = str(copy)
    if os.geteuid() == 0:
        os.chown(world.extra["set_user_id"], 65534, 65534)
        override = struct.pack("<IIIII", 0x02000001, 1 << 1, 0, 0, 0)
        os.setxattr(world.extra["capable"], "security.capability", override)
    os.chmod(world.extra["set_user_id"], 0o6755)
    own = [line.split(":", 2)[2] for line in Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines()]
    groups = [str(path) for path in Path("/sys/fs/cgroup").glob("*") if path.is_dir()]
    world.extra["cgroups"] = ["/sys/fs/cgroup", *groups, *(f"/sys/fs/cgroup{path}" for path in own)]
    master, slave = pty.openpty()
    world.extra["terminals"] = [os.ttyname(slave)]
    yield world
    os.close(master)
    os.close(slave)


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_works_without_a_sandbox(machine: World, attack: Attack) -> None:
    prove(machine, FAMILY, attack)


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_is_stopped(machine: World, attack: Attack, mode: Mode) -> None:
    stop(machine, FAMILY, attack, mode)


@pytest.fixture
def terminal(world: World) -> Iterator[int]:
    """A terminal in raw mode: what is typed into it can be read at once."""
    master, slave = pty.openpty()
    tty.setraw(slave)
    os.set_blocking(slave, False)
    world.extra["terminal"] = os.ttyname(slave)
    yield slave
    os.close(master)
    os.close(slave)


def typed(slave: int) -> bytes:
    try:
        return os.read(slave, 64)
    except BlockingIOError:
        return b""


def on_terminal(world: World, command: Command) -> Command:
    launcher = [sys.executable, "-I", "-S", str(PROGRAMS / "on_terminal.py"), world.extra["terminal"]]
    return Command([*launcher, *command.argv], command.env)


def test_input_can_be_injected_without_a_sandbox(world: World, terminal: int) -> None:
    outcome = run(world, on_terminal(world, unconfined(world, attacker_argv(FAMILY, "inject_input", world))))
    if not outcome.achieved:
        pytest.skip(f"this kernel forbids it to everybody: {outcome.report['detail']}")
    assert typed(terminal)


@pytest.mark.parametrize("name", ["inject_input", "take_terminal"])
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_the_terminal_is_only_written_to_and_read_from(world: World, terminal: int, mode: Mode, name: str) -> None:
    """K14: nothing is typed into the caller's shell, and the terminal stays the caller's."""
    outcome = run(world, on_terminal(world, confined(world, mode, attacker_argv(FAMILY, name, world))))
    assert typed(terminal) == b""
    assert not outcome.achieved, outcome.report


def test_a_private_terminal_can_be_had_inside(world: World) -> None:
    """`script`, job control and test runners need one."""
    program = "import os, pty; m, s = pty.openpty(); os.write(s, b'x'); print(os.read(m, 1) == b'x' and '{}')"
    outcome = run(world, confined(world, WORKSPACE_WRITE, [sys.executable, "-I", "-c", program]))
    assert outcome.returncode == 0
