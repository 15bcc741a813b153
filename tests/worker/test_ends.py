"""A process keeps the descriptors that it is for, and no other."""

import json
import subprocess

from support.interpreter import python_argv

PROGRAM = """
import json, os
from pycodex.worker.ends import Links, close_all_but

def is_open(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True

os.open("/", os.O_RDONLY)
links = Links()
high = os.dup2(0, 900)
close_all_but(*links.of_box(), high)
kept = sorted(int(name) for name in os.listdir("/proc/self/fd") if is_open(int(name)))
print(json.dumps([kept, sorted([0, 1, 2, *links.of_box(), high])]))
"""


def test_only_the_kept_and_the_standard_descriptors_stay_open() -> None:
    done = subprocess.run(python_argv(PROGRAM), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    kept, expected = json.loads(done.stdout)
    assert kept == expected
