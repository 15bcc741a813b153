"""Output is data, its size is bounded by nobody's memory, and a call leaves nothing for the next one."""

import os
import shutil
import subprocess
import sys
import sysconfig

import pytest

from support.escape.attack import EXIT_CODE, attacker_argv, confined, finish, run, start
from support.escape.world import MODES, WORKSPACE_WRITE, Mode, World

FAMILY = "output"
MEGABYTE = 1 << 20


def peak_bytes_after(world: World, flood: int) -> int:
    """How much memory the launcher took at most while so many bytes went through."""
    process = start(world, confined(world, WORKSPACE_WRITE, ["/bin/sh", "-c", f"yes | head -c {flood}"]))
    assert process.stdout is not None
    seen = 0
    while chunk := os.read(process.stdout.fileno(), MEGABYTE):
        seen += len(chunk)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    finish(process)
    assert (seen, process.returncode) == (flood, 0)
    return usage.ru_maxrss * 1024


def test_a_flood_does_not_grow_the_launcher(world: World) -> None:
    """O01: as much as is read passes through; little of it is kept."""
    # What a new process is said to have used begins with what its parent uses, so both are compared.
    trickle = peak_bytes_after(world, 1)
    assert peak_bytes_after(world, 256 * MEGABYTE) - trickle < 64 * MEGABYTE


def test_a_reader_that_goes_away_ends_the_call(world: World) -> None:
    process = start(world, confined(world, WORKSPACE_WRITE, ["/usr/bin/yes"]))
    assert process.stdout is not None
    assert process.stdout.read(2) == b"y\n"
    process.stdout.close()
    assert process.wait() == 128 + 13
    assert process.stderr is not None
    process.stderr.close()
    assert world.survivors() == set()


def test_a_command_that_closes_its_output_is_still_waited_for(world: World) -> None:
    """O02: the end of the output is not the end of the command."""
    script = "exec >&- 2>&-; sleep 0.2; touch done; exit 9"
    process = start(world, confined(world, WORKSPACE_WRITE, ["/bin/sh", "-c", script]))
    finish(process)
    assert process.returncode == 9
    assert (world.ws / "done").exists()


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_bytes_that_look_like_messages_change_nothing(world: World, mode: Mode) -> None:
    """O03: a forged end of the job, a length prefix, a terminal's commands, and every byte there is."""
    forged = b"\x93\x01\xa6Exited\x82\xa4code\x00\xa6job_id\xa1x\xff\xff\xff\xff\x1b]0;x\x07\r" + bytes(range(256))
    argv = attacker_argv(FAMILY, "forged_replies", world, bytes=forged.hex())
    process = start(world, confined(world, mode, argv))
    out, err = finish(process)
    assert (out, err, process.returncode) == (forged, b"", EXIT_CODE)


def test_the_next_call_is_clean(world: World) -> None:
    """O04: neither its environment nor its launcher picks up what the last one left."""
    run(world, confined(world, WORKSPACE_WRITE, attacker_argv(FAMILY, "settings_for_later", world)))
    assert (world.ws / "evil.sh").exists()
    process = start(world, confined(world, WORKSPACE_WRITE, ["/bin/bash", "-c", "env; : executed by bash"]))
    out, _ = finish(process)
    names = {line.partition("=")[0] for line in out.decode().splitlines()}
    assert not names & {"LD_PRELOAD", "BASH_ENV", "GIT_DIR"}
    assert not (world.ws / "executed").exists()


def test_the_installed_command_imports_nothing_from_the_workspace(world: World) -> None:
    script = shutil.which("pycodex", path=sysconfig.get_path("scripts"))
    if script is None:
        pytest.skip(f"pycodex is not installed beside {sys.executable}")
    run(world, confined(world, WORKSPACE_WRITE, attacker_argv(FAMILY, "settings_for_later", world)))
    command = confined(world, WORKSPACE_WRITE, ["/bin/echo", "ran"])
    argv = [script, *command.argv[command.argv.index("sandbox") :]]
    done = subprocess.run(
        argv, cwd=world.ws, env=command.env, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    assert (done.stdout, done.returncode) == (b"ran\n", 0)
    assert not (world.ws / "executed").exists()


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_input_and_exit_code_pass_through(world: World, mode: Mode) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"given\n")
    os.close(writer)
    process = start(world, confined(world, mode, ["/bin/sh", "-c", "cat; exit 77"]), stdin=reader)
    os.close(reader)
    out, _ = finish(process)
    assert (out, process.returncode) == (b"given\n", 77)


@pytest.mark.parametrize("number", [2, 9, 11, 15, 31])
def test_death_by_signal_is_told(world: World, number: int) -> None:
    process = start(world, confined(world, WORKSPACE_WRITE, ["/bin/sh", "-c", f"kill -{number} $$"]))
    finish(process)
    assert process.returncode == 128 + number
