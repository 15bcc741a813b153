"""The host's device nodes are usable inside and cannot be changed there."""

import os
import sys

import pytest

from support.escape.attack import confined, finish, start
from support.escape.world import Mode, World

# The mode that it has already: harmless on the host if it went through.
TOUCH_NODE = """
import os
os.write(os.open("/dev/null", os.O_WRONLY), b"gone")
try:
    os.chmod("/dev/full", os.stat("/dev/full").st_mode & 0o7777)
    print("changed")
except OSError as error:
    print("refused")
"""


@pytest.mark.parametrize(
    "mode", [Mode("read-only", ()), Mode("workspace-write", ("--full-auto",))], ids=lambda m: m.name
)
def test_node_of_the_host_keeps_its_mode_and_times(world: World, mode: Mode) -> None:
    before = os.stat("/dev/full")
    process = start(world, confined(world, mode, [sys.executable, "-I", "-S", "-c", TOUCH_NODE]))
    out, err = finish(process)
    assert (out, err, process.returncode) == (b"refused\n", b"", 0)
    assert os.stat("/dev/full").st_ctime_ns == before.st_ctime_ns
