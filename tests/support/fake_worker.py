"""A zygote and workers that speak the real protocol but run nothing.

Owns a stand-in for `pycodex.worker`: real processes, libzmq's own DEALER, and a behaviour chosen by the order's argv.
Started as a program with the channel on descriptor 3; `launcher` gives the function that a pool starts it with.
"""

import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

import msgpack
import zmq

from pycodex.protocol.confinement import Confinement, Enforced
from pycodex.protocol.frames import (
    Credit,
    Exited,
    Fact,
    Failed,
    Output,
    Pty,
    Ready,
    Refused,
    Resize,
    RunCommand,
    RunFileJob,
    Started,
    Stop,
    WriteStdin,
    decode_order,
    encode,
)
from pycodex.supervisor.workers.launch import Launched, launch_python

ENFORCED = Enforced(level="none")
LIFETIME_S = 120
_START = "sys.path.insert(0, sys.argv[2]); from support.fake_worker import main; main()"


def launcher(mode: str = "") -> Callable[[], Launched]:
    """A start of this zygote, in one of these modes.

    `mute`: workers never greet. `stillborn`: they die at once. `impostor`: they claim to be another process.
    `disguised`: they claim another flavour. `promising`: they say that they will take more calls. `dead`: the zygote
    itself dies at once.
    """
    tests_dir = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return lambda: launch_python(_START, tests_dir, mode)


def command(*argv: str, **fields: Any) -> RunCommand:
    """An order for a fake worker, or for a real one that is to run unconfined."""
    defaults: dict[str, Any] = {
        "job_id": "",
        "cwd": "/",
        "env": {"PATH": "/usr/bin:/bin"},
        "confinement": Confinement(),
    }
    return RunCommand(argv=argv, **{**defaults, **fields})


TERMINAL = Pty()


def main() -> None:
    channel = socket.socket(fileno=int(sys.argv[1]))
    mode = sys.argv[3]
    if mode == "dead":
        sys.exit(7)
    greeting = msgpack.unpackb(channel.recv(65536))
    channel.send(msgpack.packb({"hello": 1, "pid": os.getpid(), "host": ENFORCED.to_plain()}))
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_write)
    tokens: dict[int, str] = {}
    while True:
        ready, _, _ = select.select([channel.fileno(), wake_read], [], [])
        if wake_read in ready:
            os.read(wake_read, 4096)
            report_deaths(channel, tokens)
        if channel.fileno() in ready:
            data = channel.recv(65536)
            if not data:
                break
            order = msgpack.unpackb(data)
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                channel.close()
                be_worker(greeting["socket"], order["fork"], order["flavour"], mode)
            tokens[pid] = order["fork"]
            channel.send(msgpack.packb({"forked": pid, "token": order["fork"]}))
    for pid in tokens:
        os.kill(pid, signal.SIGKILL)


def report_deaths(channel: socket.socket, tokens: dict[int, str]) -> None:
    while tokens:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        channel.send(msgpack.packb({"died": pid, "token": tokens.pop(pid), "status": status}))


def be_worker(socket_path: str, token: str, flavour: str, mode: str) -> None:
    # Whatever becomes of the test, this does not stay.
    signal.alarm(LIFETIME_S)
    try:
        if mode == "stillborn":
            os._exit(9)
        FakeWorker(socket_path).live(Ready(token=token, pid=os.getpid(), flavour=flavour, enforced=ENFORCED), mode)
    finally:
        os._exit(1)


def touch(path: str) -> None:
    if path:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY))


