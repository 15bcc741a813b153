"""Processes of tests that are ended with them."""

import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest


@pytest.fixture
def started_process() -> Iterator[Callable[[str], int]]:
    """Runs Python code in a process of its own; gives its pid."""
    started: list[subprocess.Popen[bytes]] = []

    def start(code: str) -> int:
        started.append(subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL))
        return started[-1].pid

    yield start
    for process in started:
        process.kill()
        process.wait()
