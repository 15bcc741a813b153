"""A worker: the trusted parent of exactly one call.

Made by the zygote while idle. Opens the box, connects to the supervisor, waits for one order, hands it to the confined
child, and then stands between them: output up, input down, time and limits watched, the whole tree ended at the end.
Speaks frames to the supervisor and believes nothing else.
"""

import os
import select

from pycodex.protocol.confinement import NO_LEVEL, Enforced, Unenforceable
from pycodex.protocol.frames import (
    MAX_FRAME_BYTES,
    BadFrame,
    Failed,
    Ready,
    Refused,
    RunCommand,
    RunFileJob,
    decode_order,
    encode,
)
from pycodex.sandbox.backend import host_backend
from pycodex.worker import channel, confined
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
        dealer.push(
            encode(Ready(token=birth.token, pid=os.getpid(), flavour=birth.flavour, enforced=ends.enforced))
        )
        dealer.flush(block=True)
        order = _await_order(dealer, birth, ends)
    except (OSError, ProtocolError):
        order = None
    if order is None:
        end(ends)
        return 0
    if refusal:
        dealer.push(encode(Refused(job_id=order.job_id, text=refusal)))
        dealer.flush(block=True)
        return 0
    return Call(order, ends, dealer, birth).run()


def _open(birth: Birth) -> Ends:
    if birth.level == NO_LEVEL:
        raise Unenforceable("this host can enforce no sandbox at all: run `pycodex doctor`")
    engine = host_backend()
    ours, theirs = channel.pair()
    stdin_read, stdin_write = os.pipe()
    stdout_read, stdout_write = os.pipe()
    stderr_read, stderr_write = os.pipe()
    pipes = confined.Pipes(stdin_read, stdout_write, stderr_write)
    network = birth.flavour != CONFINED

    def body() -> None:
        ours.close()
        for fd in (stdin_write, stdout_read, stderr_read, birth.liveness_fd, birth.spare_fd):
            os.close(fd)
        confined.serve(theirs, pipes, level=birth.level, network=network)

    ends = Ends()
    opened = engine.open_box(birth.level, network=network, body=body)
    theirs.close()
    for fd in (stdin_read, stdout_write, stderr_write):
        os.close(fd)
    ends.line, ends.pid, ends.report_fd = ours, opened.pid, opened.report_fd
    ends.stdin, ends.stdout, ends.stderr = stdin_write, stdout_read, stderr_read
    received = channel.receive(ours)
    if received is None or not isinstance(received[0], tuple) or received[0][0] != "seated":
        text = received[0][1] if received is not None and isinstance(received[0], tuple) else "the child was killed"
        end(ends)
        raise Unenforceable(str(text))
    ends.enforced = Enforced.from_plain(received[0][1])
    ends.command_pid = next(iter(engine.children(opened.pid)), 0)
    return ends


def _await_order(dealer: Dealer, birth: Birth, ends: Ends) -> "RunCommand | RunFileJob | None":
    """The one order of this worker; None when nobody is left to give it or no child to obey it."""
    poller = select.poll()
    for fd in (dealer.fileno(), birth.liveness_fd, ends.report_fd):
        if fd >= 0:
            poller.register(fd, select.POLLIN)
    while True:
        for fd, _ in poller.poll():
            if fd != dealer.fileno():
                return None
        for message in dealer.pull():
            order = _first_order(message, dealer)
            if order is not None:
                return order
        if dealer.closed:
            return None


def _first_order(message: bytes, dealer: Dealer) -> "RunCommand | RunFileJob | None":
    try:
        order = decode_order(message)
    except BadFrame as error:
        dealer.push(encode(Failed(job_id="", text=f"bad order: {error}")))
        dealer.flush(block=True)
        return None
    # Stop, Credit and the like can only follow the order that they belong to.
    return order if isinstance(order, RunCommand | RunFileJob) else None
