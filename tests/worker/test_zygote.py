"""The real zygote over its socketpair: what it answers, whom it takes with it, and what it survives."""

import os
import select
import signal
import socket
from collections.abc import Iterator
from typing import Any

import msgpack
import pytest
import zmq

from pycodex.protocol.confinement import Confinement, Enforced
from pycodex.protocol.frames import Exited, Output, Ready, RunCommand, decode_fact, encode
from pycodex.supervisor.workers.launch import launch
from pycodex.supervisor.workers.orphans import become_subreaper
from support.marked import Mark
from support.orders import CONFINED, UNCONFINED, shell
from support.pools import alive, boxes_below, descendants, short_base
from support.waiting import eventually

TIMEOUT_SECONDS = 20.0


class Parent:
    """A supervisor reduced to its two sockets."""

    def __init__(self, path: str) -> None:
        become_subreaper()
        self.path = path
        launched = launch()
        self.pid = launched.pid
        self.channel = socket.socket(fileno=launched.channel_fd)
        self.channel.settimeout(TIMEOUT_SECONDS)
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.router = self._context.socket(zmq.ROUTER)
        for option, value in ((zmq.LINGER, 0), (zmq.RCVTIMEO, int(TIMEOUT_SECONDS * 1000))):
            self.router.setsockopt(option, value)
        self.router.bind(f"ipc://{path}")

    def say(self, packet: object) -> None:
        self.channel.send(packet if isinstance(packet, bytes) else msgpack.packb(packet))

    def hear(self) -> dict[str, Any]:
        answer = msgpack.unpackb(self.channel.recv(65536))
        assert type(answer) is dict
        return answer

    def greet(self) -> dict[str, Any]:
        self.say({"socket": self.path, "version": 1})
        return self.hear()

    def fork(self, flavour: str = "confined") -> tuple[bytes, Ready]:
        """A worker, as it introduces itself."""
        self.say({"fork": "the-token", "flavour": flavour})
        assert self.hear()["token"] == "the-token"
        routing_id, frame = self.router.recv_multipart()
        ready = decode_fact(frame)
        assert isinstance(ready, Ready)
        return routing_id, ready

    def order(self, worker: bytes, order: RunCommand) -> None:
        self.router.send_multipart([worker, encode(order.replace(job_id="the-job"))])

    def fact(self, kind: type[Any]) -> Any:
        """The next fact of this kind from any worker."""
        while not isinstance(fact := decode_fact(self.router.recv_multipart()[1]), kind):
            pass
        return fact

    def wait_for_end(self) -> int:
        """Its exit code, or the signal that ended it as a negative number."""
        pidfd = os.pidfd_open(self.pid)
        try:
            assert select.select([pidfd], [], [], TIMEOUT_SECONDS)[0], "it goes on"
        finally:
            os.close(pidfd)
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        return os.waitstatus_to_exitcode(status)

    def close(self) -> None:
        self.channel.close()
        self._context.destroy(linger=0)
        if self.pid:
            self.wait_for_end()


@pytest.fixture
def parent() -> Iterator[Parent]:
    with short_base() as base:
        made = Parent(f"{base}/s")
        try:
            yield made
        finally:
            made.close()


def test_greeting_tells_who_it_is_and_what_the_host_can_do(parent: Parent) -> None:
    answer = parent.greet()
    assert answer["hello"] == 1
    assert answer["pid"] == parent.pid
    assert Enforced.from_plain(answer["host"]).level in ("full", "landlock", "none")


@pytest.mark.parametrize("flavour", ["confined", "network", "unconfined"])
def test_worker_introduces_itself(parent: Parent, flavour: str) -> None:
    host = Enforced.from_plain(parent.greet()["host"])
    parent.say({"fork": "a-token", "flavour": flavour})
    forked = parent.hear()
    ready = decode_fact(parent.router.recv_multipart()[1])
    assert isinstance(ready, Ready)
    assert (ready.token, ready.pid, ready.flavour) == ("a-token", forked["forked"], flavour)
    assert ready.enforced.level == ("unconfined" if flavour == "unconfined" else host.level)


def test_death_of_a_worker_is_told_with_its_status(parent: Parent) -> None:
    parent.greet()
    _, ready = parent.fork()
    os.kill(ready.pid, signal.SIGTERM)
    assert parent.hear() == {"died": ready.pid, "token": "the-token", "status": signal.SIGTERM}
    assert not os.path.exists(f"/proc/{ready.pid}")


def test_worker_that_has_done_its_work_is_told_too(parent: Parent) -> None:
    parent.greet()
    worker, ready = parent.fork("unconfined")
    parent.order(worker, shell("exit 3", confinement=UNCONFINED))
    assert parent.fact(Exited).code == 3
    assert parent.hear() == {"died": ready.pid, "token": "the-token", "status": 0}


