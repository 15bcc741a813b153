"""A host without namespaces: reading is safe, writing needs the user's word, protected paths are put right.

Everything here runs below a filter that refuses namespaces; see support/no_namespaces.
"""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from support.cli import cli_argv
from support.escape.attack import EXIT_CODE, Outcome, attacker_argv, confined, finish, run, start
from support.escape.command import Command
from support.escape.world import PROTECTED_NAMES, READ_ONLY, WORKSPACE_WRITE, Mode, World
from support.interpreter import MINIMAL_ENV
from support.no_namespaces import LANDLOCK, NOTHING, without_namespaces
from support.waiting import eventually

OPT_IN = "sandbox.landlock_only=true"
CODEX_OPT_IN = "features.use_legacy_landlock=true"
ACCEPTED = Mode("accepted", ("--full-auto", "-c", OPT_IN))
ACCEPTED_AS_IN_CODEX = Mode("accepted-as-in-codex", ("--full-auto", "-c", CODEX_OPT_IN))
BOTH = (READ_ONLY, ACCEPTED)

CONTENT_AND_NAMES = [
    *("create write_existing through_symlink create_through_directory_symlink through_path_aliases".split()),
    *("hardlink_in_and_write hardlink_by_descriptor hardlink_out rename_out rename_over rename_in".split()),
    *("rename_exchange rename_directory truncate mapped_write make_fifo device_nodes remove_file".split()),
    *("remove_directory make_directory make_symlink bind_socket reopen_descriptor unnamed_file_given_a_name".split()),
    *("kernel_copies by_file_handle swapped_symlink_race change_inode_flags".split()),
]
METADATA = "change_mode change_owner change_times change_attributes".split()
ON_PROCESSES = (
    "trace read_memory write_memory write_memory_file read_secrets signal_victim signal_by_descriptor_owner "
    "steal_descriptor schedule_victim read_parent"
).split()
ON_SOCKETS = (
    "unix_stream unix_abstract_stream unix_seqpacket unix_datagram pass_descriptor_out tcp udp listen every_family "
    "named_protocols"
).split()
ON_SHARED_OBJECTS = "io_uring shared_memory semaphores_and_queues posix_queue posix_shared_memory".split()
ON_NAMESPACES = (
    "unshare_each unshare_each_alone clone_each clone_each_alone clone3_each change_root join_victim"
).split()
ON_GIT = [
    *("append_config git_config add_hook write_gitdir git_commit replace_directory change_mode".split()),
    *("hardlink_and_write rename_into_workspace reopen_descriptor through_aliases".split()),
]
# Reading what anybody may read. An owner can be set, but its signal does not arrive: the victim is asked.
VISIBLE: dict[str, object] = {
    "read_secrets": ["cmdline"],
    "semaphores_and_queues": ["listing"],
    "posix_shared_memory": ["read"],
    "signal_by_descriptor_owner": True,
}
ON_MISSING_NAMES = "create_codex_config create_agents_skill git_init".split()


def below(command: Command, left: str = LANDLOCK) -> Command:
    return Command(without_namespaces(command.argv, left=left), command.env)


def attack(world: World, mode: Mode, family: str, name: str, **extra: object) -> Outcome:
    return run(world, below(confined(world, mode, attacker_argv(family, name, world, **extra))))


def stop(world: World, mode: Mode, family: str, name: str) -> None:
    before = world.observe(mode)
    outcome = attack(world, mode, family, name)
    eventually(lambda: not world.survivors(), what="end of all processes of the call")
    assert world.observe(mode) == before
    assert outcome.returncode == EXIT_CODE, outcome
    detail = outcome.report["detail"]
    worked = detail["worked"] if isinstance(detail, dict) else outcome.achieved
    assert not worked or worked == VISIBLE.get(name), outcome.report


