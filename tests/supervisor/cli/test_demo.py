"""`pycodex demo` keeps its word, whatever is around it, and tidies up."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pycodex.sandbox.backend import host_report
from support.cli import Ended, cli_argv
from support.interpreter import MINIMAL_ENV
from support.no_namespaces import LANDLOCK, NOTHING, without_namespaces
from support.waiting import eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox of Linux")
shows_everything = pytest.mark.skipif(host_report().level != "full", reason="this host has no namespaces")

Call = Callable[..., Ended]


@pytest.fixture
def cache(scratch: Path) -> Path:
    path = scratch / "cache"
    path.mkdir()
    return path


def files_below(directory: Path) -> list[Path]:
    return sorted(directory.rglob("*"))


@shows_everything
def test_the_turn_goes_as_announced_and_nothing_is_left(pycodex: Call, cache: Path, home: Path) -> None:
    ended = pycodex("demo", env={"XDG_CACHE_HOME": str(cache)})
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.count("\n▸ Refused: the sandbox does not allow writing to ") == 2
    assert "FAILED (failures=1)" in ended.out
    assert '+    return "-".join(title.lower().split())' in ended.out
    assert ended.out.rindex("\nOK\n") > ended.out.rindex("FAILED")
    assert "✓ Run the test again" in ended.out
    assert "Everything went as announced" in ended.out
    assert "\x1b" not in ended.out
    assert files_below(cache) == []
    assert files_below(home) == [], "the user's own home was touched"


@shows_everything
def test_neither_keys_nor_settings_of_the_user_get_in(pycodex: Call, cache: Path, home: Path) -> None:
    (home / "config.toml").write_text('model_provider = "elsewhere"\nsandbox_mode = "read-only"\n')
    env = {
        "XDG_CACHE_HOME": str(cache),
        "OPENAI_API_KEY": "sk-secret",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "http_proxy": "http://127.0.0.1:9",
        "TMPDIR": str(cache),
    }
    ended = pycodex("demo", env=env)
    assert (ended.code, ended.err) == (0, "")


@shows_everything
def test_broken_promise_is_noticed(pycodex: Call, cache: Path) -> None:
    root = f'sandbox_workspace_write.writable_roots=["{cache}"]'
    ended = pycodex("demo", "-c", root, env={"XDG_CACHE_HOME": str(cache)})
    assert ended.code == 1
    assert "the call `home-hook` should have been refused, but succeeded" in ended.out
    assert "Everything went as announced" not in ended.out
    assert list(cache.glob("pycodex-demo-*")) == []


@shows_everything
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_ended_early_it_tidies_up_as_well(cache: Path, scratch: Path, ending: signal.Signals) -> None:
    env = {**MINIMAL_ENV, "HOME": str(scratch), "XDG_CACHE_HOME": str(cache)}
    with subprocess.Popen(cli_argv("demo"), env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as demo:
        eventually(lambda: os.listdir(cache), what="the scratch directory")
        demo.send_signal(ending)
        _, err = demo.communicate()
    assert (demo.returncode, err) == (128 + ending, "\ninterrupted; nothing is left of the demonstration\n")
    assert files_below(cache) == []


@shows_everything
def test_reader_that_leaves_ends_it_quietly(cache: Path, scratch: Path) -> None:
    env = {**MINIMAL_ENV, "HOME": str(scratch), "XDG_CACHE_HOME": str(cache)}
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(cli_argv("demo"), env=env, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")
    assert files_below(cache) == []


@pytest.mark.parametrize("left", [NOTHING, LANDLOCK])
def test_host_without_namespaces_is_told_in_one_line(cache: Path, left: str) -> None:
    argv = without_namespaces(cli_argv("demo"), left=left)
    env = {**MINIMAL_ENV, "XDG_CACHE_HOME": str(cache)}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"Error: the full sandbox cannot be shown here: .*`pycodex doctor`.*\n", done.stderr)
    assert files_below(cache) == []


def test_mistake_in_a_setting_is_told(pycodex: Call, cache: Path) -> None:
    ended = pycodex("demo", "-c", "approval_policy=perhaps", env={"XDG_CACHE_HOME": str(cache)})
    assert ended.code == 1
    assert "`perhaps`" in ended.err or host_report().level != "full"
    assert files_below(cache) == []
