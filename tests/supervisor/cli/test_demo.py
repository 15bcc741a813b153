"""`pycodex demo` keeps its word and tidies up."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pycodex.sandbox.backend import host_report
from support.cli import Ended

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox of Linux")

Call = Callable[..., Ended]


@pytest.fixture
def cache(scratch: Path) -> Path:
    path = scratch / "cache"
    path.mkdir()
    return path


def demo_files() -> set[str]:
    return {name for name in os.listdir("/tmp") if name.startswith("pycodex-demo-")}


@pytest.mark.skipif(host_report().level != "full", reason="this host has no namespaces")
def test_everything_goes_as_announced_and_nothing_is_left(pycodex: Call, cache: Path) -> None:
    before = demo_files()
    ended = pycodex("demo", env={"XDG_CACHE_HOME": str(cache)})
    assert (ended.code, ended.err) == (0, "")
    assert "SURPRISE" not in ended.out
    assert ended.out.count("\n    refused: ") >= 6
    assert ended.out.count("\n    allowed: ") >= 3
    assert "pycodex sandbox linux --full-auto -- COMMAND" in ended.out
    assert list(cache.iterdir()) == []
    assert demo_files() <= before


def test_broken_promise_is_noticed(pycodex: Call, cache: Path) -> None:
    root = f'sandbox_workspace_write.writable_roots=["{cache}"]'
    ended = pycodex("demo", "-c", root, env={"XDG_CACHE_HOME": str(cache)})
    assert ended.code == 1
    assert "SURPRISE (exit code 0; it should have been refused)" in ended.out
    assert list(cache.iterdir()) == []


def test_command_that_cannot_be_run_is_not_taken_for_a_refused_one(pycodex: Call, cache: Path) -> None:
    ended = pycodex("demo", "-c", "sandbox.limits.processes=many", env={"XDG_CACHE_HOME": str(cache)})
    assert ended.code == 1
    assert "\n    refused: " not in ended.out
    assert "\n    allowed: " not in ended.out