def shell(world: World, mode: Mode, script: str, *, left: str = LANDLOCK) -> "subprocess.CompletedProcess[bytes]":
    process = start(world, below(confined(world, mode, ["/bin/sh", "-c", script]), left))
    out, err = finish(process)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def cli(world: World, *arguments: str, left: str = LANDLOCK) -> "subprocess.CompletedProcess[bytes]":
    process = start(world, below(Command(cli_argv(*arguments), MINIMAL_ENV | world.environment), left))
    out, err = finish(process)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def looks(*roots: Path) -> dict[str, tuple[int, object]]:
    """Names, kinds, modes and contents: what has to be right again after a repair, unlike times and inodes."""
    found: dict[str, tuple[int, object]] = {}
    for root in roots:
        for path in (root, *sorted(root.rglob("*"))):
            if os.path.lexists(path):
                content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
                found[str(path)] = (path.lstat().st_mode, content)
    return found


def protected(world: World) -> dict[str, tuple[int, object]]:
    return looks(*(world.ws / name for name in PROTECTED_NAMES))


@pytest.fixture
def haunted(world: World) -> World:
    world.add_victim()
    return world


class TestReport:
    def test_doctor_names_level_and_reason(self, world: World) -> None:
        checks = {check["id"]: check for check in json.loads(cli(world, "doctor", "--json").stdout)["checks"].values()}
        level = checks["sandbox.level"]
        assert (level["status"], level["details"]["level"]) == ("warning", "landlock")
        assert "Operation not permitted" in level["details"]["degraded"]
        assert "landlock_only = true" in level["remediation"]

    def test_explain_names_level_and_reason(self, world: World) -> None:
        text = cli(world, "sandbox", "linux", "--explain", "--full-auto").stdout.decode()
        assert "level landlock" in text
        assert "forbids user namespaces" in text
        assert "checked after the call" in text

    def test_without_landlock_nothing_is_promised(self, world: World) -> None:
        done = cli(world, "doctor", "--json", left=NOTHING)
        checks = {check["id"]: check for check in json.loads(done.stdout)["checks"].values()}
        assert (checks["sandbox.level"]["status"], checks["sandbox.level"]["details"]["level"]) == ("fail", "none")
        assert b"level none: commands are refused" in cli(world, "sandbox", "--explain", left=NOTHING).stdout


class TestAttacks:
    @pytest.mark.parametrize("name", [*CONTENT_AND_NAMES, *METADATA])
    def test_nothing_can_be_written_read_only(self, world: World, name: str) -> None:
        world.aim("ws")
        stop(world, READ_ONLY, "writes", name)

    @pytest.mark.parametrize("name", CONTENT_AND_NAMES)
    def test_nothing_can_be_written_outside_the_roots(self, world: World, name: str) -> None:
        world.aim("out")
        stop(world, ACCEPTED, "writes", name)

    @pytest.mark.parametrize("mode", BOTH, ids=str)
    @pytest.mark.parametrize("name", ON_PROCESSES)
    def test_processes_are_left_alone(self, haunted: World, name: str, mode: Mode) -> None:
        stop(haunted, mode, "processes", name)

    @pytest.mark.parametrize("mode", BOTH, ids=str)
    @pytest.mark.parametrize("name", ON_SOCKETS)
    def test_nothing_is_reached(self, world: World, name: str, mode: Mode) -> None:
        world.add_listeners()
        stop(world, mode, "ipc_network", name)

    @pytest.mark.parametrize("mode", BOTH, ids=str)
    @pytest.mark.parametrize("name", ON_SHARED_OBJECTS)
    def test_objects_of_the_host_are_left_alone(self, world: World, name: str, mode: Mode) -> None:
        world.add_shared_objects()
        stop(world, mode, "ipc_network", name)

    @pytest.mark.parametrize("name", ON_NAMESPACES)
    def test_no_namespace_can_be_had(self, haunted: World, name: str) -> None:
        stop(haunted, READ_ONLY, "namespaces", name)


