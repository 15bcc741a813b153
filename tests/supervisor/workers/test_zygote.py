"""What the zygote says is checked, and its end is always seen."""

import os
import signal

import msgpack
import pytest
import trio

from pycodex.supervisor.workers.launch import launch_python
from pycodex.supervisor.workers.orphans import become_subreaper
from pycodex.supervisor.workers.zygote import Died, Forked, Zygote, ZygoteGone, describe_status
from support.fake_worker import launcher
from support.pools import alive
from support.waiting import eventually_async

SAYING = """
import msgpack, socket
channel = socket.socket(fileno=int(sys.argv[1]))
channel.recv(65536)
for packet in {packets!r}:
    channel.send(packet)
channel.recv(65536)
"""


def saying(*packets: object) -> Zygote:
    """A zygote that says just this, and waits for the end."""
    raw = [packet if isinstance(packet, bytes) else msgpack.packb(packet) for packet in packets]
    return Zygote(launch_python(SAYING.format(packets=raw)))


async def test_greeting_forks_and_deaths_are_told(runtime_base: str) -> None:
    zygote = Zygote(launcher("stillborn")())
    assert (await zygote.greet(f"{runtime_base}/s")).level == "none"
    zygote.fork("token", "confined")
    forked = await zygote.next_packet()
    assert isinstance(forked, Forked)
    assert forked.token == "token"
    died = await zygote.next_packet()
    assert isinstance(died, Died)
    assert (died.token, died.pid) == ("token", forked.pid)
    assert describe_status(died.status) == "exited with code 9"
    assert await zygote.close(grace_s=10) == "exited with code 0"


@pytest.mark.parametrize(
    "packet",
    [
        {"hello": 99},
        {"hello": 1, "host": {"level": 5}},
        {"hello": 1},
        b"\xc1",
        ["hello"],
        b"\x81",
    ],
)
async def test_strange_greeting_is_refused(packet: object) -> None:
    zygote = saying(packet)
    with pytest.raises(ZygoteGone):
        await zygote.greet("/nowhere")
    await zygote.close(grace_s=10)


@pytest.mark.parametrize(
    "packet",
    [
        {"forked": "12", "token": "t"},
        {"forked": 1, "token": "t"},
        {"forked": -5, "token": "t"},
        {"died": 12},
        {},
        b"\xc1",
    ],
)
async def test_strange_packet_is_refused(packet: object) -> None:
    zygote = saying({"hello": 1, "host": {"level": "none"}}, packet)
    await zygote.greet("/nowhere")
    with pytest.raises(ZygoteGone):
        await zygote.next_packet()
    await zygote.close(grace_s=10)


async def test_dead_zygote_is_noticed_and_reaped() -> None:
    zygote = Zygote(launcher("dead")())
    with pytest.raises(ZygoteGone):
        await zygote.greet("/nowhere")
    assert await zygote.close(grace_s=10) == "exited with code 7"
    assert not alive([zygote.pid])


async def test_fork_request_to_a_dead_zygote_fails_at_once() -> None:
    zygote = saying({"hello": 1, "host": {"level": "none"}})
    await zygote.greet("/nowhere")
    os.kill(zygote.pid, signal.SIGKILL)

    def refused() -> bool:
        try:
            zygote.fork("token", "confined")
        except ZygoteGone:
            return True
        return False

    await eventually_async(refused)
    assert await zygote.close(grace_s=10) == "killed by signal 9"


async def test_zygote_that_does_not_go_is_killed_with_its_children() -> None:
    stubborn = """
import signal
import socket
channel = socket.socket(fileno=int(sys.argv[1]))
child = os.fork()
if child:
    channel.send(b"%d" % child)
while True:
    signal.pause()
"""
    become_subreaper()
    launched = launch_python(stubborn)
    zygote = Zygote(launched)
    await trio.lowlevel.wait_readable(launched.channel_fd)
    child = int(os.read(launched.channel_fd, 100))
    assert await zygote.close(grace_s=0.01) == "killed by signal 9"
    assert not alive([zygote.pid])
    await eventually_async(lambda: not alive([child]))


def test_senseless_status_is_told_as_it_is() -> None:
    assert describe_status(0x137F) == "ended with status 4991"
