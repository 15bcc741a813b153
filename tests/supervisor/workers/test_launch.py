"""The zygote starts with nothing of ours but its channel and its code."""

import json
import os
import socket
import sys
from typing import Any

import pytest

from pycodex.supervisor.workers.launch import launch_python

REPORT = """
import socket, json
fds = sorted(int(name) for name in os.listdir("/proc/self/fd"))
channel = socket.socket(fileno=int(sys.argv[1]))
channel.send(json.dumps({
    "env": dict(os.environ), "sid": os.getsid(0) == os.getpid(), "fds": fds, "cwd": os.getcwd(),
    "null": [os.readlink(f"/proc/self/fd/{n}") for n in (0, 1)], "kind": channel.type, "arguments": sys.argv[2:],
}).encode())
"""


def report(*arguments: str) -> dict[str, Any]:
    launched = launch_python(REPORT, *arguments)
    with socket.socket(fileno=launched.channel_fd) as channel:
        channel.settimeout(30)
        answer = channel.recv(65536)
    os.waitpid(launched.pid, 0)
    told: dict[str, Any] = json.loads(answer)
    return told


def test_environment_is_scrubbed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    environment = report()["env"]
    # The interpreter itself adds a locale to a bare environment.
    assert {name for name in environment if not name.startswith("LC_")} == {"PATH"}


def test_it_leads_a_session_in_the_root_and_has_no_terminal_or_input() -> None:
    told = report("one", "two")
    assert told["sid"] is True
    assert told["cwd"] == "/"
    assert told["null"] == ["/dev/null", "/dev/null"]
    assert told["arguments"] == ["one", "two"]


def test_only_the_channel_is_inherited() -> None:
    leaked = os.open("/dev/null", os.O_RDONLY)
    try:
        os.set_inheritable(leaked, True)
        told = report()
    finally:
        os.close(leaked)
    assert told["kind"] == socket.SOCK_SEQPACKET
    # The last one is the listing's own.
    assert told["fds"] == [0, 1, 2, 3, 4]


def test_program_that_cannot_be_started_leaves_no_descriptor_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.listdir("/proc/self/fd")
    monkeypatch.setattr(sys, "executable", "/nonesuch/python")
    with pytest.raises(FileNotFoundError):
        launch_python("")
    assert os.listdir("/proc/self/fd") == before