class TestProcesses:
    @pytest.mark.parametrize("hold", [False, True], ids=["silent", "holding the output"])
    def test_daemon_ends_with_the_call(self, world: World, hold: bool) -> None:
        outcome = attack(world, ACCEPTED, "processes", "outlive", hold=hold)
        assert outcome.returncode == EXIT_CODE
        assert world.survivors() == set()
        (world.ws / "go").touch()
        assert not (world.ws / "late").exists()

    @pytest.mark.parametrize("mode", BOTH, ids=str)
    def test_a_crowd_of_deaf_sleepers_ends_with_the_call(self, world: World, mode: Mode) -> None:
        assert attack(world, mode, "processes", "leave_a_crowd").returncode == EXIT_CODE
        assert world.survivors() == set()

    def test_the_first_process_of_the_box_can_be_killed_from_inside_without_a_gain(self, world: World) -> None:
        """It is the command's parent and, without a pid namespace, within its reach."""
        done = shell(world, ACCEPTED, "setsid sleep 1000 & kill -KILL $PPID; sleep 1000")
        assert done.returncode == 128 + signal.SIGKILL
        assert world.survivors() == set()

    def test_a_signal_to_the_launcher_ends_the_tree(self, world: World) -> None:
        script = ["/bin/sh", "-c", "trap '' TERM; setsid sleep 1000 & echo ready; sleep 1000"]
        process = start(world, below(confined(world, READ_ONLY, script)))
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.terminate()
        finish(process)
        assert process.returncode == 128 + signal.SIGTERM
        assert world.survivors() == set()


class TestConsent:
    def test_reading_needs_none(self, world: World) -> None:
        done = shell(world, READ_ONLY, "cat tracked.txt")
        assert (done.returncode, done.stdout, done.stderr) == (0, b"tracked\n", b"")

    def test_writing_is_refused_with_one_line_that_names_the_keys(self, world: World) -> None:
        done = shell(world, WORKSPACE_WRITE, "echo ran; touch made")
        assert (done.returncode, done.stdout) == (1, b"")
        (line,) = done.stderr.decode().splitlines()
        assert "[sandbox] landlock_only = true" in line
        assert "features.use_legacy_landlock = true" in line
        assert not (world.ws / "made").exists()
        assert not (world.ws / ".codex").exists()

    @pytest.mark.parametrize("mode", [ACCEPTED, ACCEPTED_AS_IN_CODEX], ids=str)
    def test_once_given_the_workspace_can_be_written(self, world: World, mode: Mode) -> None:
        done = shell(world, mode, "echo new > made && mkdir sub/dir && mv made sub/dir/moved && rm tracked.txt")
        assert (done.returncode, done.stderr) == (0, b"")
        assert (world.ws / "sub/dir/moved").read_bytes() == b"new\n"
        assert not (world.ws / "tracked.txt").exists()

    def test_given_in_the_configuration_file(self, world: World) -> None:
        (world.codex_home / "config.toml").write_text("[sandbox]\nlandlock_only = true\n", encoding="ascii")
        assert shell(world, WORKSPACE_WRITE, "touch made").returncode == 0
        assert (world.ws / "made").exists()

    def test_denied_reads_are_refused_even_then(self, world: World) -> None:
        online = Mode("online", (*ACCEPTED.options, "-c", "sandbox_workspace_write.network_access=true"))
        done = shell(world, online, "echo ran")
        assert (done.returncode, done.stdout) == (1, b"")
        (line,) = done.stderr.decode().splitlines()
        assert str(world.codex_home / "auth.json") in line
        allowed = Mode("allowed", (*online.options, "-c", "sandbox.deny_read_defaults=false"))
        assert shell(world, allowed, "echo ran").stdout == b"ran\n"

    @pytest.mark.parametrize("mode", [READ_ONLY, WORKSPACE_WRITE, ACCEPTED], ids=str)
    def test_without_landlock_everything_is_refused(self, world: World, mode: Mode) -> None:
        done = shell(world, mode, "echo ran; touch made", left=NOTHING)
        assert (done.returncode, done.stdout) == (1, b"")
        (line,) = done.stderr.decode().splitlines()
        assert "no Landlock" in line
        assert not (world.ws / "made").exists()


