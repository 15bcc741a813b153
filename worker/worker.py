"""A worker: the trusted parent of one call at a time.

Made by the zygote while idle, together with its first box. Connects to the supervisor, waits for an order, hands it to
the confined child, and then stands between them: output up, input down, time and limits watched, the whole tree ended
at the end. Then it gets another box and greets again. Speaks frames to the supervisor and believes nothing else.
"""

import gc
import os
import select

from pycodex.protocol.confinement import FULL, NO_LEVEL, Enforced, Unenforceable
from pycodex.protocol.frames import (
    MAX_FRAME_BYTES,
    BadFrame,
    Ready,
    Refused,
    RunCommand,
    RunFileJob,
    decode_order,
    encode,
)
from pycodex.sandbox.backend import host_backend
from pycodex.worker import confined, rehearsal
from pycodex.worker.call import Call
from pycodex.worker.ends import Birth, Ends, Links, close_all_but, end
from pycodex.worker.template import Template
from pycodex.worker.zmtp import Dealer, ProtocolError

# After so many a fresh worker takes over: whatever a call may leave in its memory does not stay for ever.
MOST_CALLS = 64


class BoxLost(Exception):
    """It was killed before it was ready. The host can make boxes, as the zygote has seen: another worker will."""


def live(birth: Birth, links: Links, box_pid: int) -> int:
    """The whole life of a worker; returns its exit status."""
    close_all_but(birth.liveness_fd, birth.spare_fd, *links.of_worker())
    host_backend().become_subreaper()
    rehearsal.of_worker()
    refusal = ""
    ends = Ends()
    try:
        ends = _open(birth, links, box_pid)
    except Unenforceable as error:
        refusal = str(error)
    except BoxLost:
        return 1
    try:
        dealer = Dealer(birth.socket_path, max_message_bytes=MAX_FRAME_BYTES)
    except (OSError, ProtocolError):
        # Nobody to work for, or one who does not speak our language.
        end(ends)
        return 0
    worker = _Worker(birth, dealer)
    status = worker.refuse(refusal) if refusal else worker.serve(ends)
    dealer.linger()
    return status


class _Worker:
    """One that has a connection to its supervisor."""

    def __init__(self, birth: Birth, dealer: Dealer) -> None:
        self._birth = birth
        self._dealer = dealer
        # Without a pid namespace nobody can be sure that a call has left nothing behind: there, one is enough.
        self._calls_left = MOST_CALLS if birth.level == FULL else 1
        self._template: Template | None = None

    def serve(self, ends: Ends) -> int:
        """Call after call, each in a box of its own."""
        try:
            while True:
                self._calls_left -= 1
                received = self._receive(ends)
                if received is None:
                    return 0
                order, messages = received
                status = Call(order, ends, self._dealer, self._birth).run(messages)
                if status or self._template is None or not self._calls_left:
                    return status
                try:
                    ends = self._next_box(self._template)
                except (OSError, Unenforceable, BoxLost):
                    # A fresh worker can tell better what is wrong, if it still is.
                    return 0
        finally:
            end(ends)
            if self._template is not None:
                self._template.end()

    def refuse(self, text: str) -> int:
        self._calls_left = 0
        received = self._receive(Ends())
        if received is not None:
            self._dealer.push(encode(Refused(job_id=received[0].job_id, text=text)))
            self._dealer.flush(block=True)
        return 0

    def _receive(self, ends: Ends) -> "tuple[RunCommand | RunFileJob, list[bytes]] | None":
        try:
            self._greet(ends.enforced)
            self._make_ready()
            return _await_order(self._dealer, self._birth, ends)
        except (OSError, ProtocolError, BadFrame):
            return None

    def _greet(self, enforced: Enforced) -> None:
        birth = self._birth
        ready = Ready(
            token=birth.token, pid=os.getpid(), flavour=birth.flavour, enforced=enforced, calls_left=self._calls_left
        )
        self._dealer.push(encode(ready))
        self._dealer.flush(block=True)

    def _make_ready(self) -> None:
        """What has time until the order comes."""
        if self._template is not None:
            gc.collect()
        elif self._calls_left:
            try:
                self._template = Template(self._birth, be_box)
            except OSError:
                # No more processes or descriptors just now: then this call is the last.
                self._calls_left = 0

    def _next_box(self, template: Template) -> Ends:
        close_all_but(self._birth.liveness_fd, self._birth.spare_fd, self._dealer.fileno(), template.fileno())
        links = Links()
        box_pid = template.open_box(links)
        for fd in links.of_box():
            os.close(fd)
        return _open(self._birth, links, box_pid)


def be_box(birth: Birth, fds: "tuple[int, int, int, int]") -> None:
    """The whole life of the box's first process; never returns."""
    engine = host_backend()
    line, stdin, stdout, stderr = fds
    close_all_but(*fds)
    pipes = confined.Pipes(stdin, stdout, stderr)
    box = confined.Confined(engine, birth, pipes, rehearse=rehearsal.of_confined)
    engine.run_first_process(birth.level, birth.identity, line, box.serve)


def _open(birth: Birth, links: Links, box_pid: int) -> Ends:
    engine = host_backend()
    if birth.level == NO_LEVEL:
        raise Unenforceable("this host can enforce no sandbox at all: run `pycodex doctor`")
    if box_pid < 0:
        raise engine.forbidden(-box_pid)
    ends = Ends()
    ends.line, ends.stdin, ends.stdout, ends.stderr = links.of_worker()
    ends.pid = box_pid
    # Until it says more: how it is ended depends on the level.
    ends.enforced = Enforced(level=birth.level)
    message = engine.hear(ends.line)
    match message:
        case ("seated", bool(network), int(abi), bool(private_proc)):
            ends.enforced = engine.describe(birth.level, network=network, abi=abi, private_proc=private_proc)
            return ends
    end(ends)
    if message is None:
        raise BoxLost
    if message[0] == "unseated":
        raise Unenforceable(message[1])
    raise engine.stillborn(message)


def _await_order(dealer: Dealer, birth: Birth, ends: Ends) -> "tuple[RunCommand | RunFileJob, list[bytes]] | None":
    """The next order and what came with it; None when nobody is left to give it or to obey it."""
    poller = select.poll()
    for fd in (dealer.fileno(), birth.liveness_fd, ends.line):
        if fd >= 0:
            poller.register(fd, select.POLLIN)
    while True:
        for fd, _ in poller.poll():
            if fd != dealer.fileno():
                return None
        messages = dealer.pull()
        while messages:
            order = decode_order(messages.pop(0))
            # Stop, Credit and the like can only follow the order that they belong to.
            if isinstance(order, RunCommand | RunFileJob):
                return order, messages
        if dealer.closed:
            return None
