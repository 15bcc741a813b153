"""A program of the user's is known from a command in the sandbox, and nobody is taken for one who is not known."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pycodex.supervisor.frontends.app_server.peer_process import is_free_program
from support.cli import cli_argv

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's tables of Linux")

CLIENT = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
    connection.recv(1)
"""
NETWORK = ("--full-auto", "-c", "sandbox_workspace_write.network_access=true")


@contextmanager
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


def judged(listener: socket.socket) -> bool:
    connection, _ = listener.accept()
    with connection:
        return is_free_program(connection.getsockname(), connection.getpeername())


@contextmanager
def client(*before: str, port: int, cwd: Path) -> Iterator[None]:
    argv = [*before, sys.executable, "-I", "-c", CLIENT, str(port)]
    with subprocess.Popen(argv, cwd=cwd, stdin=subprocess.DEVNULL) as process:
        yield
        process.wait()


def test_program_of_the_user_is_free(tmp_path: Path) -> None:
    with listening() as listener, client(port=listener.getsockname()[1], cwd=tmp_path):
        assert judged(listener)


def test_command_in_the_sandbox_is_not_though_it_has_the_network(tmp_path: Path) -> None:
    sandbox = cli_argv("sandbox", *NETWORK, "--")
    with listening() as listener, client(*sandbox, port=listener.getsockname()[1], cwd=tmp_path):
        assert not judged(listener)


def test_nobody_is_not() -> None:
    assert not is_free_program(("127.0.0.1", 1), ("127.0.0.1", 1))