@pytest.mark.parametrize("flavour", ["confined", "unconfined"])
def test_end_of_the_supervisor_is_the_end_of_all(parent: Parent, flavour: str) -> None:
    mark = Mark()
    parent.greet()
    worker, _ = parent.fork(flavour)
    parent.order(worker, shell(mark.family(), confinement=CONFINED if flavour == "confined" else UNCONFINED))
    parent.fact(Output)
    eventually(lambda: len(mark.sleepers()) == 3)
    everybody = descendants(parent.pid)
    parent.channel.close()
    assert parent.wait_for_end() == 0
    assert alive(everybody) == set()
    assert mark.alive() == set()


@pytest.mark.parametrize("confinement", [CONFINED, UNCONFINED], ids=["confined", "unconfined"])
def test_killed_worker_takes_its_tree_along(parent: Parent, confinement: Confinement) -> None:
    mark = Mark()
    parent.greet()
    worker, ready = parent.fork("unconfined" if confinement is UNCONFINED else "confined")
    parent.order(worker, shell(mark.family(), confinement=confinement))
    parent.fact(Output)
    eventually(lambda: len(mark.sleepers()) == 3)
    os.kill(ready.pid, signal.SIGKILL)
    assert parent.hear()["status"] == signal.SIGKILL
    eventually(lambda: not mark.alive(), what="end of the tree")
    eventually(lambda: descendants(parent.pid) == set(), what="all reaped")


@pytest.mark.parametrize("confinement", [CONFINED, UNCONFINED], ids=["confined", "unconfined"])
def test_killed_first_process_of_a_box_is_a_command_ended_by_signal(parent: Parent, confinement: Confinement) -> None:
    mark = Mark()
    parent.greet()
    worker, ready = parent.fork("unconfined" if confinement is UNCONFINED else "confined")
    parent.order(worker, shell(mark.family(), confinement=confinement, drain_ms=200))
    parent.fact(Output)
    eventually(lambda: len(mark.sleepers()) == 3)
    [first] = boxes_below(ready.pid)
    os.kill(first, signal.SIGKILL)
    exited = parent.fact(Exited)
    assert (exited.code, exited.signal) == (None, signal.SIGKILL)
    eventually(lambda: not mark.alive(), what="end of the tree")


@pytest.mark.parametrize("confinement", [CONFINED, UNCONFINED], ids=["confined", "unconfined"])
def test_killed_zygote_takes_all_along(parent: Parent, confinement: Confinement) -> None:
    mark = Mark()
    parent.greet()
    parent.fork("confined")
    worker, _ = parent.fork("unconfined" if confinement is UNCONFINED else "confined")
    parent.order(worker, shell(mark.family(), confinement=confinement))
    parent.fact(Output)
    eventually(lambda: len(mark.sleepers()) == 3)
    everybody = descendants(parent.pid)
    os.kill(parent.pid, signal.SIGKILL)
    assert parent.wait_for_end() == -signal.SIGKILL
    eventually(lambda: not mark.alive() and not alive(everybody), what="end of everybody")


def test_idle_worker_whose_box_was_killed_ends(parent: Parent) -> None:
    parent.greet()
    _, ready = parent.fork()
    [first] = boxes_below(ready.pid)
    os.kill(first, signal.SIGKILL)
    assert parent.hear()["died"] == ready.pid


def test_daemon_that_was_left_on_purpose_survives_other_workers(parent: Parent) -> None:
    mark = Mark()
    parent.greet()
    worker, _ = parent.fork("unconfined")
    parent.order(worker, shell(f"setsid sleep {mark} >/dev/null 2>&1 & exit 0", confinement=UNCONFINED))
    left = parent.fact(Exited).left_running
    try:
        assert set(left) == mark.alive()
        parent.hear()
        _, other = parent.fork("unconfined")
        os.kill(other.pid, signal.SIGKILL)
        assert parent.hear()["died"] == other.pid
        _, third = parent.fork()
        assert third.pid
        assert mark.alive() == set(left)
    finally:
        for pid in left:
            os.kill(pid, signal.SIGKILL)
    eventually(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in left), what="reaped by the zygote")


GARBAGE = [b"\xc1", b"\x81", b"\x93\x01\x02\x03", b"\x91" * 2000, bytes(range(200, 256)), b"\x80", b"x" * 60_000]


@pytest.mark.parametrize("packet", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_for_a_greeting_ends_it_without_noise(
    parent: Parent, packet: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    parent.say(packet)
    parent.channel.shutdown(socket.SHUT_WR)
    assert parent.wait_for_end() == 0
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("packet", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_later_is_survived_or_ends_all(
    parent: Parent, packet: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    mark = Mark()
    parent.greet()
    worker, _ = parent.fork()
    parent.order(worker, shell(mark.family()))
    parent.fact(Output)
    parent.say(packet)
    parent.channel.shutdown(socket.SHUT_WR)
    assert parent.wait_for_end() == 0
    assert mark.alive() == set()
    assert "Traceback" not in capfd.readouterr().err


def test_order_that_is_none_ends_the_worker_and_nobody_else(parent: Parent) -> None:
    parent.greet()
    worker, ready = parent.fork()
    parent.router.send_multipart([worker, b"\xc1 nonsense"])
    assert parent.hear()["died"] == ready.pid
    worker, _ = parent.fork()
    parent.order(worker, shell("exit 0"))
    assert parent.fact(Exited).code == 0
