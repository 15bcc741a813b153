"""Options and fixtures of all tests."""

import fcntl
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

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
def login_port() -> Iterator[int]:
    """The port that browsers come back to: one a machine, so one test at a time has it."""
    path = Path(tempfile.gettempdir()) / f"pycodex-tests-login-port-{os.getuid()}.lock"
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield 1455
