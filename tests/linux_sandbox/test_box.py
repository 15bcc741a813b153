"""The first process of a box, and the parent that it may have lost."""

import subprocess

import pytest

from pycodex.protocol.confinement import FULL, LANDLOCK
from support.interpreter import MINIMAL_ENV, python_argv

# Opens a box whose line has no other end any more, as if the parent were gone.
PROGRAM = """
import os, socket
from pycodex.linux_sandbox.box import open_box
ours, theirs = socket.socketpair()
ours.close()

def body(line):
    os.write(2, b"the body ran")

pid = open_box(sys.argv[1], network=True, line=(os.open(os.devnull, os.O_RDONLY), theirs.detach()), body=body)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


@pytest.mark.parametrize("level", [FULL, LANDLOCK])
def test_first_process_without_a_parent_leaves_without_a_word(level: str) -> None:
    done = subprocess.run(
        python_argv(PROGRAM, level), env=MINIMAL_ENV, capture_output=True, text=True, check=False, timeout=60
    )
    if "Unenforceable" in done.stderr:
        pytest.skip("no user namespaces here")
    assert (done.stdout, done.stderr) == ("1\n", "")