class FakeWorker:
    def __init__(self, socket_path: str) -> None:
        self.context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.socket = self.context.socket(zmq.DEALER)
        self.socket.setsockopt(zmq.LINGER, 10_000)
        self.socket.connect(f"ipc://{socket_path}")
        self.sequence = 0
        self.job_id = ""
        self.ready: Ready | None = None

    def live(self, ready: Ready, mode: str) -> None:
        self.ready = ready
        if mode == "mute":
            signal.pause()
        if mode == "impostor":
            ready = ready.replace(pid=1)
        elif mode == "disguised":
            ready = ready.replace(flavour="unconfined")
        elif mode == "promising":
            ready = ready.replace(calls_left=5)
        self.say(ready)
        order = self.hear()
        self.job_id = order.job_id
        if isinstance(order, RunFileJob):
            self.answer_file_job(order)
        else:
            getattr(self, "do_" + order.argv[0])(order, *order.argv[1:])
        self.context.destroy(linger=10_000)
        os._exit(0)

    def say(self, fact: Fact) -> None:
        self.socket.send(encode(fact))

    def hear(self) -> Any:
        return decode_order(self.socket.recv())

    def output(self, data: bytes, *, stream: str = "stdout", skipped_bytes: int = 0) -> None:
        self.sequence += 1
        self.say(
            Output(job_id=self.job_id, stream=stream, sequence=self.sequence, data=data, skipped_bytes=skipped_bytes)
        )

    def exit(self, code: int | None = 0, *, number: int | None = None, reason: str = "") -> None:
        self.say(Exited(job_id=self.job_id, code=code, signal=number, reason=reason, enforced=ENFORCED))

    def answer_file_job(self, order: RunFileJob) -> None:
        answers = {
            "nonsense": b"\xc1\xc1",
            "list": msgpack.packb(["ok"]),
            "neither": msgpack.packb({"maybe": 1}),
            "mistaken": msgpack.packb({"error": "no such line"}),
            "silent": b"",
        }
        echo = {"name": order.name, "arguments": msgpack.unpackb(order.arguments)}
        self.output(answers.get(order.name, msgpack.packb({"ok": echo})))
        if order.name == "truncated":
            self.output(b"x", skipped_bytes=10)
        if order.name == "broken":
            self.output(b"Traceback", stream="stderr")
        self.exit(3 if order.name == "broken" else 0)

    # Behaviours, by the first word of argv

    def do_true(self, _: RunCommand) -> None:
        self.exit()

    def do_who(self, _: RunCommand) -> None:
        self.output(str(os.getpid()).encode())
        self.exit()

    def do_say(self, _: RunCommand, out: str, err: str = "", code: str = "0") -> None:
        self.say(Started(job_id=self.job_id, pid=os.getpid()))
        if out:
            self.output(out.encode())
        if err:
            self.output(err.encode(), stream="stderr")
        self.exit(int(code))

    def do_gap(self, _: RunCommand) -> None:
        self.output(b"head")
        self.output(b"tail", skipped_bytes=100)
        self.exit()

    def do_refuse(self, _: RunCommand) -> None:
        self.say(Refused(job_id=self.job_id, text="no user namespaces here"))

    def do_fail(self, _: RunCommand) -> None:
        self.say(Failed(job_id=self.job_id, text="no such file: nonesuch", errno=2))

    def do_die(self, _: RunCommand) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def do_last_words(self, _: RunCommand) -> None:
        self.output(b"x" * 100_000)
        self.exit(5)

    def do_hang(self, _: RunCommand, begun: str = "") -> None:
        """Ends only when told to."""
        touch(begun)
        self.say(Started(job_id=self.job_id, pid=os.getpid()))
        while not isinstance(order := self.hear(), Stop):
            pass
        self.exit(None, number=9, reason=order.reason)

    def do_deaf(self, _: RunCommand, begun: str = "") -> None:
        """Does not even end when told to."""
        touch(begun)
        self.say(Started(job_id=self.job_id, pid=os.getpid()))
        while True:
            signal.pause()

    def do_wait_for(self, _: RunCommand, path: str, begun: str) -> None:
        """Ends when a file exists; says that it has begun by creating another."""
        touch(begun)
        while not os.path.exists(path):
            time.sleep(0.002)
        self.exit()

    def do_linger(self, _: RunCommand) -> None:
        """Answers, but does not exit."""
        self.exit()
        signal.pause()

    def do_cat(self, _: RunCommand) -> None:
        """Says what it hears, until its input ends; counts credit like a real worker."""
        self.say(Started(job_id=self.job_id, pid=os.getpid()))
        while not (isinstance(order := self.hear(), WriteStdin) and order.close):
            if isinstance(order, Stop):
                self.exit(None, number=9, reason=order.reason)
                return
            if isinstance(order, WriteStdin) and order.data:
                self.output(order.data)
        self.exit()

    def do_size(self, _: RunCommand) -> None:
        """Says the size that it is told."""
        self.say(Started(job_id=self.job_id, pid=os.getpid()))
        order = self.hear()
        assert isinstance(order, Resize)
        self.output(f"{order.rows}x{order.cols}".encode())
        self.exit()

    def do_credits(self, order: RunCommand) -> None:
        """Sends exactly what it is allowed to, and in the end how much that was."""
        sent = 0
        allowed = order.credit_bytes
        while sent < 100_000:
            while sent < allowed:
                size = min(allowed - sent, 1000)
                self.output(b"c" * size)
                sent += size
            heard = self.hear()
            if isinstance(heard, Credit):
                allowed += heard.size_bytes
        self.exit()

    def do_drip(self, _: RunCommand, count: str) -> None:
        """Many tiny pieces, on both streams in turn."""
        for _number in range(int(count) // 2):
            self.output(b"o")
            self.output(b"e", stream="stderr")
        self.exit()
        # A real worker exits when all was taken from its socket; libzmq does not tell us when that is.
        signal.pause()

    # Lies

    def do_flood(self, _: RunCommand) -> None:
        """Ignores its allowance."""
        while True:
            self.output(b"f" * 65536)

    def do_gaps(self, _: RunCommand) -> None:
        """More entries than can be joined."""
        for _number in range(8000):
            self.output(b"", skipped_bytes=1)
        signal.pause()

    def do_lie(self, _: RunCommand, kind: str, other_job_id: str = "") -> None:
        """One wrong message, then an honest end."""
        assert self.ready is not None
        if kind == "garbage":
            self.socket.send(b"\xc1 not a frame")
        elif kind == "parts":
            self.socket.send_multipart([encode(Started(job_id=self.job_id, pid=1)), b"more"])
        elif kind == "greeting":
            self.say(self.ready)
        elif kind == "job":
            self.say(Output(job_id=other_job_id, stream="stdout", sequence=1, data=b"forged"))
            self.say(Exited(job_id=other_job_id, code=0, enforced=ENFORCED))
        elif kind == "stream":
            self.say(Output(job_id=self.job_id, stream="elsewhere", sequence=1, data=b"forged"))
        elif kind == "sequence":
            self.say(Output(job_id=self.job_id, stream="stdout", sequence=-1, data=b"forged"))
        elif kind == "both":
            self.exit(0, number=9)
        elif kind == "huge":
            self.socket.send(b"\0" * (9 << 20))
        self.output(b"honest")
        self.exit(0)
        if kind == "late":
            self.output(b"late")

    def do_garbage_for_ever(self, _: RunCommand) -> None:
        while True:
            self.socket.send(b"\xc1")
