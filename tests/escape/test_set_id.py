"""No file that a command leaves behind gives its user's identity to whoever runs it later."""

import os
import shutil
import stat
from pathlib import Path

import pytest

from support.escape.attack import Attack, attacker_argv, confined, finish, prove, run, start, stop
from support.escape.command import Command
from support.escape.world import MODES, WITH_NETWORK, WORKSPACE_WRITE, Mode, World
from support.no_namespaces import without_namespaces

FAMILY = "set_id"
SET_UID, SET_GID = Attack("set_user_id", "K16"), Attack("set_group_id", "K16")
ATTACKS = [SET_UID, SET_GID] if os.geteuid() == 0 else [SET_UID]
LANDLOCK_ONLY = Mode("landlock", ("--full-auto", "-c", "sandbox.landlock_only=true"))
TOOLS = {
    "cp": "cp {program} copy && test -x copy && cp -r sub copies",
    "tar": "tar cf t.tar sub && mkdir u && tar xpf t.tar -C u && cmp sub/also.txt u/sub/also.txt",
    "install": "install -m 755 tracked.txt installed && install -d -m 1777 folder && test -k folder",
    "git": "mkdir r && cd r && git init -q . && git -c user.name=a -c user.email=b commit -q --allow-empty -m x",
    "chmod": "touch f && chmod u=rwx,go= f && chmod a+X f && mkdir -m 1777 d && chmod 700 d",
    "mktemp": "d=$(mktemp -d) && rmdir $d",
}


def with_bits(top: Path, bits: int) -> list[str]:
    found = [Path(folder, name) for folder, _, names in os.walk(top) for name in names]
    return sorted(path.name for path in found if path.lstat().st_mode & bits)


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_works_without_a_sandbox(world: World, attack: Attack) -> None:
    prove(world, FAMILY, attack)
    expected = {"chmod", "fchmod", "fchmodat2", "open", "openat2", "mknod", "unnamed", "renamed"}
    assert expected <= set(with_bits(world.ws, stat.S_ISUID | stat.S_ISGID))


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_is_stopped(world: World, attack: Attack, mode: Mode) -> None:
    stop(world, FAMILY, attack, mode)
    assert with_bits(world.base, stat.S_ISUID | stat.S_ISGID) == []


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_is_stopped_without_namespaces(world: World, attack: Attack) -> None:
    command = confined(world, LANDLOCK_ONLY, attacker_argv(FAMILY, attack.name, world))
    outcome = run(world, Command(without_namespaces(command.argv), command.env))
    assert not outcome.achieved, outcome.report
    assert with_bits(world.base, stat.S_ISUID | stat.S_ISGID) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root's group is worth more than shared directories")
def test_an_ordinary_user_keeps_the_shared_directories_of_a_group(world: World) -> None:
    script = "mkdir d && chmod g+s d && mkdir d/e && cp -a d copy && test -g copy/e && git init -q --shared s"
    process = start(world, confined(world, WORKSPACE_WRITE, ["/bin/sh", "-c", script]))
    assert (finish(process), process.returncode) == ((b"", b""), 0)
    assert (world.ws / "copy" / "e").stat().st_mode & stat.S_ISGID


@pytest.mark.parametrize("mode", [WORKSPACE_WRITE, WITH_NETWORK], ids=str)
@pytest.mark.parametrize("name", TOOLS)
def test_tools_that_set_modes_keep_working(world: World, name: str, mode: Mode) -> None:
    """`cp` of a program that has the bit included: the copy goes without."""
    program = next((path for path in map(shutil.which, ("su", "passwd", "ls")) if path), "/bin/ls")
    script = TOOLS[name].format(program=program)
    process = start(world, confined(world, mode, ["/bin/sh", "-c", f"set -e; {script}"]))
    assert (finish(process)[1], process.returncode) == (b"", 0)
