"""The three inherited streams are for reading and writing, and lead nowhere else."""

import os
from pathlib import Path

import pytest

from support.escape.attack import EXIT_CODE, attacker_argv, confined, finish, run, start, unconfined
from support.escape.world import MODES, READ_ONLY, WORKSPACE_WRITE, Mode, World, changes

FAMILY = "streams"
FILE_ATTACKS = ["change_metadata", "reopen_for_writing"]


@pytest.mark.parametrize("name", FILE_ATTACKS)
class TestFileAsInput:
    def test_works_without_a_sandbox(self, world: World, name: str) -> None:
        before = world.observe(READ_ONLY)
        with (world.out / "file").open("rb") as stdin:
            outcome = run(world, unconfined(world, attacker_argv(FAMILY, name, world)), stdin=stdin)
        assert outcome.achieved
        assert changes(before, world.observe(READ_ONLY)) != []

    @pytest.mark.parametrize("mode", MODES, ids=str)
    def test_is_stopped(self, world: World, name: str, mode: Mode) -> None:
        before = world.observe(mode)
        with (world.out / "file").open("rb") as stdin:
            outcome = run(world, confined(world, mode, attacker_argv(FAMILY, name, world)), stdin=stdin)
        assert changes(before, world.observe(mode)) == []
        assert not outcome.achieved, outcome.report
        assert outcome.returncode == EXIT_CODE

    def test_is_stopped_for_protected_files(self, world: World, name: str) -> None:
        before = world.observe(WORKSPACE_WRITE)
        with (world.ws / ".git" / "config").open("rb") as stdin:
            run(world, confined(world, WORKSPACE_WRITE, attacker_argv(FAMILY, name, world)), stdin=stdin)
        assert changes(before, world.observe(WORKSPACE_WRITE)) == []


class TestDirectory:
    """A stream that is a directory would lead past all mounts."""

    SCRIPT = """
        for path in out/file ws/.git/config; do
            echo pwned >> /proc/self/fd/$0/$path
            chmod 777 /proc/self/fd/$0/$path
        done
        """

    def attack(self, world: World, mode: Mode | None, stream: str) -> None:
        number = {"stdin": "0", "stdout": "1", "stderr": "2"}[stream]
        argv = ["/bin/sh", "-c", self.SCRIPT, number]
        descriptor = os.open(world.base, os.O_RDONLY | os.O_DIRECTORY)
        try:
            command = unconfined(world, argv) if mode is None else confined(world, mode, argv)
            finish(start(world, command, **{stream: descriptor}))
        finally:
            os.close(descriptor)

    @pytest.mark.parametrize("stream", ["stdin", "stdout", "stderr"])
    def test_works_without_a_sandbox(self, world: World, stream: str) -> None:
        self.attack(world, None, stream)
        assert b"pwned" in (world.ws / ".git" / "config").read_bytes()

    @pytest.mark.parametrize("stream", ["stdin", "stdout", "stderr"])
    def test_is_stopped(self, world: World, stream: str) -> None:
        before = world.observe(WORKSPACE_WRITE)
        self.attack(world, WORKSPACE_WRITE, stream)
        assert changes(before, world.observe(WORKSPACE_WRITE)) == []


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_a_file_can_be_read_from_where_it_stands(world: World, mode: Mode) -> None:
    """What was read before the call stays read."""
    source = world.out / "lines"
    source.write_text("first\nsecond\n", encoding="ascii")
    descriptor = os.open(source, os.O_RDONLY)
    os.lseek(descriptor, 6, os.SEEK_SET)
    out, _ = finish(start(world, confined(world, mode, ["/bin/cat"]), stdin=descriptor))
    os.close(descriptor)
    assert out == b"second\n"


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_output_goes_to_the_file_it_was_sent_to(world: World, mode: Mode) -> None:
    """Also to one outside: the caller opened it."""
    target: Path = world.out / "log"
    with target.open("ab") as stdout:
        process = start(
            world, confined(world, mode, ["/bin/sh", "-c", "echo out; echo err >&2"]), stdout=stdout, stderr=stdout
        )
        finish(process)
    assert target.read_bytes() == b"out\nerr\n"
