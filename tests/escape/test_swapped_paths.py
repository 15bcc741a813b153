"""A path that another call exchanges for a link, while ours starts or between two of ours, opens nothing.

Whoever may write in /tmp may rename what lies there: the workspace of another session, or a directory above it.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.escape.attack import confined, finish, start
from support.escape.command import Command
from support.escape.world import WORKSPACE_WRITE, Mode, World, changes
from support.no_namespaces import without_namespaces

LANDLOCK_ONLY = Mode("landlock", ("--full-auto", "-c", "sandbox.landlock_only=true"))
SWAPPER = """
import os, sys
name, away, link = sys.argv[1:]
print("ready", flush=True)
while True:
    os.rename(name, away)
    os.rename(link, name)
    os.rename(name, link)
    os.rename(away, name)
"""


@contextmanager
def swapping(name: Path, destination: Path) -> Iterator[None]:
    """`name` and a link to `destination` take turns, until the end."""
    away, link = name.with_name("away"), name.with_name("link")
    link.symlink_to(destination)
    swapper = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", SWAPPER, *map(str, (name, away, link))], stdout=subprocess.PIPE
    )
    assert swapper.stdout is not None
    try:
        assert swapper.stdout.readline() == b"ready\n"
        yield
    finally:
        swapper.kill()
        swapper.communicate()


@pytest.fixture
def exposed(world: World) -> World:
    """A workspace below /tmp, and elsewhere a directory of the same name that is none of its business."""
    (world.scratch / "above" / "ws").mkdir(parents=True)
    (world.out / "ws").mkdir()
    world.ws = world.scratch / "above" / "ws"
    return world


@pytest.mark.parametrize("part", ["above", "above/ws"])
@pytest.mark.parametrize("mode", [WORKSPACE_WRITE, LANDLOCK_ONLY], ids=str)
def test_a_workspace_that_turns_into_a_link_opens_nothing(
    exposed: World, mode: Mode, part: str, scale: Callable[[int, int], int]
) -> None:
    """The command itself is started in the real directory; what is raced for is where its rights lead."""
    destination = exposed.out / "ws" if part == "above/ws" else exposed.out
    command = confined(exposed, mode, ["/bin/sh", "-c", f"echo x >{exposed.out}/ws/made; exit 0"])
    if mode is LANDLOCK_ONLY:
        command = Command(without_namespaces(command.argv), command.env)
    before = exposed.observe(mode)
    real = os.open(exposed.ws, os.O_PATH)
    try:
        with swapping(exposed.scratch / part, destination):
            for _ in range(scale(40, 400)):
                finish(start(exposed, command, cwd=f"/proc/self/fd/{real}"))
    finally:
        os.close(real)
    assert changes(before, exposed.observe(mode)) == []
