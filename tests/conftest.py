"""Options and fixtures of all tests."""

import fcntl
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.engine import Place

SHARED_DIR = Path(__file__).resolve().parents[2] / "shared"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="run the long tests with their full counts")


def pytest_configure() -> None:
    """A shell starts what it runs in the background with these ignored, and so would be all that we start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


@pytest.fixture(scope="session")
def soak(request: pytest.FixtureRequest) -> bool:
    """Whether the long tests run with their full counts."""
    return bool(request.config.getoption("--soak"))


@pytest.fixture(scope="session")
def scale(soak: bool) -> Callable[[int, int], int]:
    """`scale(short, long)`: the count for this run."""
    return lambda short, long: long if soak else short


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """Reference material that lies beside the checkout on some machines; it is no part of the repository."""
    if not SHARED_DIR.is_dir():
        pytest.skip(f"no reference material at {SHARED_DIR}")
    return SHARED_DIR


@pytest.fixture
def place(tmp_path: Path) -> "Iterator[Place]":
    """A home and a workspace for the engine."""
    from support.engine import open_place

    with open_place(tmp_path) as opened:
        yield opened


@pytest.fixture
def login_port() -> Iterator[int]:
    """The port that browsers come back to: one a machine, so one test at a time has it, whoever runs it."""
    with os.fdopen(_readable(Path(tempfile.gettempdir()) / "pycodex-tests-login-port.lock")) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield 1455


def _readable(path: Path) -> int:
    """The kernel lets nobody create what is there already and belongs to another user, but a reader can lock it."""
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
