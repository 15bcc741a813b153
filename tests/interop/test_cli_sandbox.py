"""`pycodex sandbox` against what the reference was seen to do."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from support.cli import cli_argv

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="recorded on Linux")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """An executable that is `pycodex` of this checkout."""
    path = tmp_path / "pycodex"
    path.write_text(f'#!/bin/sh\nexec {shlex.join(cli_argv())} "$@"\n')
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("scenario", ["cli-sandbox-linux", "cli-sandbox-signal"])
def test_scenario_ends_as_recorded(scenario: str, shared_dir: Path, program: Path) -> None:
    interop = shared_dir / "interop"
    file = interop / "scenarios" / f"{scenario}.json"
    if not file.is_file():
        pytest.skip(f"no recorded scenario at {file}")
    argv = [sys.executable, str(interop / "interop.py"), "check", "--bin", str(program), "-v", str(file)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