class TestProtectedPaths:
    @pytest.mark.parametrize("name", ON_GIT)
    def test_a_change_of_the_repository_is_undone_and_told(self, world: World, name: str) -> None:
        before = protected(world)
        outcome = attack(world, ACCEPTED, "git_metadata", name)
        assert outcome.achieved, outcome.report
        assert protected(world) == before
        assert f"pycodex: {world.ws}/.git" in outcome.stderr

    @pytest.mark.parametrize("name", ON_MISSING_NAMES)
    def test_a_name_that_was_missing_is_missing_again(self, world: World, name: str) -> None:
        shutil.rmtree(world.ws / ".git")
        outcome = attack(world, ACCEPTED, "git_metadata", name)
        assert outcome.achieved, outcome.report
        assert protected(world) == {}
        assert "was created during the call: removed" in outcome.stderr

    def test_settings_of_the_project_are_put_back(self, world: World) -> None:
        (world.ws / ".codex").mkdir()
        (world.ws / ".codex" / "config.toml").write_text("kept = true\n", encoding="ascii")
        before = protected(world)
        done = shell(world, ACCEPTED, "rm -r .codex; ln -s /etc .codex")
        assert done.returncode == 0
        assert protected(world) == before
        assert b"/.codex was replaced during the call: restored" in done.stderr

    def test_nothing_is_told_when_nothing_was_changed(self, world: World) -> None:
        assert shell(world, ACCEPTED, "git log --oneline >/dev/null; ls -R .git >/dev/null").stderr == b""

    def test_what_is_lost_is_told(self, world: World) -> None:
        done = shell(world, ACCEPTED, "rm -rf .git/objects")
        assert b"was removed and could not be restored: objects of repositories are not kept" in done.stderr

    def test_a_change_cannot_hide_behind_the_end_of_the_box(self, world: World) -> None:
        before = protected(world)
        done = shell(world, ACCEPTED, "kill -KILL $PPID; echo evil >> .git/config; exec sleep 1000 >/dev/null 2>&1")
        assert done.returncode == 128 + signal.SIGKILL
        assert protected(world) == before
        assert world.survivors() == set()

    def test_a_change_cannot_hide_behind_another_command(self, world: World) -> None:
        """One plants a hook, the other begins while it is there: what it found is not what must be put back."""
        before = protected(world)
        plant = "echo evil > .git/hooks/pre-commit; echo evil >> .git/config; mkdir .codex; echo ready; read line"
        first = start(world, below(confined(world, ACCEPTED, ["/bin/sh", "-c", plant])), stdin=subprocess.PIPE)
        assert first.stdout is not None
        assert first.stdout.readline() == b"ready\n"
        wait = "echo ready; read line; cp .git/config .git/again; echo evil > .git/hooks/pre-commit"
        second = start(world, below(confined(world, ACCEPTED, ["/bin/sh", "-c", wait])), stdin=subprocess.PIPE)
        assert second.stdout is not None
        assert second.stdout.readline() == b"ready\n"
        for process in (first, second):
            process.communicate(b"go\n")
        assert protected(world) == before
        assert not any((world.codex_home / "tmp" / "guards").iterdir())


def test_the_filter_of_these_tests_refuses_what_it_says() -> None:
    probe = "import ctypes, sys; sys.exit(ctypes.CDLL(None, use_errno=True).unshare(0x10000000) != -1)"
    argv = without_namespaces([*cli_argv()[:1], "-I", "-S", "-c", probe])
    assert subprocess.run(argv, check=False).returncode == 0
