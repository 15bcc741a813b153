"""A worker: the trusted parent of exactly one call.

Made by the zygote while idle. Opens the box, connects to the supervisor, waits for one order, hands it to the confined
child, and then stands between them: output up, input down, time and limits watched, the whole tree ended at the end.
Speaks frames to the supervisor and believes nothing else.
"""

import _socket
import os
import select

from pycodex.protocol.confinement import NO_LEVEL, Enforced, Unenforceable
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
from pycodex.worker.ends import CONFINED, Birth, Ends, end
from pycodex.worker.zmtp import Dealer, ProtocolError


def live(birth: Birth) -> int:
    """The whole life of a worker; returns its exit status."""
    host_backend().become_subreaper()
    refusal = ""
    ends = Ends()
    try:
        ends = _open(birth)
    except Unenforceable as error:
        refusal = str(error)
    try:
        dealer = Dealer(birth.socket_path, max_message_bytes=MAX_FRAME_BYTES)
        dealer.push(encode(Ready(token=birth.token, pid=os.getpid(), flavour=birth.flavour, enforced=ends.enforced)))
        dealer.flush(block=True)
        received = _await_order(dealer, birth, ends)
    except (OSError, ProtocolError, BadFrame):
        # Nobody to work for, or one who does not speak our language.
        received = None
    if received is None:
        end(ends)
        return 0
    order, messages = received
    if refusal:
        dealer.push(encode(Refused(job_id=order.job_id, text=refusal)))
        dealer.flush(block=True)
        dealer.linger()
        return 0
    return Call(order, ends, dealer, birth).run(messages)


def _open(birth: Birth) -> Ends:
    if birth.level == NO_LEVEL:
        raise Unenforceable("this host can enforce no sandbox at all: run `pycodex doctor`")
    engine = host_backend()
    ours, theirs = (end.detach() for end in _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM))
    stdin_read, stdin_write = os.pipe()
    stdout_read, stdout_write = os.pipe()
    stderr_read, stderr_write = os.pipe()
    network = birth.flavour != CONFINED

    def body(line: int) -> None:
        for fd in (stdin_write, stdout_read, stderr_read, birth.liveness_fd, birth.spare_fd):
            os.close(fd)
        pipes = confined.Pipes(stdin_read, stdout_write, stderr_write)
        confined.Confined(engine, line, pipes).serve(level=birth.level, network=network, rehearse=rehearsal.of_confined)

    ends = Ends()
    ends.pid = engine.open_box(birth.level, network=network, line=(ours, theirs), body=body)
    for fd in (stdin_read, stdout_write, stderr_write):
        os.close(fd)
    ends.line, ends.stdin, ends.stdout, ends.stderr = ours, stdin_write, stdout_read, stderr_read
    rehearsal.of_worker()
    pid, ends.pid = ends.pid, 0
    engine.confirm_birth(pid, ours)
    ends.pid = pid
    message = engine.hear(ours)
    if message is None or message[0] != "seated":
        end(ends)
        raise Unenforceable(message[1] if message else "the child was killed")
    ends.enforced = Enforced.from_plain(message[1])
    return ends


def _await_order(dealer: Dealer, birth: Birth, ends: Ends) -> "tuple[RunCommand | RunFileJob, list[bytes]] | None":
    """The one order of this worker and what came with it; None when nobody is left to give it or to obey it."""
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
