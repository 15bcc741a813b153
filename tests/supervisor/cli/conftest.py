"""Places for command line tests: a home and a workspace outside /tmp, which every sandbox may write."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.cli import Ended, run_cli


@pytest.fixture
def scratch() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="pycodex-test-", dir="/var/tmp")).resolve()
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def slash_tmp() -> Iterator[Path]:
    """A directory that lies in /tmp, wherever pytest keeps its own."""
    path = Path(tempfile.mkdtemp(prefix="pycodex-test-", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def home(scratch: Path) -> Path:
    """CODEX_HOME."""
    path = scratch / "home"
    path.mkdir()
    return path


@pytest.fixture
def workspace(scratch: Path) -> Path:
    path = scratch / "workspace"
    path.mkdir()
    return path


@pytest.fixture
def pycodex(home: Path, workspace: Path) -> Callable[..., Ended]:
    """Call the command line in the workspace."""

    def call(*arguments: str, **options: object) -> Ended:
        env = {"CODEX_HOME": str(home), "HOME": str(home), **options.pop("env", {})}  # type: ignore[dict-item]
        return run_cli(*arguments, **{"cwd": workspace, "env": env, **options})  # type: ignore[arg-type]

    return call
