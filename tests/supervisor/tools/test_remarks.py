"""What a code does not tell of a command's end is told in words."""

from typing import Any

import pytest

from pycodex.protocol.confinement import Enforced
from pycodex.protocol.frames import TIMEOUT, Exited
from pycodex.supervisor.tools.remarks import remarks_on

ENFORCED = Enforced(level="full")


@pytest.mark.parametrize(
    ("fields", "lines"),
    [
        ({}, []),
        ({"reason": TIMEOUT}, []),
        ({"reason": "limit cpu_seconds = 1 exceeded"}, ["Ended early: limit cpu_seconds = 1 exceeded"]),
        ({"left_running": (4, 5)}, ["Left running in the background: 4, 5"]),
        ({"left_running": (4,), "notes": ("one", "two")}, ["Left running in the background: 4", "one", "two"]),
    ],
)
def test_lines(fields: dict[str, Any], lines: list[str]) -> None:
    assert list(remarks_on(Exited(job_id="j", code=0, enforced=ENFORCED, **fields))) == lines
